// The event log on SQLite, in the thread that writes it. Other threads are connected to it by `share` (connected.ts).

import type { DatabaseSync } from 'node:sqlite';
import { MessageChannel } from 'node:worker_threads';

import type { Codec, EncodedEvent } from '../../../codec/index.ts';
import { datumsOf, unpacked } from '../../../codec/packed.ts';
import type { DomainEvent } from '../../../domain/events.ts';
import type { TenantId } from '../../../domain/ids.ts';
import { topicOf, type Topic } from '../../../domain/topics.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { ErasedBytes } from '../../../ports/erased-bytes.ts';
import type { AppendResult, EncodedEvents, EventLog, LogEntry } from '../../../ports/event-log.ts';
import type { Logger } from '../../../ports/logger.ts';
import type { Metrics } from '../../../ports/metrics.ts';
import { startGivingBack } from '../giving-back.ts';
import { openDatabase } from '../sqlite.ts';
import { type LogShape, prepareCatalog, readSchemaIds, schemaKey, type SchemaIds } from './catalog.ts';
import { writersCheckpointPages } from './checkpoints.ts';
import { type Claims, createClaims } from './claims.ts';
import { createEnds, endsBuffer } from './ends.ts';
import { createErasureFeed } from './erasure-feed.ts';
import { createGroups } from './groups.ts';
import { type LogHistory, openHistory } from './history.ts';
import { createHost, type Host } from './host.ts';
import { createOverwriter, createRemover } from './overwrite.ts';
import { readingOf } from './reading.ts';
import { recentRows } from './recent-rows.ts';
import { createRows } from './rows.ts';
import type { SharedEventLog } from './shared.ts';
import { createTail } from './tail.ts';
import { createTrimmer } from './trimmer.ts';
import { createWakeups } from './wakeups.ts';
import { type Append, createWriter, defaultWriterLimits, type WriterLimits } from './writer.ts';

export interface EventLogOptions extends LogShape {
  /** Of log.db; its folder must exist. */
  readonly path: string;
  readonly codec: Codec;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  readonly limits?: WriterLimits;
}

export interface SqliteEventLog extends EventLog, Pick<ErasedBytes, 'overwrite' | 'remove'> {
  readonly history: LogHistory;
  /** A connection for one other thread: connectEventLog takes it there. */
  share(): SharedEventLog;
}

/** Some 700 small events, of which readers wait for each: a flush has 500 at most. Of the longest, 400 KiB each, two and those before them. */
const recentMax = { smallBytesMax: 1024 * 1024, largeBytesMax: 2 * 1024 * 1024 };

/** @throws Error when the file can't be opened, or the log was made with another partitioning */
export function openEventLog(options: EventLogOptions): SqliteEventLog {
  const db = openDatabase(options.path, { synchronous: 'FULL', holds: 'meta', givesBack: true });
  try {
    return logOn(db, options);
  } catch (error) {
    db.close();
    throw error;
  }
}

function logOn(db: DatabaseSync, options: EventLogOptions): SqliteEventLog {
  const { path, codec, clock, logger, metrics, limits = defaultWriterLimits } = options;
  const catalog = prepareCatalog(db, options, codec);
  const buffer = endsBuffer(catalog.slots);
  const ends = createEnds(buffer);
  const wakeups = createWakeups(catalog.slots);
  const { rows, freshen } = createErasureFeed({ rows: createRows({ db, catalog, codec }), catalog, ends });
  const recent = recentRows(rows, catalog.slots, recentMax);
  const groups = createGroups(catalog.partitioning.partitions, clock);
  const schemaIds = readSchemaIds(db);
  const idsOf = createSchemaLookup(schemaIds);
  const consumers = new Set<Claims>();
  const hosts = new Set<Host>();
  /** Those whose thread does the checkpoints: one, or none. */
  const checkpointing = new Set<Host>();
  const decode = ({ ids, bytes }: Append) =>
    rows.decode(ids.schema, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const entryOf = (append: Append, appendedAt: number): LogEntry => {
    const event = append.event ?? decode(append);
    const { type, eventId, occurredAt, tenantId } = event;
    return {
      topic: catalog.topics[Math.floor(append.slot / catalog.partitioning.partitions)] as Topic,
      partition: append.slot % catalog.partitioning.partitions,
      offset: append.offset,
      appendedAt,
      size: append.bytes.length,
      head: { type, eventId, occurredAt, tenantId },
      event,
      undecodable: null,
    };
  };
  const tail = createTail({ catalog, logger, entryOf });

  const writer = createWriter({
    db,
    catalog,
    ends,
    clock,
    logger,
    limits,
    isOwner: groups.isOwner,
    onDurable(events, appendedAt, moved) {
      freshen();
      tail.tell(events, appendedAt);
      for (const append of events) {
        if (append.event !== null && wakeups.isAwaited(append.slot))
          recent.keep(append.slot, entryOf(append, appendedAt));
      }
      for (const slot of moved) wakeups.moved(slot);
      for (const host of hosts) host.wake();
    },
    onFlush: (tookMs) => metrics?.observe('herald_append_seconds', tookMs / 1000),
  });
  metrics?.gauge('herald_append_queue', writer.queued);
  const history = openHistory(db, { catalog, ends });
  const trimmer = createTrimmer({ db, catalog, ends });
  const cutsFile = () => checkpointing.size === 0;
  const giveBack = startGivingBack({ db, clock, logger, metrics, file: 'log', cutsFile });

  const toAppend = (
    appended: DomainEvent,
    { type, fingerprint, bytes }: EncodedEvent,
    resolve: Append['resolve'],
  ): Append => {
    const event = codec.erasures.shown(appended);
    const slot = catalog.slotOf(topicOf(event), event.partition);
    return { slot, ids: idsOf(type, fingerprint), bytes, event, offset: -1, resolve };
  };

  /** @param appendOf the one at a place, with the call that has its result */
  const together = (count: number, appendOf: (i: number, resolve: Append['resolve']) => Append) =>
    new Promise<readonly AppendResult[]>((resolve) => {
      const results: AppendResult[] = [];
      let left = count;
      if (left === 0) return resolve(results);
      const appends = Array.from({ length: count }, (_, i) =>
        appendOf(i, (result) => {
          results[i] = result;
          if (--left === 0) resolve(results);
        }),
      );
      writer.appendAll(appends);
    });

  const appendAll = (events: readonly DomainEvent[]) => {
    const encoded = codec.encodeAll(events);
    return together(events.length, (i, resolve) =>
      toAppend(events[i] as DomainEvent, encoded[i] as EncodedEvent, resolve),
    );
  };

  const appendEncoded = (tenantId: TenantId, events: EncodedEvents) => {
    if (codec.erasures.hasTenant(tenantId)) return appendAll(unpacked(codec, events));
    const { topic, type, fingerprint, partitions } = events;
    const ids = idsOf(type, fingerprint);
    const datums = datumsOf(events);
    return together(datums.length, (i, resolve) => {
      const slot = catalog.slotOf(topic, partitions[i] ?? -1);
      return { slot, ids, bytes: datums[i] as Uint8Array, event: null, offset: -1, resolve };
    });
  };

  const checkpointAfter = (pages: number): void => {
    if (db.isOpen) db.exec(`PRAGMA wal_autocheckpoint = ${pages}`);
  };

  return {
    partitioning: catalog.partitioning,
    history,
    append: (event) => new Promise((resolve) => writer.append(toAppend(event, codec.encode(event), resolve))),
    appendAll: async (events) => appendAll(events),
    appendEncoded: async (tenantId, events) => appendEncoded(tenantId, events),
    async consume(options) {
      const claims = createClaims(options, { catalog, rows: recent, ends, wakeups, logger, commit: writer.commit });
      const leave = groups.join(options.group, claims);
      consumers.add(claims);
      return {
        async stop() {
          claims.end();
          leave();
          consumers.delete(claims);
        },
      };
    },
    tail: tail.listen,
    ...readingOf({ catalog, rows, ends, erasures: codec.erasures }),
    trim: async (range) => trimmer.trim(range),
    overwrite: createOverwriter({ db, catalog, rows, codec, idsOf }),
    remove: createRemover({ db, catalog, ends }),
    isErased: codec.erasures.has,
    isTenantErased: codec.erasures.hasTenant,
    ready: async () => writer.ready(),
    share() {
      const { port1, port2 } = new MessageChannel();
      const asleep = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
      const host = createHost({
        port: port1,
        asleep,
        writer,
        groups,
        schemaIds,
        trim: async (range) => trimmer.trim(range),
        onCheckpoints() {
          checkpointing.add(host);
          checkpointAfter(writersCheckpointPages.beside);
        },
        onEnd() {
          hosts.delete(host);
          if (checkpointing.delete(host)) checkpointAfter(writersCheckpointPages.alone);
        },
      });
      hosts.add(host);
      return { path, topics: catalog.topics, partitioning: catalog.partitioning, ends: buffer, asleep, port: port2 };
    },
    async close() {
      if (!db.isOpen) return;
      giveBack.close();
      writer.close();
      groups.close();
      for (const claims of consumers) claims.end();
      for (const host of hosts) host.close();
      db.close();
    },
  };
}

/** Ids of the schemas that events are written with: one a type, asked for with every append. */
function createSchemaLookup(ids: ReadonlyMap<string, SchemaIds>) {
  const newest = new Map<string, { readonly fingerprint: string; readonly ids: SchemaIds }>();
  return (type: string, fingerprint: string): SchemaIds => {
    const known = newest.get(type);
    if (known !== undefined && known.fingerprint === fingerprint) return known.ids;
    const found = ids.get(schemaKey(type, fingerprint));
    if (found === undefined) throw new Error(`the event log knows no schema ${fingerprint} of ${type}`);
    newest.set(type, { fingerprint, ids: found });
    return found;
  };
}
