// Connections to the brokers for what kafkajs' public API doesn't do: kafkajs' own Cluster, of which what has broken is dropped and made anew.
// kafkajs may go on with half an answer in the buffer of a connection that broke, so a broken one is never used again.

import Cluster, { type Broker } from 'kafkajs/src/cluster/index.js';

import type { KafkaClient } from './client.ts';
import { type FetchAnswer, fetchMessages, type FetchRequest } from './fetch-wire.ts';
import { answeredError } from './kafka-errors.ts';

/** Callers back off and try again by themselves; everything may reject. */
export interface LogCluster {
  /** Asks a node; one that doesn't answer is dropped, and the next call connects anew. */
  ask<T>(nodeId: number, request: (broker: Broker) => Promise<T>): Promise<T>;
  fetch(nodeId: number, request: FetchRequest): Promise<FetchAnswer>;
  /** Learns who leads what, unless that is known. */
  connect(): Promise<void>;
  /** Learns it anew. */
  refresh(): Promise<void>;
  /** By what was learnt last; null: nobody, or it isn't known. */
  leaderOf(topic: string, partition: number): number | null;
  /** 0: it isn't known. */
  partitionsOf(topic: string): number;
  coordinatorOf(group: string): Promise<number>;
  /** Lets go of every connection; the next call connects anew. */
  reset(): void;
  /** Nothing works afterwards; what waits for an answer rejects. */
  close(): void;
}

/** kafkajs' own patience is short: whoever calls has one of its own. */
const retry = { initialRetryTime: 100, maxRetryTime: 200, retries: 1 };

interface Leaders {
  readonly cluster: Cluster;
  /** By topic, then by partition number. */
  readonly byTopic: ReadonlyMap<string, readonly number[]>;
}

/** @param topics as the brokers call them: those whose leaders are asked for */
export function createLogCluster({ client, topics }: { client: KafkaClient; topics: readonly string[] }): LogCluster {
  let connecting: Promise<Leaders> | null = null;
  let leaders: Leaders | null = null;
  let isClosed = false;

  const connected = async (): Promise<Leaders> => {
    if (isClosed) throw new Error('the connections to the brokers are closed');
    connecting ??= connect();
    return connecting;
  };

  const connect = async (): Promise<Leaders> => {
    const cluster = new Cluster({ ...client.clusterOptions, retry });
    try {
      await cluster.connect();
      await cluster.addMultipleTargetTopics(topics);
      leaders = { cluster, byTopic: leadersOf(cluster, topics) };
      if (isClosed) throw new Error('the connections to the brokers are closed');
      return leaders;
    } catch (error) {
      connecting = null;
      discardAll(cluster);
      throw error;
    }
  };

  const reset = () => {
    const old = leaders;
    connecting = null;
    leaders = null;
    if (old !== null) discardAll(old.cluster);
  };

  const dropAfter = (error: unknown, cluster: Cluster, nodeId: number) => {
    if (answeredError(error) === null && leaders?.cluster === cluster) dropBroker(cluster, nodeId);
  };

  const ask = async <T>(nodeId: number, request: (broker: Broker) => Promise<T>): Promise<T> => {
    const { cluster } = await connected();
    try {
      if (brokersOf(cluster).brokers[nodeId] === undefined) await cluster.refreshMetadata();
      return await request(await cluster.findBroker({ nodeId }));
    } catch (error) {
      dropAfter(error, cluster, nodeId);
      throw error;
    }
  };

  return {
    ask,
    fetch: (nodeId, request) => ask(nodeId, (broker) => broker.connectionPool.send(fetchMessages(request))),

    async connect() {
      await connected();
    },

    async refresh() {
      const { cluster } = await connected();
      try {
        await cluster.refreshMetadata();
      } catch (error) {
        if (answeredError(error) === null && leaders?.cluster === cluster) reset();
        throw error;
      }
      leaders = { cluster, byTopic: leadersOf(cluster, topics) };
      if (connecting !== null) connecting = Promise.resolve(leaders);
    },

    leaderOf(topic, partition) {
      const leader = leaders?.byTopic.get(topic)?.[partition] ?? -1;
      return leader < 0 ? null : leader;
    },

    partitionsOf: (topic) => leaders?.byTopic.get(topic)?.length ?? 0,

    async coordinatorOf(group) {
      const { cluster } = await connected();
      const asked = await brokersOf(cluster).findConnectedBroker();
      const of = { groupId: group, coordinatorType: 0 } as const;
      const { coordinator } = await ask(asked.nodeId, (broker) => broker.findGroupCoordinator(of));
      return coordinator.nodeId;
    },

    reset,

    close() {
      isClosed = true;
      reset();
    },
  };
}

function leadersOf(cluster: Cluster, topics: readonly string[]): ReadonlyMap<string, readonly number[]> {
  return new Map(
    topics.map((topic) => {
      const leaders: number[] = [];
      for (const { partitionId, leader } of cluster.findTopicPartitionMetadata(topic)) leaders[partitionId] = leader;
      return [topic, leaders];
    }),
  );
}

interface Connection {
  readonly socket?: { destroy(): void };
  rejectRequests(error: Error): void;
  disconnect(): Promise<unknown>;
}

interface BrokerPool {
  readonly brokers: Readonly<Record<string, Broker>>;
  readonly seedBroker?: Broker;
  findConnectedBroker(): Promise<Broker>;
}

/** kafkajs keeps it public, but not in its types. */
function brokersOf(cluster: Cluster): BrokerPool {
  return (cluster as unknown as { readonly brokerPool: BrokerPool }).brokerPool;
}

function dropBroker(cluster: Cluster, nodeId: number): void {
  const broker = brokersOf(cluster).brokers[nodeId];
  if (broker === undefined) return;
  const { host, port } = broker.connectionPool;
  cluster.removeBroker({ host, port });
  discard(broker);
}

function discardAll(cluster: Cluster): void {
  const { brokers, seedBroker } = brokersOf(cluster);
  for (const broker of new Set([...Object.values(brokers), seedBroker])) if (broker !== undefined) discard(broker);
}

/** At once: kafkajs' own disconnect waits for the answers that are outstanding. */
function discard(broker: Broker): void {
  const { pool } = broker.connectionPool as unknown as { readonly pool: readonly Connection[] };
  for (const connection of pool) {
    connection.rejectRequests(new Error('the connection was given up'));
    void connection.disconnect();
    connection.socket?.destroy();
  }
}
