// Connections to the brokers for what kafkajs' public API doesn't do: kafkajs' own Cluster, of which what has broken is dropped and made anew.
// What has failed without an answer is never trusted again: kafkajs may go on with half an answer in the buffer of a connection that broke, and takes a
// broker for connected whose very first question (which versions it speaks) went unanswered: every later one fails then, until the broker ends the
// connection minutes later. When nobody is left who answers there is a new Cluster: a pool without a seed broker throws a TypeError for good.

import { setTimeout as sleep } from 'node:timers/promises';

import Cluster, { type Broker, type BrokerPool } from 'kafkajs/src/cluster/index.js';

import type { KafkaClient } from './client.ts';
import { type FetchAnswer, fetchMessages, type FetchRequest } from './fetch-wire.ts';
import { answeredError } from './kafka-errors.ts';

/** Callers back off and try again by themselves; everything may reject. */
export interface LogCluster {
  /** Asks a node; one that doesn't answer is dropped, and the next call connects anew. */
  ask<T>(nodeId: number, request: (broker: Broker) => Promise<T>): Promise<T>;
  /** Whichever node is connected, if any is. */
  askAnyone<T>(request: (broker: Broker) => Promise<T>): Promise<T>;
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
/** A connection (3 s), the question for versions (3 s) and authentication (5 s), to whose questions kafkajs itself sets no end. */
const connectMaxMs = 11_000;

interface Leaders {
  readonly cluster: Cluster;
  /** By topic, then by partition number. */
  readonly byTopic: ReadonlyMap<string, readonly number[]>;
}

export interface LogClusterDependencies {
  readonly client: Pick<KafkaClient, 'clusterOptions'>;
  /** As the brokers call them: those whose leaders are asked for. */
  readonly topics: readonly string[];
}

export function createLogCluster({ client, topics }: LogClusterDependencies): LogCluster {
  let connecting: Promise<Leaders> | null = null;
  let leaders: Leaders | null = null;
  /** Raised by every new cluster and by every end of one: whoever finds another number was too late. */
  let turn = 0;
  let isClosed = false;

  const connected = async (): Promise<Leaders> => {
    if (isClosed) throw new Error('the connections to the brokers are closed');
    connecting ??= connect();
    return connecting;
  };

  const connect = async (): Promise<Leaders> => {
    const mine = ++turn;
    const cluster = new Cluster({ ...client.clusterOptions, retry });
    try {
      await within(connectMaxMs, cluster.connect());
      await cluster.addMultipleTargetTopics(topics);
      if (mine !== turn) throw new Error('the connections to the brokers were given up');
      leaders = { cluster, byTopic: leadersOf(cluster, topics) };
      return leaders;
    } catch (error) {
      if (mine === turn) connecting = null;
      discardAll(cluster);
      throw error;
    }
  };

  const reset = () => {
    const old = leaders;
    turn++;
    connecting = null;
    leaders = null;
    if (old !== null) discardAll(old.cluster);
  };

  /** `asked` did not answer; null: there was nobody to ask. */
  const dropAfter = (error: unknown, cluster: Cluster, asked: Broker | null) => {
    if (answeredError(error) !== null || leaders?.cluster !== cluster) return;
    if (asked !== null) drop(cluster.brokerPool, asked);
    if (!cluster.isConnected()) reset();
  };

  const refresh = async (cluster: Cluster): Promise<void> => {
    const asked = notingWhomItAsks(cluster.brokerPool);
    try {
      await within(connectMaxMs, cluster.refreshMetadata());
    } catch (error) {
      dropAfter(error, cluster, asked());
      throw error;
    }
    if (leaders?.cluster !== cluster) return;
    leaders = { cluster, byTopic: leadersOf(cluster, topics) };
    connecting = Promise.resolve(leaders);
  };

  const ask = async <T>(nodeId: number, request: (broker: Broker) => Promise<T>): Promise<T> => {
    const { cluster } = await connected();
    const { brokerPool } = cluster;
    if (brokerPool.brokers[nodeId] === undefined) await refresh(cluster);
    const broker = brokerPool.brokers[nodeId];
    if (broker === undefined) throw new Error(`the brokers know no broker ${nodeId}`);
    try {
      if (!broker.isConnected()) await within(connectMaxMs, brokerPool.findBroker({ nodeId }));
      return await request(broker);
    } catch (error) {
      dropAfter(error, cluster, broker);
      throw error;
    }
  };

  const askAnyone = async <T>(request: (broker: Broker) => Promise<T>): Promise<T> => {
    const { cluster } = await connected();
    if (nodesOf(cluster.brokerPool).length === 0) await refresh(cluster);
    const nodes = nodesOf(cluster.brokerPool);
    const { nodeId } = nodes.find((broker) => broker.isConnected()) ?? nodes[0] ?? { nodeId: -1 };
    return ask(nodeId, request);
  };

  return {
    ask,
    fetch: (nodeId, request) => ask(nodeId, (broker) => broker.connectionPool.send(fetchMessages(request))),

    async connect() {
      await connected();
    },

    async refresh() {
      const isNew = connecting === null;
      const { cluster } = await connected();
      if (!isNew) await refresh(cluster);
    },

    leaderOf(topic, partition) {
      const leader = leaders?.byTopic.get(topic)?.[partition] ?? -1;
      return leader < 0 ? null : leader;
    },

    partitionsOf: (topic) => leaders?.byTopic.get(topic)?.length ?? 0,

    askAnyone,

    async coordinatorOf(group) {
      const of = { groupId: group, coordinatorType: 0 } as const;
      const { coordinator } = await askAnyone((broker) => broker.findGroupCoordinator(of));
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

/** Whom kafkajs asks for metadata next; null: it could connect to nobody. */
function notingWhomItAsks(pool: BrokerPool): () => Broker | null {
  let asked: Broker | null = null;
  const find = Object.getPrototypeOf(pool).findConnectedBroker;
  pool.findConnectedBroker = async () => (asked = await find.call(pool));
  return () => asked;
}

function nodesOf({ brokers }: BrokerPool): readonly Broker[] {
  return Object.values(brokers);
}

/** As kafkajs' own removeBroker, but a pool that has brokers keeps one as its seed. */
function drop(pool: BrokerPool, broker: Broker): void {
  for (const [nodeId, one] of Object.entries(pool.brokers)) {
    if (one === broker) Reflect.deleteProperty(pool.brokers, nodeId);
  }
  if (pool.seedBroker === broker) pool.seedBroker = nodesOf(pool).find((one) => one.isConnected());
  discard(broker);
}

function discardAll({ brokerPool }: Cluster): void {
  const { seedBroker } = brokerPool;
  for (const broker of new Set([...nodesOf(brokerPool), seedBroker])) if (broker !== undefined) discard(broker);
}

/** At once: kafkajs' own disconnect waits for the answers that are outstanding. */
function discard(broker: Broker): void {
  for (const connection of broker.connectionPool.pool) {
    connection.rejectRequests(new Error('the connection was given up'));
    void connection.disconnect();
    connection.socket?.destroy();
  }
}

async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  const done = new AbortController();
  const late = sleep(ms, null, { signal: done.signal }).then(() => {
    throw new Error(`no broker has answered within ${ms} ms`);
  });
  late.catch(() => {});
  try {
    return await Promise.race([promise, late]);
  } finally {
    done.abort();
  }
}
