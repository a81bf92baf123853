// An embedded log with something of everything, and a place on Kafka of its own to copy it to.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { openKafkaCopyTarget } from '../../../src/adapters/kafka/copy-target.ts';
import { type KafkaEventLog, openKafkaEventLog } from '../../../src/adapters/kafka/event-log.ts';
import { openCopySource, type SqliteCopySource } from '../../../src/adapters/sqlite/event-log/copy-source.ts';
import { openEventLog, type SqliteEventLog } from '../../../src/adapters/sqlite/event-log/event-log.ts';
import { createCodec } from '../../../src/codec/index.ts';
import { encodeFinished } from '../../../src/dispatchers/finished-bitmap.ts';
import { dispatcherGroup } from '../../../src/dispatchers/dispatcher.ts';
import { deliveriesTopic, workTopic } from '../../../src/domain/topics.ts';
import { eventLogShape } from '../../../src/main/event-log-shape.ts';
import type { Claim, CommittedPosition, EventLog, LogEntry } from '../../../src/ports/event-log.ts';
import type { EventLogCopyTarget } from '../../../src/ports/event-log-copy.ts';
import type { Logger } from '../../../src/ports/logger.ts';
import type { EnginesShare } from '../../support/engines-share.ts';
import { requested } from '../../support/requested.ts';
import { until } from '../../support/until.ts';
import { wallClock } from '../../support/wall-clock.ts';

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

const emailGroup = dispatcherGroup('EMAIL');
export const emailHigh = workTopic('EMAIL', 'HIGH');
const day = 24 * 60 * 60 * 1000;

export interface CopyWorld {
  readonly prefix: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Of log.db. */
  readonly path: string;
  /** The embedded log, at a time of its own, some weeks ago. Closed by whoever opens it. */
  openEmbedded(): SqliteEventLog;
  openSource(): SqliteCopySource;
  openTarget(): EventLogCopyTarget;
  openKafka(): Promise<KafkaEventLog>;
  /** Not what its share has of schemas: whoever made that removes it. */
  remove(): Promise<void>;
}

export function makeCopyWorld({ environment, removeLog }: EnginesShare): CopyWorld {
  const folder = mkdtempSync(join(tmpdir(), 'herald-copy-'));
  const path = join(folder, 'log.db');
  const { KAFKA_PREFIX: prefix = '', KAFKA_BROKERS: brokers = '', SCHEMA_REGISTRY_URL: registryUrl = '' } = environment;
  const settings = { brokers: brokers.split(','), prefix, clientId: 'copy', tls: null, sasl: null, replication: null };
  const opened: { close(): unknown }[] = [];
  const closing = <T extends { close(): unknown }>(it: T): T => {
    opened.push(it);
    return it;
  };
  let time = Date.now() - 30 * day;
  const longAgo = { ...wallClock, now: () => (time += 37) };
  return {
    prefix,
    environment: { ...environment, DATA_DIR: folder },
    path,
    openEmbedded: () => openEventLog({ ...eventLogShape, path, codec: createCodec(), clock: longAgo, logger: silent }),
    openSource: () => closing(openCopySource(path)),
    openTarget: () => closing(openKafkaCopyTarget({ settings, registryUrl, clock: wallClock, logger: silent })),
    async openKafka() {
      const shape = eventLogShape;
      const deps = { codec: createCodec(), clock: wallClock, logger: silent };
      return closing(await openKafkaEventLog({ settings, registryUrl, shape, ...deps }));
    },
    async remove() {
      for (const it of opened) await it.close();
      rmSync(folder, { recursive: true });
      await removeLog();
    },
  };
}

/** Events of two topics on all numbers, several to a flush. */
export async function fill(log: EventLog, count: number, from = 0): Promise<void> {
  for (let n = from; n < from + count; n += 100) {
    const events = Array.from({ length: Math.min(100, from + count - n) }, (_, i) =>
      requested((n + i) % 12, n + i, (n + i) % 3 === 0 ? 'BULK' : 'HIGH'),
    );
    await Promise.all(events.map((event) => log.append(event)));
  }
}

/** What the EMAIL dispatchers have finished of HIGH: all below 3, then 5 and 9. */
export async function finishSome(log: EventLog): Promise<void> {
  const claims: Claim[] = [];
  const consumer = await log.consume({
    group: emailGroup,
    topics: [emailHigh],
    owned: (claim) => claims.push(claim),
    lost() {},
  });
  await until(() => claims.length === 12, { what: 'all numbers to be owned' });
  for (const claim of claims)
    await claim.commit([{ topic: emailHigh, offset: 3, metadata: encodeFinished(3, [5, 9]) }]);
  await consumer.stop();
}

/** Bytes that nobody can decode, and an event that an older version of Herald wrote with a schema of its own. */
export function addOddities(path: string): void {
  const db = new DatabaseSync(path);
  const topic = Number(db.prepare('SELECT id FROM topics WHERE name = ?').get(deliveriesTopic)?.['id']);
  const of = db
    .prepare(
      `SELECT schemas.id, type, json FROM schemas JOIN types ON types.id = type WHERE types.name = 'CancelRequested'`,
    )
    .get();
  const newest = JSON.parse(String(of?.['json'])) as { fields: unknown[] };
  const older = { ...newest, fields: [...newest.fields, { name: 'legacy', type: 'string' }] };
  const codec = createCodec();
  const { partition, ...request } = requested(4, 1);
  const event = { ...request, partition, type: 'CancelRequested' } as never;
  const bytes = Buffer.concat([codec.encode(event).bytes, Buffer.from([6]), Buffer.from('old')]);
  const append = db.prepare('INSERT INTO events VALUES (?, 4, ?, ?, ?, ?, ?, NULL)');
  const type = Number(of?.['type']);
  // A lower id than any: it was there first.
  db.prepare('INSERT INTO schemas VALUES (0, ?, ?, ?)').run(type, 'f'.repeat(32), JSON.stringify(older));
  const at = Date.now() - 31 * day;
  append.run(topic, 0, type, 0, at, bytes);
  append.run(topic, 1, type, Number(of?.['id']), at, Buffer.from('no Avro at all'));
  append.run(topic, 2, type, Number(of?.['id']), at + 5, Buffer.alloc(0));
  db.close();
}

/** What an entry tells, read whole: entries themselves hold their codec, and decode when they are asked. */
export type Told = Pick<
  LogEntry,
  'topic' | 'partition' | 'offset' | 'appendedAt' | 'size' | 'head' | 'event' | 'undecodable'
>;

export async function everythingIn(log: EventLog): Promise<Told[]> {
  const entries: Told[] = [];
  for (const topic of eventLogShape.topics) {
    for (const [partition, to] of (await log.ends(topic)).entries())
      for await (const entry of log.read({ topic, partition, from: 0, to })) {
        const { offset, appendedAt, size, head, event, undecodable } = entry;
        entries.push({ topic, partition, offset, appendedAt, size, head, event, undecodable });
      }
  }
  return entries;
}

export async function positionsIn(log: EventLog): Promise<Record<string, readonly (CommittedPosition | null)[]>> {
  const positions: Record<string, readonly (CommittedPosition | null)[]> = {};
  for (const { group, topics } of eventLogShape.groups)
    for (const topic of topics) positions[`${group} ${topic}`] = await log.committed(group, topic);
  return positions;
}
