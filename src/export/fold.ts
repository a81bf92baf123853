// Rows that are folded from the log: a partition number at a time, since all of a notification has one number, and of a number a shard at a time, since one
// may have more than fits into memory. What a number's events tell is laid aside by the hash of their notification, then each shard is folded on its own.
//
//   number 0: log ──> shards 0 ... 15 (files) ──> fold ──> rows      then number 1 ...
//
// A row is of an export if anything of it happened in its range; all that came before is read, too.

import { appendFileSync, createReadStream, mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

import type { DomainEvent, NotificationEvent, ProviderReported } from '../domain/events.ts';
import { isNotificationEvent } from '../domain/events.ts';
import { murmur2 } from '../domain/murmur.ts';
import type { LogEntry } from '../ports/event-log.ts';
import type { Row } from './columns.ts';
import { filterOf } from './filter.ts';
import type { Range } from './manifest.ts';
import type { Piece, Source, SourceOptions } from './source.ts';

/** What happened to a notification, and what its provider reported later. */
export type FoldedEvent = NotificationEvent | ProviderReported;

/** What rows are made of, of as many notifications as fit into memory. */
export interface Fold {
  take(event: FoldedEvent, isOfRange: boolean): void;
  rows(): Iterable<Row>;
}

export interface FoldedSourceOptions extends SourceOptions {
  /** A folder of its own, which is made and removed. */
  readonly scratch: string;
  beginFold(): Fold;
}

const shards = 16;
/** Of a shard's file that is folded at once; a longer one is read again for each share of its notifications. Folded it takes some 4 times as much. */
const foldBytesMax = 12 * 1024 * 1024;
/** Of the lines that wait for all shards' files: 16 x 256 KiB are 4 MiB. */
const heldBytesMax = 256 * 1024;
const pieceEvents = 5_000;

/** Units are partition numbers, and how far one is its shard. */
export function foldedSource(options: FoldedSourceOptions): Source {
  const { ranges, scratch } = options;
  const numbers = [...new Set(ranges.map(({ partition }) => partition))];
  const ofNumber = (number: number) => ranges.filter(({ partition }) => partition === number);
  let deleted = 0;

  async function* piecesOf(number: number, unit: number, from: number): AsyncGenerator<Piece> {
    const own = ofNumber(number);
    // Nothing happened in the range: nothing of it is asked for.
    if (own.every((range) => range.from === range.to)) return;
    const laid = beginShards(scratch);
    for (const range of own) {
      deleted += range.to;
      for await (const piece of layAside(options, range, laid)) {
        deleted -= piece.read;
        yield piece;
      }
    }
    laid.end();
    for (let shard = from; shard < shards; shard++) {
      for await (const rows of foldedRows(laid.path(shard), options)) yield { rows, read: 0, next: null };
      const next = shard + 1 < shards ? { unit, at: shard + 1 } : { unit: unit + 1, at: 0 };
      yield { rows: [], read: 0, next };
    }
    rmSync(scratch, { recursive: true, force: true });
  }

  return {
    total: ranges.reduce((sum, { to }) => sum + to, 0),
    deleted: () => deleted,
    async *pieces({ unit, at }) {
      for (const [i, number] of numbers.entries()) {
        if (i >= unit) yield* piecesOf(number, i, i === unit ? at : 0);
      }
    },
  };
}

/** Tells how far it is; counts the range's events anew, since a number is always read from its beginning. */
async function* layAside({ log, filter }: SourceOptions, range: Range, laid: Shards): AsyncGenerator<Piece> {
  const { topic, partition, from, to } = range;
  const isWanted = filterOf({ ...filter, types: null });
  range.events = 0;
  let read = 0;
  for await (const entry of log.read({ topic, partition, from: 0, to })) {
    const isOfRange = entry.offset >= from;
    if (isOfRange) range.events++;
    if (isWanted(entry)) laid.take(entry, isOfRange);
    if (++read < pieceEvents) continue;
    yield { rows: [], read, next: null };
    read = 0;
  }
  yield { rows: [], read, next: null };
}

interface Shards {
  take(entry: LogEntry, isOfRange: boolean): void;
  end(): void;
  path(shard: number): string;
}

function beginShards(folder: string): Shards {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const held = Array.from({ length: shards }, () => '');
  const path = (shard: number) => join(folder, `shard-${shard}`);
  const flush = (shard: number) => {
    appendFileSync(path(shard), held[shard] ?? '');
    held[shard] = '';
  };
  return {
    path,
    take({ event }, isOfRange) {
      if (event === null || !isFolded(event)) return;
      const shard = murmur2(event.notificationId) % shards;
      const line = `${isOfRange ? '+' : '-'}${JSON.stringify(withoutCopies(event))}\n`;
      held[shard] += line;
      if ((held[shard]?.length ?? 0) >= heldBytesMax) flush(shard);
    },
    end: () => held.forEach((_, shard) => flush(shard)),
  };
}

function isFolded(event: DomainEvent): event is FoldedEvent {
  return event.type === 'ProviderReported' || isNotificationEvent(event);
}

/** Most events carry the whole request; one of them tells it. Of those that begin a wait its time counts. */
function withoutCopies(event: FoldedEvent): object {
  if (event.type === 'NotificationRequested' || !('request' in event)) return event;
  const isWait = event.type === 'RetryRequested' || event.type === 'DeliveryDue';
  return { ...event, request: isWait ? { sendAt: event.request.sendAt } : null };
}

async function* foldedRows(
  path: string,
  { beginFold, pieceRows }: FoldedSourceOptions,
): AsyncGenerator<readonly Row[]> {
  const shares = Math.max(1, Math.ceil(statSync(path).size / foldBytesMax));
  for (let share = 0; share < shares; share++) {
    const fold = beginFold();
    for await (const line of linesOf(path)) {
      const event = JSON.parse(line.slice(1)) as FoldedEvent;
      // Of a hash whose remainder by `shards` is the same for all in here.
      if (Math.floor(murmur2(event.notificationId) / shards) % shares !== share) continue;
      fold.take(event, line.startsWith('+'));
    }
    let rows: Row[] = [];
    for (const row of fold.rows()) {
      if (rows.push(row) < pieceRows) continue;
      yield rows;
      rows = [];
    }
    if (rows.length > 0) yield rows;
  }
}

/** Ended by a line feed alone: readline takes U+2028 for an end as well, which JSON leaves as it is. */
async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of createReadStream(path, { encoding: 'utf8', highWaterMark: heldBytesMax })) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}
