// Produces to one leader at a time over kafkajs' cluster, and knows which broker leads which partition.

import Cluster, { type Broker, type ClusterOptions } from 'kafkajs/src/cluster/index.js';

import { type ProduceAnswer, produceRequest, produceResponse, type TopicRecords } from './produce-request.ts';

export type Produced =
  | { readonly kind: 'answered'; readonly answer: ProduceAnswer }
  /** `wasSent` false: surely nothing of it is in the log. */
  | { readonly kind: 'failed'; readonly wasSent: boolean; readonly reason: string };

export interface Producing {
  /** -1: nobody, as far as is known. */
  leaderOf(name: string, partition: number): number;
  /** Asks a broker who leads. @throws Error when none answers, or a partition has no leader */
  refresh(): Promise<void>;
  /** Never rejects. `timeMs`: UTC. */
  produce(leader: number, records: readonly TopicRecords[], timeMs: number): Promise<Produced>;
  close(): Promise<void>;
}

/** How long the leader waits for its replicas: less than the request's own timeout (3 s), so that its word comes before our guess. */
const replicasTimeoutMs = 2_500;

/** Connected, with the leaders of all `names` known. @throws Error when no broker answers, or a topic is missing */
export async function openProducing(options: ClusterOptions, names: readonly string[]): Promise<Producing> {
  const cluster = new Cluster(options);
  try {
    await cluster.connect();
    await cluster.addMultipleTargetTopics(names);
  } catch (error) {
    await cluster.disconnect();
    throw error;
  }
  let leaders = leadersOf(cluster, names);

  const send = async (broker: Broker, records: readonly TopicRecords[], timeMs: number): Promise<Produced> => {
    let wasSent = false;
    const request = produceRequest(records, replicasTimeoutMs, timeMs);
    const encode = async () => {
      wasSent = true;
      return request.encode();
    };
    try {
      const of = { request: { ...request, encode }, response: produceResponse };
      return { kind: 'answered', answer: await broker.connectionPool.send(of) };
    } catch (error) {
      letGo(cluster, broker);
      return { kind: 'failed', wasSent, reason: messageOf(error) };
    }
  };

  return {
    leaderOf: (name, partition) => leaders.get(name)?.[partition] ?? -1,
    async refresh() {
      try {
        await cluster.refreshMetadata();
      } finally {
        leaders = leadersOf(cluster, names);
      }
    },
    async produce(leader, records, timeMs) {
      try {
        return await send(await cluster.findBroker({ nodeId: leader }), records, timeMs);
      } catch (error) {
        return { kind: 'failed', wasSent: false, reason: messageOf(error) };
      }
    },
    close: () => cluster.disconnect(),
  };
}

/** The connection is of no use any more: the next request makes another, to wherever the metadata says. */
function letGo(cluster: Cluster, broker: Broker): void {
  const { host, port } = broker.connectionPool;
  cluster.removeBroker({ host, port });
  broker.disconnect().catch(() => {});
}

function leadersOf(cluster: Cluster, names: readonly string[]): Map<string, number[]> {
  const leaders = new Map<string, number[]>();
  for (const name of names) {
    const byPartition: number[] = [];
    for (const { partitionId, leader } of cluster.findTopicPartitionMetadata(name)) byPartition[partitionId] = leader;
    leaders.set(name, byPartition);
  }
  return leaders;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
