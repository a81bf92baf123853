// The log as one process sees it: Herald's own reading of Kafka (fetchers, readers, claims, commits, membership), on brokers that the world keeps.

import type { Admin } from 'kafkajs';
import type { Broker } from 'kafkajs/src/cluster/index.js';

import { createConsuming } from '../../src/adapters/kafka/consuming.ts';
import { keyOf } from '../../src/adapters/kafka/fetch-session.ts';
import { createOffsets } from '../../src/adapters/kafka/offsets.ts';
import type { EntryDecoder } from '../../src/adapters/kafka/schemas.ts';
import type { LogCluster } from '../../src/adapters/kafka/log-cluster.ts';
import type { Erasures } from '../../src/domain/erasure.ts';
import type { DomainEvent } from '../../src/domain/events.ts';
import type { Partitioning } from '../../src/domain/topics.ts';
import { allTopics } from '../../src/domain/topics.ts';
import type { AppendResult, Claim, EventLog } from '../../src/ports/event-log.ts';
import type { Logger } from '../../src/ports/logger.ts';
import type { Random } from '../chaos/random.ts';
import type { Brokers } from './brokers.ts';
import { seenBy } from './erasures.ts';
import type { Machine } from './machine.ts';
import { worldBegin } from './machine.ts';
import type { Trace } from './trace.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface LogFaults {
  /** Appends fail until then, one in so many: half of them refused, half with an end that isn't known. */
  appendsFailUntil: number;
  failOneIn: number;
}

export interface SimulatedLog {
  readonly machine: Machine;
  readonly brokers: Brokers;
  readonly partitioning: Partitioning;
  readonly time: VirtualTime;
  readonly random: Random;
  readonly trace: Trace;
  readonly logger: Logger;
  readonly faults: LogFaults;
  /** What this process knows to be erased; null: nobody ever is. */
  readonly erasures: Erasures | null;
  /** What an event takes in the log. */
  sizeOf(event: DomainEvent): number;
  /** A number was given to this process. */
  onOwned(group: string, claim: Claim): void;
  /** A group has answered to this process. */
  onHeard(group: string): void;
}

/** What wasn't known to be in the log comes to be in it within so long. */
const lateMaxMs = 1_000;

export function createSimulatedLog(by: SimulatedLog): EventLog {
  const { machine, brokers, partitioning, time, random, trace, logger, faults, sizeOf, onOwned, onHeard } = by;
  const { erasures } = by;
  const asking = createCluster(machine, brokers, onHeard);
  const consuming = createConsuming({
    names,
    asking,
    clusterOf: () => createCluster(machine, brokers, onHeard),
    decoder: erasures === null ? brokers.decoder : decoderBy(erasures, brokers.decoder),
    erasures: erasures ?? nothingErased,
    partitioning,
    topics: allTopics,
    clock: machine.clock,
    logger,
  });

  const offsets = createOffsets({
    admins: { use: (work) => machine.ask(() => work(adminOf(brokers))), close: () => Promise.resolve() },
    cluster: asking,
    names,
    topics: allTopics,
    partitions: brokers.partitions,
  });

  const take = (event: DomainEvent): AppendResult => {
    if (time.now < faults.appendsFailUntil && random.between(1, faults.failOneIn) === 1) return failed(event);
    const position = brokers.append(event, sizeOf(event), machine.name);
    return { kind: 'durable', position };
  };

  const failed = (event: DomainEvent): AppendResult => {
    const [reason, chance] = ['the log is away', random.next()];
    trace(machine.name, 'append fails', event.type, event.eventId);
    if (chance < 0.5) return { kind: 'refused', reason };
    if (chance < 0.8)
      time.after(chance < 0.65 ? 0 : random.next() * lateMaxMs, () => {
        brokers.append(event, sizeOf(event), machine.name);
      });
    return { kind: 'unknown', reason };
  };

  const append = async (event: DomainEvent): Promise<AppendResult> => {
    // As encoding does.
    const written = erasures?.shown(event) ?? event;
    const result = await machine
      .ask(() => take(written))
      .catch((): AppendResult => ({ kind: 'unknown', reason: 'nobody answered' }));
    if (result.kind === 'durable') erasures?.note(event);
    return result;
  };

  return {
    partitioning,
    append,
    appendAll: (events) => Promise.all(events.map(append)),
    appendEncoded: () => Promise.reject(new Error('nothing is encoded here')),
    consume: (options) =>
      consuming.consume({
        ...options,
        owned(claim) {
          trace(machine.name, 'owns', claim.partition, options.group);
          onOwned(options.group, claim);
          options.owned(claim);
        },
        lost(partition) {
          trace(machine.name, 'loses', partition, options.group);
          options.lost(partition);
        },
      }),
    tail: consuming.tail,
    read: consuming.read,
    survey: consuming.survey,
    ends: offsets.ends,
    starts: offsets.starts,
    trim: offsets.trim,
    offsetAt: offsets.offsetAt,
    committed: offsets.committed,
    isErased: (erasures ?? nothingErased).has,
    isTenantErased: (erasures ?? nothingErased).hasTenant,
    ready: () => Promise.resolve(true),
    close: () => consuming.close(),
  };
}

const names = {
  topic: (topic: string) => topic,
  group: (group: string) => group,
  topicOf: (name: string) => name,
  groupOf: (name: string) => name,
};

/** What a broker's administration answers, of all that Herald asks it. */
function adminOf(brokers: Brokers): Admin {
  const answers: Partial<Admin> = {
    fetchTopicOffsets: () => Promise.resolve([]),
    async deleteTopicRecords({ topic, partitions }) {
      for (const { partition, offset } of partitions) brokers.deleteRecords(topic, partition, Number(offset));
    },
    fetchOffsets: ({ groupId, topics = [] }) =>
      Promise.resolve(
        topics.map((topic) => ({
          topic,
          partitions: numbers(brokers).map((partition) => {
            const { offset, metadata } = brokers.group(groupId).committed.get(keyOf({ topic, partition })) ?? never;
            return { partition, offset: String(offset), metadata };
          }),
        })),
      ),
  };
  return answers as Admin;
}

const nothingErased = { isPassedOver: () => false, has: () => false, hasTenant: () => false };

function decoderBy(erasures: Erasures, decoder: EntryDecoder): EntryDecoder {
  return { ...decoder, decode: (record) => seenBy(erasures, decoder.decode(record)) };
}

function numbers({ partitions }: Brokers): number[] {
  return Array.from({ length: partitions }, (_, partition) => partition);
}

/** Connections of one process. */
function createCluster(machine: Machine, brokers: Brokers, onHeard: (group: string) => void): LogCluster {
  let leaders: Leaders = new Map();
  const broker = brokerFor(machine, brokers, onHeard);
  const learn = async (): Promise<void> => {
    leaders = await machine.ask(() => leadersNow(brokers));
  };
  return {
    ask: (_node, request) => machine.ask(() => request(broker)),
    askAnyone: (request) => machine.ask(() => request(broker)),
    fetch: (node, request) => machine.ask(() => brokers.fetch(node, request)),
    async connect() {
      if (leaders.size === 0) await learn();
    },
    refresh: learn,
    leaderOf: (topic, partition) => leaders.get(topic)?.[partition] ?? null,
    partitionsOf: () => brokers.partitions,
    coordinatorOf: () => machine.ask(() => 0),
    reset() {
      leaders = new Map();
    },
    close() {},
  };
}

/** By topic, then by partition. */
type Leaders = ReadonlyMap<string, readonly number[]>;

function leadersNow(brokers: Brokers): Leaders {
  return new Map(
    allTopics.map((topic) => [topic, numbers(brokers).map((partition) => brokers.leaderOf(topic, partition))]),
  );
}

/** What a broker answers to this machine, of all that Herald asks brokers. */
function brokerFor({ name }: Machine, brokers: Brokers, onHeard: (group: string) => void): Broker {
  const answers: Partial<Broker> = {
    // Whoever waits for others to come back isn't taken for dead.
    joinGroup({ groupId, memberId, groupProtocols: [protocol] }) {
      onHeard(groupId);
      return brokers.group(groupId).join(name, memberId, protocol?.metadata ?? Buffer.alloc(0));
    },
    async syncGroup(of) {
      const answer = await brokers.group(of.groupId).sync(of);
      onHeard(of.groupId);
      return answer;
    },
    async heartbeat(of) {
      brokers.group(of.groupId).heartbeat(of);
      onHeard(of.groupId);
    },
    leaveGroup: async ({ groupId, memberId }) => brokers.group(groupId).leave(memberId),
    offsetCommit: async ({ groupId, topics, ...member }) =>
      brokers.group(groupId).commit(
        member,
        topics.flatMap(({ topic, partitions }) =>
          partitions.map(({ partition, offset, metadata }) => ({ topic, partition, offset: Number(offset), metadata })),
        ),
      ),
    offsetFetch: async ({ groupId, topics }) => ({
      responses: topics.map(({ topic, partitions }) => ({
        topic,
        partitions: partitions.map(({ partition }) => {
          const { offset, metadata } = brokers.group(groupId).committed.get(keyOf({ topic, partition })) ?? never;
          return { partition, offset: String(offset), metadata };
        }),
      })),
    }),
    listOffsets: async ({ topics }) => ({
      responses: topics.map(({ topic, partitions }) => ({
        topic,
        partitions: partitions.map(({ partition, timestamp }) => {
          const offset = offsetOf(brokers, { topic, partition }, Number(timestamp));
          return { partition, offset: String(offset) };
        }),
      })),
    }),
  };
  return answers as Broker;
}

const never = { offset: -1, metadata: '' };

/** @param timestamp -1: the end, -2: the start. Answers -1 where nothing came so late */
function offsetOf(brokers: Brokers, { topic, partition }: PartitionOf, timestamp: number): number {
  const entries = brokers.entries(topic, partition);
  const start = brokers.startOf(topic, partition);
  if (timestamp === -2) return start;
  if (timestamp === -1) return entries.length;
  return entries.findIndex(({ appendedAt, offset }) => offset >= start && appendedAt >= timestamp);
}

interface PartitionOf {
  readonly topic: string;
  readonly partition: number;
}

/** Virtual ms of a time that was written down. */
export function virtualMs(utcMs: number): number {
  return utcMs - worldBegin;
}
