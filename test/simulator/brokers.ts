// The log as brokers keep it: partitions, fetch sessions with long polls, leaders that change, groups. What each process asks of them goes over its machine.

import { keyOf } from '../../src/adapters/kafka/fetch-session.ts';
import type { FetchAnswer, FetchedPartition, FetchRequest } from '../../src/adapters/kafka/fetch-wire.ts';
import { offsetOutOfRange } from '../../src/adapters/kafka/kafka-errors.ts';
import type { EntryDecoder } from '../../src/adapters/kafka/schemas.ts';
import type { DomainEvent } from '../../src/domain/events.ts';
import type { Topic } from '../../src/domain/topics.ts';
import { topicOf } from '../../src/domain/topics.ts';
import type { LogEntry, Position } from '../../src/ports/event-log.ts';
import { worldBegin } from './machine.ts';
import { batchOf, eventNumberOf } from './record.ts';
import type { Commit } from './commits.ts';
import type { Group } from './group.ts';
import { createGroup } from './group.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface Brokers {
  readonly partitions: number;
  readonly count: number;
  /** @param by the machine that appends */
  append(event: DomainEvent, size: number, by: string): Position;
  /** All that a partition ever held, by offset. */
  entries(topic: Topic, partition: number): readonly LogEntry[];
  /** Where it begins now: what is before it is deleted. */
  startOf(topic: Topic, partition: number): number;
  /** @param to below it nothing is left */
  deleteRecords(topic: Topic, partition: number, to: number): void;
  /** All that the log ever held, in the order in which it took it. */
  readonly all: readonly LogEntry[];
  readonly decoder: EntryDecoder;
  fetch(node: number, request: FetchRequest): Promise<FetchAnswer>;
  leaderOf(topic: Topic, partition: number): number;
  /** Every partition is led by another broker. */
  moveLeaders(): void;
  group(name: string): Group;
  readonly groups: ReadonlyMap<string, Group>;
}

interface Stored {
  start: number;
  readonly entries: LogEntry[];
  /** Of each entry its own. */
  readonly batches: Buffer[];
}

interface Session {
  epoch: number;
  readonly offsets: Map<string, { topic: Topic; partition: number; offset: number }>;
  /** The end that was told last, by key. */
  readonly told: Map<string, number>;
}

const fencedSession = 71;
const unknownSession = 70;
const notLeader = 6;

export function createBrokers(by: {
  readonly time: VirtualTime;
  readonly partitions: number;
  readonly count: number;
  /** Long polls last so many times longer than was asked for, since there is nothing to be seen in their ends. */
  readonly pollStretch: number;
  /** Records of one partition in an answer. */
  readonly answerMax: number;
  onAppend(entry: LogEntry, by: string): void;
  onCommit(group: string, commits: readonly Commit[]): void;
}): Brokers {
  const { time, partitions, count, pollStretch, answerMax, onAppend, onCommit } = by;
  const stored = new Map<string, Stored>();
  const all: LogEntry[] = [];
  const groups = new Map<string, Group>();
  const sessions = new Map<number, Session>();
  const polls = new Set<() => void>();
  let sessionsMade = 0;
  let leadersMoved = 0;

  const of = (key: string): Stored => {
    const known = stored.get(key);
    if (known !== undefined) return known;
    const made: Stored = { start: 0, entries: [], batches: [] };
    stored.set(key, made);
    return made;
  };

  const leaderOf = (topic: Topic, partition: number): number => (topic.length + partition + leadersMoved) % count;

  function append(event: DomainEvent, size: number, machine: string): Position {
    const topic = topicOf(event);
    const { partition } = event;
    const { entries, batches } = of(keyOf({ topic, partition }));
    const offset = entries.length;
    const appendedAt = worldBegin + Math.floor(time.now);
    const entry = { topic, partition, offset, appendedAt, size, head: event, event, undecodable: null };
    entries.push(entry);
    batches.push(batchOf({ offset, appendedAt, number: all.length }));
    all.push(entry);
    onAppend(entry, machine);
    for (const look of polls) look();
    return { topic, partition, offset };
  }

  const decoder: EntryDecoder = {
    typeOf: (value) => all[eventNumberOf(value)]?.event?.type ?? null,
    learn: () => Promise.resolve(),
    decode({ value }) {
      const entry = all[eventNumberOf(value)];
      if (entry === undefined) throw new Error('a record that nobody appended');
      return entry;
    },
  };

  const answered = (session: Session, node: number): FetchedPartition[] => {
    const found: FetchedPartition[] = [];
    for (const [key, { topic, partition, offset }] of session.offsets) {
      if (leaderOf(topic, partition) !== node) {
        found.push({ topic, partition, errorCode: notLeader, highWatermark: -1, bytes: none });
        continue;
      }
      const { start, batches } = of(key);
      const highWatermark = batches.length;
      if (offset > highWatermark || offset < start) {
        found.push({ topic, partition, errorCode: offsetOutOfRange, highWatermark: -1, bytes: none });
        continue;
      }
      if (offset === highWatermark && session.told.get(key) === highWatermark) continue;
      session.told.set(key, highWatermark);
      const bytes = Buffer.concat(batches.slice(offset, offset + answerMax));
      found.push({ topic, partition, errorCode: 0, highWatermark, bytes });
    }
    return found;
  };

  const sessionOf = ({ sessionId, sessionEpoch }: FetchRequest): { id: number; session: Session } | number => {
    if (sessionEpoch > 0) {
      const session = sessions.get(sessionId);
      if (session === undefined) return unknownSession;
      if (session.epoch !== sessionEpoch) return fencedSession;
      session.epoch++;
      return { id: sessionId, session };
    }
    const session: Session = { epoch: 1, offsets: new Map(), told: new Map() };
    if (sessionEpoch < 0) return { id: 0, session };
    const id = ++sessionsMade;
    sessions.set(id, session);
    return { id, session };
  };

  return {
    partitions,
    count,
    append,
    entries: (topic, partition) => of(keyOf({ topic, partition })).entries,
    startOf: (topic, partition) => of(keyOf({ topic, partition })).start,
    deleteRecords(topic, partition, to) {
      const kept = of(keyOf({ topic, partition }));
      if (to > kept.entries.length)
        throw new Error(`${topic}/${partition} ends at ${kept.entries.length}, not at ${to}`);
      kept.start = Math.max(kept.start, to);
    },
    all,
    decoder,
    leaderOf,
    moveLeaders: () => void leadersMoved++,
    groups,
    group(name) {
      const group = groups.get(name) ?? createGroup(time, (commits) => onCommit(name, commits));
      groups.set(name, group);
      return group;
    },
    fetch(node, request) {
      const opened = sessionOf(request);
      if (typeof opened === 'number') return Promise.resolve(answerOf(opened, 0, []));
      const { id, session } = opened;
      for (const { topic, partition, offset } of request.partitions) {
        const key = keyOf({ topic, partition });
        if (!session.offsets.has(key)) session.told.delete(key);
        session.offsets.set(key, { topic, partition, offset });
      }
      for (const place of request.forgotten) session.offsets.delete(keyOf(place));
      const found = answered(session, node);
      if (found.length > 0 || request.waitMaxMs === 0) return Promise.resolve(answerOf(0, id, found));
      return new Promise((resolve) => {
        const end = () => {
          polls.delete(look);
          patience.cancel();
        };
        const look = () => {
          const news = answered(session, node);
          if (news.length === 0) return;
          end();
          resolve(answerOf(0, id, news));
        };
        const patience = time.after(request.waitMaxMs * pollStretch, () => {
          end();
          resolve(answerOf(0, id, []));
        });
        polls.add(look);
      });
    },
  };
}

const none = Buffer.alloc(0);

function answerOf(errorCode: number, sessionId: number, partitions: readonly FetchedPartition[]): FetchAnswer {
  return { clientSideThrottleTime: 0, errorCode, sessionId, partitions };
}
