// How the log was made, written down in the log: the first record of a topic of its own. Whoever comes second reads what the first one wrote.
//
// A log that is made by a copy says so in that record, and nobody opens it until a later record says that the copy is complete:
//
//   { format, partitions, shards, hash }                     made by a Herald
//   { format, ..., copy: A } [{ copy: B }] { copied: true, id }  made by a copy, that B went on with, and complete
//
// Whoever completes or opens it gives it an id, the first of which counts, and says once when settings are tied to it:
//
//   ... { id } ... { settings: true }
//
// It also says which topics it is made of, by the ids that the brokers gave them; of several such records the last counts for a topic:
//
//   ... { topics: { name: id } }

import { randomUUID } from 'node:crypto';

import type { Partitioning } from '../../domain/topics.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LogIdentity } from '../../ports/event-log.ts';
import type { KafkaClient } from './client.ts';
import { createLogCluster, type LogCluster } from './log-cluster.ts';
import { allRecords, appendRecord } from './records-asked.ts';
import { topicIdsOf } from './topic-ids-asked.ts';
import { StartRefusal } from './wait-until-up.ts';

/** Its only partition is number 0. */
export const formatTopic = 'notifications.log-format';

/** A copy that is under way. */
export interface CopyIdentity {
  /** The producer of every batch of it, whichever process sends it. */
  readonly producerId: string;
  /** A hash of the log that is copied, as it is. */
  readonly source: string;
}

export type LogState = { readonly kind: 'open' } | { readonly kind: 'copying' | 'copied'; readonly copy: CopyIdentity };

interface LogFormat {
  /** Raised with every change that an older version can't read. */
  readonly format: number;
  readonly partitions: number;
  readonly shards: number;
  readonly hash: string;
  /** Absent: the log wasn't made by a copy. */
  readonly copy?: CopyIdentity;
}

interface LaterRecord {
  readonly id?: string;
  readonly settings?: true;
  readonly topics?: Readonly<Record<string, string>>;
  readonly copy?: CopyIdentity;
  readonly copied?: true;
}

const formatVersion = 1;

/**
 * Writes the format of a new log, or checks it; the topic must exist. Several processes may do so at once: all append, and the record that came first
 * counts for all.
 * @throws StartRefusal when the log was made otherwise, or a copy into it isn't complete
 */
export function keepFormat(client: KafkaClient, partitioning: Partitioning, clock: WallClock): Promise<LogIdentity> {
  return onTopic(client, async (topic) => {
    const { kind } = await keep(topic, formatOf(partitioning), clock.now());
    if (kind === 'copying')
      throw new StartRefusal(
        'A copy into this log has begun and is not complete: run "herald copy-log --to kafka" again until it says that it is.',
      );
    if ((await identityIn(topic)).id === undefined) await topic.append({ id: randomUUID() }, clock.now());
    const { id, hasSettings } = await identityIn(topic);
    if (id === undefined) throw new Error(`${topic.name} lost the id that it was given`);
    const noteSettings = () => onTopic(client, (again) => again.append({ settings: true }, clock.now()));
    return { id, hasSettings, noteSettings };
  });
}

/** How a log was made that somebody else keeps, and its id. @throws StartRefusal when there is none yet that can be opened */
export function readFormat(client: KafkaClient): Promise<{ readonly id: string; readonly partitioning: Partitioning }> {
  return onTopic(client, async (topic) => {
    const [first] = await topic.read();
    const { id } = await identityIn(topic);
    if (first === undefined || id === undefined || (await stateOf(topic)).kind === 'copying')
      throw new StartRefusal('There is no log that was opened: start the service on it once.');
    const made = parse(first, topic.name) as LogFormat;
    const partitioning = { partitions: made.partitions, shards: made.shards };
    check(made, formatOf(partitioning), topic.name);
    return { id, partitioning };
  });
}

/**
 * Notes the ids of the log's topics, which must exist. @throws StartRefusal naming the first that isn't the one that was noted: one that was deleted and made
 * again may have grown beyond every position, and what is in it below them would never be read.
 */
export function keepTopics(client: KafkaClient, names: readonly string[], clock: WallClock): Promise<void> {
  return onTopic(client, async ({ name, read, append, cluster }) => {
    const ids = await topicIdsOf(cluster, names);
    if (ids === null) return;
    const noted = new Map<string, string>();
    for (const value of (await read()).slice(1))
      for (const [topic, id] of Object.entries((parse(value, name) as LaterRecord).topics ?? {})) noted.set(topic, id);
    const other = names.find((topic) => noted.has(topic) && noted.get(topic) !== ids.get(topic));
    if (other !== undefined)
      throw new StartRefusal(
        `The topic ${other} was deleted and made again since this log was made: what it held is gone, and positions in it say nothing of what it holds now. ` +
          'Put it back, or run "herald adopt" to go on with what is there.',
      );
    if (names.some((topic) => !noted.has(topic))) await append({ topics: Object.fromEntries(ids) }, clock.now());
  });
}

/** From now on the topics that are there are the log's, whichever were noted. */
export function renewTopics(client: KafkaClient, names: readonly string[], clock: WallClock): Promise<void> {
  return onTopic(client, async ({ append, cluster }) => {
    const ids = await topicIdsOf(cluster, names);
    if (ids !== null) await append({ topics: Object.fromEntries(ids) }, clock.now());
  });
}

type WallClock = Pick<Clock, 'now'>;

interface FoundIdentity {
  readonly id?: string;
  readonly hasSettings: boolean;
}

async function identityIn({ name, read }: FormatTopic): Promise<FoundIdentity> {
  const later = (await read()).slice(1).map((value) => parse(value, name) as LaterRecord);
  const id = later.find((record) => record.id !== undefined)?.id;
  const hasSettings = later.some(({ settings }) => settings === true);
  return { hasSettings, ...(id === undefined ? {} : { id }) };
}

/**
 * The same for whoever copies a log into this one: a log that isn't there yet is his until `endCopy`, one that a copy has begun too.
 * The state's identity is the one to go on with: the given one, unless the same source had begun before.
 * @throws StartRefusal as keepFormat, and when another copy begins at the same time
 */
export function beginCopy(
  client: KafkaClient,
  partitioning: Partitioning,
  of: { readonly copy: CopyIdentity; readonly nowMs: number },
): Promise<LogState> {
  const { copy, nowMs } = of;
  return onTopic(client, async (topic) => {
    const state = await keep(topic, { ...formatOf(partitioning), copy }, nowMs);
    if (state.kind !== 'copying' || state.copy.source === copy.source) return state;
    await topic.append({ copy }, nowMs);
    const now = await stateOf(topic);
    if (now.kind === 'copying' && now.copy.producerId === copy.producerId) return now;
    throw new StartRefusal('Another copy into this log has begun at the same time.');
  });
}

/** Durable when it resolves: the log can be opened, and read beside whoever opens it. */
export function endCopy(client: KafkaClient, nowMs: number): Promise<void> {
  return onTopic(client, (topic) => topic.append({ copied: true, id: randomUUID() }, nowMs));
}

interface FormatTopic {
  readonly name: string;
  read(): Promise<readonly Buffer[]>;
  append(value: LogFormat | LaterRecord, nowMs: number): Promise<void>;
  readonly cluster: LogCluster;
}

async function onTopic<T>(client: KafkaClient, work: (topic: FormatTopic) => Promise<T>): Promise<T> {
  const name = client.names.topic(formatTopic);
  const place = { topic: name, partition: 0 };
  const cluster = createLogCluster({ client, topics: [name] });
  try {
    return await work({
      name,
      read: async () => (await allRecords(cluster, place)).map(({ value }) => value),
      append: (value, nowMs) => appendRecord(cluster, place, Buffer.from(JSON.stringify(value)), nowMs),
      cluster,
    });
  } finally {
    cluster.close();
  }
}

async function keep(topic: FormatTopic, ours: LogFormat, nowMs: number): Promise<LogState> {
  if ((await topic.read()).length === 0) await topic.append(ours, nowMs);
  return stateOf(topic, ours);
}

async function stateOf({ name, read }: FormatTopic, ours?: LogFormat): Promise<LogState> {
  const [first, ...later] = await read();
  if (first === undefined) throw new Error(`${name} lost the record that it was given`);
  const theirs = parse(first, name) as Partial<LogFormat>;
  if (ours !== undefined) check(theirs, ours, name);
  let { copy } = theirs;
  if (copy === undefined) return { kind: 'open' };
  let kind: LogState['kind'] = 'copying';
  for (const value of later) {
    const record = parse(value, name) as LaterRecord;
    if (record.copied === true) kind = 'copied';
    if (kind === 'copying') copy = record.copy ?? copy;
  }
  return { kind, copy };
}

function formatOf({ partitions, shards }: Partitioning): LogFormat {
  return { format: formatVersion, partitions, shards, hash: 'murmur2' };
}

function check(theirs: Partial<LogFormat>, ours: LogFormat, name: string): void {
  if (theirs.format !== ours.format)
    throw new StartRefusal(
      `The log is of a format that this version of Herald does not read: ${name} has format ${theirs.format}, not ${ours.format}.`,
    );
  for (const key of ['partitions', 'shards', 'hash'] as const) {
    if (theirs[key] === ours[key]) continue;
    throw new StartRefusal(
      'The log was made with another partitioning, which can never change (copy it into a new log instead): ' +
        `${name} has ${key} ${theirs[key]}, not ${ours[key]}.`,
    );
  }
}

function parse(value: Buffer, name: string): unknown {
  try {
    return JSON.parse(value.toString());
  } catch {
    throw new StartRefusal(`A record of ${name} does not say how the log was made.`);
  }
}
