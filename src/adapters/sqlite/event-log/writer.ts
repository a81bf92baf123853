// Writes the log: all that is appended and committed in one turn of the event loop, or in 4 ms under load, goes into one transaction.
//
//   append, commit -> queue -> setImmediate (or 4 ms) -> flush: BEGIN, insert, COMMIT (fsync) -> ends -> onDurable -> answers

import type { DatabaseSync } from 'node:sqlite';

import type { DomainEvent } from '../../../domain/events.ts';
import { highTopics, workTopics, type Topic } from '../../../domain/topics.ts';
import { type AppendResult, StaleOwnerError } from '../../../ports/event-log.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Logger } from '../../../ports/logger.ts';
import { createAppendQueue } from './append-queue.ts';
import type { Catalog, SchemaIds } from './catalog.ts';
import type { OwnedCommit } from './claims.ts';
import type { Ends } from './ends.ts';
import { createFlushStatements, failureOf } from './flush.ts';

export interface Append {
  readonly slot: number;
  readonly ids: SchemaIds;
  readonly bytes: Uint8Array;
  /** null when another thread appended it: only its bytes came. */
  readonly event: DomainEvent | null;
  /** Set by the flush; -1 before. */
  offset: number;
  resolve(result: AppendResult): void;
}

export interface WriterLimits {
  /** What may wait: the 8 MiB of the other thread fit. 25,000 events are a second's at full speed; small ones are 6 MiB. Decoded they are held as well, three times that in all. */
  readonly queueEvents: number;
  readonly queueBytes: number;
}

export const defaultWriterLimits: WriterLimits = { queueEvents: 25_000, queueBytes: 12 * 1024 * 1024 };

export interface WriterDependencies {
  readonly db: DatabaseSync;
  readonly catalog: Catalog;
  readonly ends: Ends;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: WriterLimits;
  isOwner(group: string, partition: number, epoch: number): boolean;
  /** Called after each flush, before the callers are answered; `moved` are the slots with new events. */
  onDurable(events: readonly Append[], appendedAt: number, moved: Iterable<number>): void;
  /** Called after a flush of appends with the ms that the first of them waited. */
  onFlush(tookMs: number): void;
}

export interface Writer {
  append(append: Append): void;
  /** The same of what one caller appends together. */
  appendAll(appends: readonly Append[]): void;
  commit(commit: OwnedCommit): Promise<void>;
  queued(): number;
  ready(): boolean;
  /** Writes what is queued, then refuses everything. */
  close(): void;
}

interface PendingCommit {
  readonly commit: OwnedCommit;
  resolve(): void;
  reject(error: Error): void;
}

/** What comes in one call is a few, not a part of a batch. */
const fewMax = 32;
/**
 * A flush costs an fsync, some 250 us, whatever is in it: under load, which 8 callers in one flush tell, the next one begins 4 ms after the last, or as
 * soon as 32 events wait, and takes more along. What comes alone never waits, nor does what one caller appends behind hundreds of its own: a batch's last
 * event, which its answer waits for. Nor does HIGH, unless it has been let through so within the last 4 ms: so it has twice the flushes at most.
 */
const spacingMs = 4;
const spacedFromCallers = 8;
const spacedToEvents = 32;
/** What a clock is set back by without a word, in ms. */
const aheadMax = 60_000;
/** Between two looks whether a log that failed works again; they write as much as what failed, of an ordinary event at least. */
const probeEveryMs = 500;
const probeBytesMin = 4096;

export function createWriter({
  db,
  catalog,
  ends,
  clock,
  logger,
  limits,
  isOwner,
  onDurable,
  onFlush,
}: WriterDependencies): Writer {
  const { partitions } = catalog.partitioning;
  const statements = createFlushStatements(db, catalog);
  /** Offsets to give next: ahead of `ends` within a flush only. */
  const next = Array.from({ length: catalog.slots }, () => 0);
  let lastAppendedAt = statements.lastAppendedAt();
  const queue = createAppendQueue<Append>(catalog.slots, clock);
  const isWork = catalog.topics.map((topic) => workTopics.includes(topic));
  const isHigh = catalog.topics.map((topic) => highTopics.includes(topic));
  /** Who has appended what waits. */
  let callers = 0;
  let commits: PendingCommit[] = [];
  let scheduled: NodeJS.Timeout | 'now' | null = null;
  let state: 'open' | 'closed' = 'open';
  let failing = false;
  let saidAhead = false;
  /** Of the last events that could not be written; 0: it was commits alone. */
  let failedBytes = 0;
  let probedAt = -Infinity;

  /** When the last flush ended, by the monotonic clock, if it was one of many callers. */
  let busyAt = -Infinity;
  /** When HIGH was last let through in such a time. */
  let hurriedAt = -Infinity;

  const schedule = (isHasty = false) => {
    if (scheduled === 'now') return;
    const now = clock.monotonic();
    if (queue.size < spacedToEvents && now - busyAt < spacingMs) {
      if (!isHasty || now - hurriedAt < spacingMs) {
        scheduled ??= setTimeout(flush, spacingMs);
        return;
      }
      hurriedAt = now;
    }
    if (scheduled !== null) clearTimeout(scheduled);
    scheduled = 'now';
    setImmediate(flush);
  };

  /** A part of a batch holds the thread for some ms: what was just written is handed on by then, which takes a turn of the event loop. */
  const scheduleBehind = () => {
    scheduled = 'now';
    setImmediate(() => setImmediate(flush));
  };

  const flush = () => {
    scheduled = null;
    if (queue.size === 0 && commits.length === 0) return;
    const isBusy = callers >= spacedFromCallers;
    const { appends: batch, since, hasUrgent } = queue.take();
    if (queue.size === 0) callers = 0;
    const committing = commits.filter(stillOwned);
    commits = [];
    let appendedAt: number;
    try {
      if (failing) reload();
      appendedAt = write(batch, committing);
    } catch (error) {
      return fail(error, batch, committing);
    } finally {
      if (queue.size > 0) (hasUrgent ? scheduleBehind : schedule)();
    }
    const now = clock.monotonic();
    // One that HIGH began early has few callers, however many there are.
    busyAt = isBusy || now - hurriedAt < spacingMs ? now : -Infinity;
    announce(batch, appendedAt);
    for (const { resolve } of committing) resolve();
    if (batch.length > 0) onFlush(clock.monotonic() - since);
  };

  const stillOwned = ({ commit, reject }: PendingCommit): boolean => {
    const { group, partition, epoch } = commit;
    if (isOwner(group, partition, epoch)) return true;
    reject(new StaleOwnerError(`partition number ${partition} of ${group} has another owner by now`));
    return false;
  };

  /** Times never go back, so that what was appended at a time is found by it. */
  const timeOf = (now: number): number => {
    const isAhead = lastAppendedAt - now > aheadMax;
    if (isAhead && !saidAhead)
      logger.warn(
        'the log has events of the future, since its clock was ahead: what is appended has that time until it comes',
        {
          until: new Date(lastAppendedAt).toISOString(),
        },
      );
    saidAhead = isAhead;
    return Math.max(now, lastAppendedAt);
  };

  const write = (batch: readonly Append[], committing: readonly PendingCommit[]): number => {
    const appendedAt = timeOf(clock.now());
    statements.begin();
    for (const append of batch) {
      const { slot } = append;
      append.offset = next[slot] ?? 0;
      next[slot] = append.offset + 1;
      statements.insert(slot, append.offset, append.ids, appendedAt, append.bytes);
    }
    for (const { commit } of committing) statements.saveCommit(commit);
    statements.commit();
    // A commit is small: it may fit where events don't.
    if (batch.length > 0 || failedBytes === 0) works();
    lastAppendedAt = appendedAt;
    return appendedAt;
  };

  const announce = (batch: readonly Append[], appendedAt: number) => {
    const moved = new Set<number>();
    for (const { slot } of batch) moved.add(slot);
    for (const slot of moved) ends.set(slot, next[slot] ?? 0);
    if (batch.length > 0) onDurable(batch, appendedAt, moved);
    for (const append of batch) append.resolve(durableAt(append.slot, append.offset));
  };

  const durableAt = (slot: number, offset: number): AppendResult => ({
    kind: 'durable',
    position: { topic: catalog.topics[Math.floor(slot / partitions)] as Topic, partition: slot % partitions, offset },
  });

  const works = () => {
    if (failing) logger.info('the event log takes appends again');
    failing = false;
    failedBytes = 0;
  };

  const fail = (error: unknown, batch: readonly Append[], committing: readonly PendingCommit[]) => {
    const { kind, reason } = failureOf(error, statements.rollback());
    if (!failing) logger.error('the event log does not take appends', { err: error });
    failing = true;
    failedBytes = batch.reduce((sum, { bytes }) => sum + bytes.length, 0) || failedBytes;
    for (const append of batch) append.resolve({ kind, reason });
    for (const { reject } of committing) reject(new Error(`the commit failed: ${reason}`));
  };

  /** After a failure the tables say where each partition ends. @throws Error when they can't be read */
  const reload = () => {
    statements.rollback();
    const moved: number[] = [];
    for (let slot = 0; slot < catalog.slots; slot++) {
      const end = statements.endOf(slot);
      next[slot] = end;
      if (end === ends.get(slot)) continue;
      ends.set(slot, end);
      moved.push(slot);
    }
    onDurable([], lastAppendedAt, moved);
    lastAppendedAt = Math.max(lastAppendedAt, statements.lastAppendedAt());
  };

  const worksAgain = (): boolean => {
    try {
      reload();
      return statements.probe(Math.max(failedBytes, probeBytesMin));
    } catch {
      return false;
    }
  };

  const add = (append: Append, isFew: boolean) => {
    const { length } = append.bytes;
    if (state === 'closed') return append.resolve({ kind: 'refused', reason: 'the event log is closed' });
    if (queue.size >= limits.queueEvents || queue.bytes + length > limits.queueBytes) {
      return append.resolve({ kind: 'refused', reason: 'too much waits to be appended' });
    }
    const topic = Math.floor(append.slot / partitions);
    queue.add(append, isFew && isWork[topic] === true);
    schedule(isFew && isHigh[topic] === true);
  };

  reload();
  return {
    append(append) {
      callers++;
      add(append, true);
    },
    appendAll(appends) {
      callers++;
      const isFew = appends.length <= fewMax;
      for (const append of appends) add(append, isFew);
    },
    commit: (commit) =>
      new Promise((resolve, reject) => {
        if (state === 'closed') return reject(new Error('the event log is closed'));
        const pending = { commit, resolve, reject };
        if (!stillOwned(pending)) return;
        commits.push(pending);
        schedule();
      }),
    queued: () => queue.size,
    ready() {
      if (state === 'closed') return false;
      if (failing && clock.monotonic() - probedAt >= probeEveryMs) {
        probedAt = clock.monotonic();
        if (worksAgain()) works();
      }
      return !failing;
    },
    close() {
      state = 'closed';
      while (queue.size > 0 || commits.length > 0) flush();
    },
  };
}
