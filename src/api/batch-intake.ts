// Takes the items of a batch in: so many at a time are checked and appended together, so many of these are under way at once.
//
//   items ──> piece ──check──────────────────────> flush ──accept──> results
//               └──> the items' thread, where there is one ┘

import type { DomainError } from '../domain/errors.ts';
import { unavailable } from '../domain/errors.ts';
import type { BatchId, TenantId } from '../domain/ids.ts';
import type { TraceContext } from '../domain/trace-context.ts';
import type { Clock } from '../ports/clock.ts';
import type { ItemMaker, MadeItems } from '../ports/item-maker.ts';
import type { Logger } from '../ports/logger.ts';
import type { Outbound } from '../ports/outbound.ts';
import type { ThreadTurns } from '../ports/thread-turns.ts';
import type { AcceptanceDependencies, Checked, MadeOfItems } from './batch-acceptance.ts';
import { createAcceptance } from './batch-acceptance.ts';
import { createHeap } from './batch-heap.ts';
import type { BatchItem } from './batch-items.ts';
import { batchItem } from './batch-request.ts';
import type { TakenIn } from './batch-results.ts';
import { createResults } from './batch-results.ts';
import { parseText } from './body.ts';
import type { FlushTurns } from './flush-turns.ts';
import { createItemsAhead } from './items-ahead.ts';
import { nextTurn } from './next-turn.ts';
import type { RequestLimits } from './rate-limit.ts';

export const intakeLimits = {
  /** Checked in one go: then everybody else has a turn. Small items are 1 ms. */
  pieceItemsMax: 250,
  pieceBytesMax: 64 * 1024,
  /** Items that are wrong in many ways take 50 us each and more: the rest of such a piece is checked in a later turn. */
  pieceMs: 2,
  /** Appended together: as many as one transaction of the embedded log holds. */
  flushItemsMax: 500,
  flushBytesMax: 128 * 1024,
  /** While one is being appended the next ones are read. */
  flushesMax: 2,
  /** In the items' thread: it goes on while the log holds this one, 5 to 10 ms for a flush. Small items, 3 ms a piece: with 3 ahead a batch takes 7 % longer. */
  piecesAheadMax: 6,
  aheadBytesMax: 256 * 1024,
  /** While another tenant is about: as much of a piece and a flush, 100 and 200 items (25 and 50 where flushes are quick), and so many flushes. */
  sharedPart: 0.4,
  sharedFlushesMax: 1,
  /** Of the body 1 MiB at most, three flushes with their last pieces (576 KiB), a piece, and the item that is being read; of its results 2. */
  roomBytes: 3 * 1024 * 1024,
  /**
   * So long, from when it has its room, a body is read at the log's pace; past it the log may hold the reading up for a second at a time, and what holds it up
   * for longer ends it: the rest of the body is let through, unlooked at.
   */
  readMaxMs: 20_000,
  heldMaxMs: 1000,
  /** What hasn't arrived by then is not taken, and what has come is answered: its room is one of eight. */
  receivedWithinMs: 28_000,
  /** When the service stops, which lets what is under way finish for 5 s: what isn't taken by then is told to its sender. */
  stoppedWithinMs: 2000,
} as const;

/** What an item is whose text is filled in, or that has a key, as a share of a flush: it takes so many times as long. */
const filledItems = 5;
const keyedItems = 3;
/**
 * What any other one is while another tenant is about and flushes are quick: 25 are a piece and 50 a flush then. A HIGH beside a batch has a dozen turns of the
 * event loop, each behind what the batch does in its own: its p99 was 27 to 29 ms with flushes of 200, and is 18 to 25 with these (one machine, in turns). More often than every 20 ms they gain nothing.
 */
const itemsBesideOthers = 4;
/** With all that it waited for: 10,000 items in flushes of 50 are taken in 10 s then, of 20 s that a body may be read. */
export const quickFlushMs = 50;

/** Looking at the clock is a tenth of what a small item takes. */
const lookEvery = 10;

export interface IntakeDependencies extends AcceptanceDependencies {
  readonly limits: Pick<RequestLimits, 'items'>;
  readonly outbound: Pick<Outbound, 'problemWithUrl'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly turns: ThreadTurns;
  readonly flushTurns: FlushTurns;
  /** Where a thread of its own makes events of items; absent: all is done here. */
  readonly itemMaker?: ItemMaker | null;
}

export interface IntakeOf {
  readonly tenantId: TenantId;
  readonly batchId: BatchId;
  readonly trace: TraceContext;
}

interface Waiting {
  readonly index: number;
  readonly text: string;
}

/** What is no item by its bytes alone is told in its turn, and counts as one. */
type Cut = Waiting | { readonly index: number; readonly error: DomainError };

/** Why cutting stops for now. */
type Gathered = { readonly kind: 'full' | 'late' | 'through' } | { readonly kind: 'end'; readonly error: DomainError };

export function createIntake(deps: IntakeDependencies, { tenantId, batchId, trace }: IntakeOf) {
  const { limits, outbound, clock, logger, turns, flushTurns, itemMaker = null } = deps;
  const sender = { tenantId, trace };
  const results = createResults(logger, batchId);
  const acceptAll = createAcceptance(deps, { tenantId, batchId }, results);
  const underWay = new Set<Promise<void>>();
  const piece = createHeap<Cut>(intakeLimits.pieceItemsMax, intakeLimits.pieceBytesMax);
  /** Of what was made everything comes before what was checked here. */
  const flush = createHeap<MadeOfItems | Checked>(intakeLimits.flushItemsMax, intakeLimits.flushBytesMax);
  const ahead = createItemsAhead<MadeItems | null>(intakeLimits);
  /** Pieces that were ahead were left, since nothing is taken any more: it stops there. */
  let isLeft = false;
  /** Null from the first item on that it can't make: what follows would come before it. */
  let maker = itemMaker;
  /** How often something was to be taken. */
  let takes = 0;
  let index = 0;
  /** What cutting has taken of the thread since others had a turn: many chunks may come in one. */
  let cutMs = 0;
  /** The one that ended last, with its rests and turns. */
  let flushTookMs = 0;
  /** Why nothing more is taken; null: it is. */
  let toStop: string | null = null;

  const part = (): number => (turns.isShared(tenantId) ? intakeLimits.sharedPart : 1);
  /** Whether others have half of the log's time. */
  const givesWay = (): boolean => turns.isShared(tenantId) && !flushTurns.isLogSlow();
  const flushesMax = (): number => (givesWay() ? intakeLimits.sharedFlushesMax : intakeLimits.flushesMax);

  /** What a plain item is. */
  const itemWeight = (): number => (turns.isShared(tenantId) && flushTookMs <= quickFlushMs ? itemsBesideOthers : 1);

  /** What is asked for goes into the flush. Answers how many of them were checked in the time of a piece. */
  const check = (items: readonly Waiting[]): number => {
    const now = clock.now();
    const weight = itemWeight();
    const until = clock.monotonic() + intakeLimits.pieceMs;
    let checked = 0;
    for (const { index: at, text } of items) {
      if (checked % lookEvery === lookEvery - 1 && clock.monotonic() >= until) break;
      checked++;
      try {
        const { input, key } = batchItem(parseText(text), sender, now, outbound);
        const isFilled = input.template !== null || input.data !== null;
        const ofKind = isFilled ? filledItems : key === null ? 1 : keyedItems;
        // Never lighter than a plain one beside others.
        flush.add({ index: at, input, key }, text.length, Math.max(ofKind, weight));
      } catch (error) {
        results.refuse(at, error);
      }
    }
    return checked;
  };

  /** Piece by piece. What is refused comes to no flush, before which there would be a gap: so there is one after a piece that took its time. */
  const checkAll = async (items: readonly Waiting[]): Promise<void> => {
    for (let left = items; left.length > 0;) {
      const since = clock.monotonic();
      left = left.slice(turns.piece(() => check(left)));
      const tookMs = clock.monotonic() - since;
      if (left.length > 0) await nextTurn();
      if (tookMs >= intakeLimits.pieceMs / 2) await turns.gap(tenantId);
    }
  };

  const beginFlush = async (): Promise<void> => {
    while (underWay.size >= flushesMax()) await Promise.race(underWay);
    const since = clock.monotonic();
    if (givesWay()) await flushTurns.logRested();
    const giveTurnBack = await flushTurns.take(tenantId);
    await turns.gap(tenantId);
    const taken = flush.takeAll();
    if (taken.length === 0) return giveTurnBack();
    const made = taken.filter((one) => 'made' in one);
    const items = taken.filter((one) => 'input' in one);
    const accepting = acceptAll(made, items, giveTurnBack);
    const running: Promise<void> = accepting.then(() => {
      flushTookMs = clock.monotonic() - since;
      underWay.delete(running);
    });
    underWay.add(running);
  };

  const checkHere = async (items: readonly Waiting[]): Promise<void> => {
    await checkAll(items);
    if (flush.isFull(part())) await beginFlush();
  };

  /** Resolves when there is room for the next piece. */
  const makeAhead = async (by: ItemMaker, items: readonly Waiting[]): Promise<void> => {
    const making = by.make(
      items.map(({ text }) => text),
      { tenantId, batchId, trace },
    );
    const bytes = items.reduce((sum, { text }) => sum + text.length, 0);
    await ahead.add(bytes, making, (made) => takeMade(items, made));
  };

  const takeMade = async (items: readonly Waiting[], made: MadeItems | null): Promise<void> => {
    const reason = reasonToStop();
    if (reason !== null) return leave(items, reason);
    if (made === null) maker = null;
    // Or one before has ended it: what was made of this one would come before the rest of that.
    if (maker === null || made === null) return checkHere(items);
    for (const { place, ...refusal } of made.refused) results.reject(items[place]?.index ?? 0, refusal);
    const weight = itemWeight();
    for (const one of made.made) {
      const indexes = one.places.map((place) => items[place]?.index ?? 0);
      flush.add({ made: one, indexes }, one.events.bytes.length, weight * indexes.length);
    }
    if (made.through < items.length) maker = null;
    await checkHere(items.slice(made.through));
  };

  const reasonToStop = (): DomainError | null => (toStop === null ? results.unavailable() : unavailable(toStop));

  /** What waited for the items' thread when the reason came. */
  const leave = (items: readonly Waiting[], reason: DomainError): void => {
    if (isLeft) return;
    isLeft = !results.isStopped();
    if (isLeft) results.stop(items[0]?.index ?? index, reason);
    // It stops at a later one, for another reason.
    else for (const { index: at } of items) results.refuse(at, reason);
  };

  /** The others are told. */
  const withTexts = (items: readonly Cut[]): readonly Waiting[] => {
    const waiting: Waiting[] = [];
    for (const item of items) {
      if ('text' in item) waiting.push(item);
      else results.reject(item.index, item.error);
    }
    return waiting;
  };

  const checkPiece = async (): Promise<void> => {
    const items = piece.takeAll();
    if (items.length === 0 && toStop === null) return;
    const reason = reasonToStop();
    if (reason !== null) {
      await ahead.taken();
      return results.stop(items[0]?.index ?? index, reason);
    }
    const { granted, refusal } = await limits.items(tenantId, items.length);
    const taken = withTexts(granted < items.length ? items.slice(0, granted) : items);
    if (maker === null) {
      await ahead.taken();
      await checkHere(taken);
    } else if (taken.length > 0) await makeAhead(maker, taken);
    await nextTurn();
    cutMs = 0;
    if (refusal !== null) results.stop(items[granted]?.index ?? index, refusal);
  };

  /** Into the piece, for the time of one at most. */
  const gather = (items: Iterator<BatchItem, void>): Gathered => {
    const weight = itemWeight();
    const until = clock.monotonic() + intakeLimits.pieceMs - cutMs;
    for (let looked = 1; ; looked++) {
      const { value: item } = items.next();
      if (item === undefined) return { kind: 'through' };
      if (item.kind === 'end') return item;
      if (item.kind === 'item') piece.add({ index, text: item.text }, item.text.length, weight);
      else piece.add({ index, error: item.error }, 0, weight);
      index++;
      if (piece.isFull(part())) return { kind: 'full' };
      if (looked % lookEvery === 0 && clock.monotonic() >= until) return { kind: 'late' };
    }
  };

  return {
    /** False: reading stops here. */
    async take(items: Iterable<BatchItem>): Promise<boolean> {
      takes++;
      const rest = items[Symbol.iterator]();
      for (;;) {
        const since = clock.monotonic();
        const gathered = turns.piece(() => gather(rest));
        cutMs += clock.monotonic() - since;
        if (gathered.kind === 'full' || gathered.kind === 'end') await checkPiece();
        // White space comes to no piece, behind which others would have a turn.
        else if (cutMs >= intakeLimits.pieceMs) {
          await nextTurn();
          await turns.gap(tenantId);
          cutMs = 0;
        }
        if (gathered.kind === 'end') results.stop(index++, gathered.error);
        if (results.isStopped()) return false;
        if (gathered.kind === 'through') return true;
      }
    },

    /** What is under way is taken, and nothing after it; all else that `take` was given is said not to be, and why. */
    stopSoon(why: string): void {
      toStop ??= why;
    },

    /** Nothing more has come for now: what was checked waits for it over a turn of the event loop, in which a body that is on its way comes on. */
    rest(): void {
      const resting = takes;
      const begin = async () => {
        await ahead.taken();
        if (resting === takes) await beginFlush();
      };
      setImmediate(() => setImmediate(() => void begin()));
    },

    /** When all that was taken has its result. @param isOverdue there is more, which isn't waited for */
    async end(isOverdue: boolean): Promise<TakenIn> {
      takes++;
      if (!results.isStopped()) await checkPiece();
      await ahead.taken();
      if (isOverdue) results.stop(index, unavailable('The batch took too long to arrive or to be taken in.'));
      await beginFlush();
      await Promise.all(underWay);
      return results.taken();
    },
  };
}
