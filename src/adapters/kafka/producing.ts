// Produces to one leader at a time, and knows which broker leads which partition.

import type { Asking, Broker } from 'kafkajs/src/cluster/index.js';

import type { KafkaClient } from './client.ts';
import { isLeaderless } from './leaderless.ts';
import { createLogCluster, type LogCluster } from './log-cluster.ts';
import {
  noProducer,
  type ProduceAnswer,
  produceRequest,
  produceResponse,
  type TopicRecords,
} from './produce-request.ts';

export type Produced =
  | { readonly kind: 'answered'; readonly answer: ProduceAnswer }
  /** `wasSent` false: surely nothing of it is in the log. */
  | { readonly kind: 'failed'; readonly wasSent: boolean; readonly reason: string };

/** By how much waits in a partition when it is sent. */
export type ProduceLine = 'few' | 'many';

export interface Producing {
  /** -1: nobody, as far as is known. */
  leaderOf(name: string, partition: number): number;
  /** Whether that is so for everybody: a topic that is deleted, or that may not be seen, is none of these. */
  isLeaderless(name: string, partition: number): boolean;
  /** Asks a broker who leads, and at first for a producer id. @throws Error when none answers */
  refresh(): Promise<void>;
  /** By which the brokers know this process; -1 until a refresh has worked. */
  producerId(): bigint;
  /** Never rejects. `timeMs`: UTC. A broker does what comes by one connection one after another, so each line has its own. */
  produce(leader: number, records: readonly TopicRecords[], timeMs: number, line: ProduceLine): Promise<Produced>;
  close(): void;
}

/** How long the leader waits for its replicas: less than the request's own timeout (3 s), so that its word comes before our guess. */
const replicasTimeoutMs = 2_500;

/** Connects with the first refresh. @param noteLeaders called with each word of who leads */
export function createProducing(
  client: Pick<KafkaClient, 'clusterOptions'>,
  names: readonly string[],
  noteLeaders: (told: LogCluster) => void = () => {},
): Producing {
  const cluster = createLogCluster({ client, topics: names });
  let producerId = noProducer.id;
  return {
    leaderOf: (name, partition) => cluster.leaderOf(name, partition) ?? -1,
    isLeaderless: (name, partition) => isLeaderless(cluster, name, partition),
    async refresh() {
      await cluster.refresh();
      noteLeaders(cluster);
      if (producerId === noProducer.id) producerId = await newProducerId(cluster);
    },
    producerId: () => producerId,
    async produce(leader, records, timeMs, line) {
      let wasSent = false;
      const request = produceRequest(records, replicasTimeoutMs, timeMs);
      const encode = async () => {
        wasSent = true;
        return request.encode();
      };
      try {
        const of = { request: { ...request, encode }, response: produceResponse };
        return { kind: 'answered', answer: await cluster.ask(leader, (broker) => sendBy(broker, line, of)) };
      } catch (error) {
        return { kind: 'failed', wasSent, reason: messageOf(error) };
      }
    },
    close: cluster.close,
  };
}

/** kafkajs keeps a second connection for fetches, of which these clusters have none. */
const connectionOfMany = 1;

async function sendBy<T>({ connectionPool }: Broker, line: ProduceLine, of: Asking<T>): Promise<T> {
  if (line === 'few') return connectionPool.send(of);
  return (await connectionPool.getConnection(connectionOfMany)).send(of);
}

/** Any broker gives one; nobody else ever gets the same. */
async function newProducerId(cluster: LogCluster): Promise<bigint> {
  const of = { transactionalId: null, transactionTimeout: 0 };
  return BigInt((await cluster.askAnyone((broker) => broker.initProducerId(of))).producerId);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
