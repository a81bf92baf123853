// Who folds when where several read models share a thread.
//
// - A large batch holds the thread for 5 to 30 ms: of all numbers and read models one is folded at a time, and while others have small ones the line rests
//   as long as it took. So a small batch waits for one large one at most, however many numbers a tenant fills with them, and has half of the thread. A tenant
//   at its rate needs less than the other half; where large ones come so many that they wait for 250 ms, they rest no more.
// - Where nobody has had a small one for half a second, all catch up: four large batches of small documents are folded together then and share a commit, since
//   numbers of the same tenants write the same pages. The first small one after that waits for four at most, 40 ms, and those after it for one.
// - A small one is followed by a rest, so that a commit is shared by more; the first few of a beat after a quiet one aren't, so that nobody waits for a beat on a quiet thread.
// - A read model that may lag folds one batch at a time and, while others have much to do, rests four times as long after each. So they keep four fifths of
//   the thread, and what may lag catches up when they have. Where it is 15 s behind them it rests no more: then it goes on at their pace, however long the log is.
// - A read model that is filled beside the one that it replaces folds one batch at a time and rests as long as it took while others fold at all; once one of
//   them is half a second behind, three times as long. So a rebuild has half of the thread at most. While something that is in hand is a second behind it
//   begins none, but one a second: what serves is behind by that second, the batch that was under way (10 ms of the thread, some 100 of a store elsewhere) and
//   its own batch, and what is filled still comes on where the thread is never free.

import type { Clock } from '../ports/clock.ts';
import type { Position } from '../ports/event-log.ts';
import type { FoldPace } from '../ports/read-model-store.ts';
import { createBehindOthers } from './behind-others.ts';

/** Runs the work when its turn has come; whoever is next waits for the rest after it. The wait ends with the signal. */
export type Line = <T>(signal: AbortSignal, work: () => Promise<T>) => Promise<T>;

export interface Turns {
  /** A batch of a read model that must not lag is to be folded, until the call that it answers with. @param since when the log took its oldest event, UTC ms */
  begun(since: number): () => void;
  /** A read model that must not lag has folded so many events at once, up to this one; a large batch waited for its turn. */
  noted(batch: {
    readonly entries: number;
    readonly last: Position;
    readonly isLarge: boolean;
    readonly waitedMs: number;
  }): void;
  /** Whether a number may go on at once after a small batch. Counts it. */
  needsNoRest(pace: FoldPace): boolean;
  /** For large batches; a heavy one, of large events or documents, is always folded by itself. */
  large<T>(signal: AbortSignal, work: () => Promise<T>, batch: { readonly isHeavy: boolean }): Promise<T>;
  /** For read models that may lag: a batch that begins here. */
  lagging<T>(signal: AbortSignal, work: () => Promise<T>, first: Position): Promise<T>;
  /** For read models that are filled while another one serves. */
  readonly beside: Line;
}

/** A batch of so many events: whoever folds it is catching up, or under load. */
const busyEntries = 100;
/** Of all numbers in a beat: 300 notifications a second of three events, in two read models. With more a rest is worth its commit. */
const quietBeatEntries = 200;
/** So long after a batch others are thought to have more such. */
const busyMs = 500;
const laggingRests = 4;
const laggingRestMaxMs = 1000;
/** 1,000,000 notifications: the search is there 15 s after the records. With rests to their end it was half of their own time behind, 28 to 55 s, and 153 of 5,000,000. */
const laggingMaxMs = 15_000;
/** Of a piece of 50 ms; what took longer was others' work. */
const largeRestMaxMs = 50;
/** A quarter of what folding may be behind while another read model is filled, and beyond the 350 ms that events rest in a store elsewhere. */
const laterMs = 500;
/** Half of it. */
const lateMs = 1000;
const lateLookMs = 25;
/** For what is late one batch of what is filled waits so long at most: 150 events in 10 ms, a hundredth of the thread. */
const lateWaitMaxMs = 1000;
/** A quarter of the thread. In proportion, so that what is nearly at the log's end, with its small batches, still comes level; and not less, or it would never. */
const besideLateRests = 3;
/** The pages of a tenant's newest rows are written once for all of them: catching up costs a quarter less than one at a time, and 12 together no less than 4. */
const largeTogetherMax = 4;
/**
 * Who posts in-app as fast as is accepted needs two thirds of the thread. While that rested until it was 5 s behind, others of its numbers read what they had
 * posted 2.6 s later; from 250 ms on, 0.25 s, and others of other numbers as before: 40 to 60 ms in either way, beside bodies of 190 KB 140 to 220.
 */
const behindMs = 250;

export function createTurns(clock: Pick<Clock, 'now' | 'monotonic' | 'sleep'>): Turns {
  /** Of each batch in hand of what must not lag. */
  const inHand = new Set<{ readonly since: number }>();
  const isLate = (): boolean => {
    const now = clock.now();
    for (const { since } of inHand) if (now - since >= lateMs) return true;
    return false;
  };
  const untilNotLate = async (signal: AbortSignal): Promise<void> => {
    const until = clock.monotonic() + lateWaitMaxMs;
    while (isLate() && clock.monotonic() < until && !signal.aborted) await clock.sleep(lateLookMs, signal);
  };
  let busyUntil = -Infinity;
  let smallUntil = -Infinity;
  let behindUntil = -Infinity;
  let liveUntil = -Infinity;
  let laterUntil = -Infinity;
  let beat = { endsAt: -Infinity, unrested: 0, entries: 0, isQuiet: true };
  const behindOthers = createBehindOthers(clock, laggingMaxMs);
  /** The one that is folded, or rests; there is one at a time. */
  let isFarBehind = false;
  const lagging = createLine(clock, {
    restMsAfter: (tookMs, now) =>
      now < busyUntil && !isFarBehind ? Math.min(laggingRests * tookMs, laggingRestMaxMs) : 0,
  });
  const large = createLine(clock, {
    atOnceMax: () => (clock.monotonic() < smallUntil ? 1 : largeTogetherMax),
    restMsAfter: (tookMs, now) => (now < smallUntil && now >= behindUntil ? Math.min(tookMs, largeRestMaxMs) : 0),
  });
  return {
    begun(since) {
      const batch = { since };
      inHand.add(batch);
      return () => void inHand.delete(batch);
    },
    noted({ entries, last, isLarge, waitedMs }) {
      behindOthers.passed(last);
      const until = clock.monotonic() + busyMs;
      if (entries >= busyEntries) busyUntil = until;
      if (entries > 0) liveUntil = until;
      if (waitedMs >= laterMs) laterUntil = until;
      beat.entries += entries;
      if (!isLarge) smallUntil = until;
      else if (waitedMs >= behindMs) behindUntil = until;
    },
    needsNoRest({ manyMs, unrestedMax }) {
      const now = clock.monotonic();
      if (now >= beat.endsAt) {
        const isQuiet = beat.entries < quietBeatEntries || now >= beat.endsAt + manyMs;
        beat = { endsAt: now + manyMs, unrested: 0, entries: 0, isQuiet };
      }
      return beat.isQuiet && ++beat.unrested <= unrestedMax;
    },
    large: (signal, work, { isHeavy }) => large(signal, work, isHeavy ? largeTogetherMax : 1),
    lagging(signal, work, first) {
      return lagging(signal, () => {
        isFarBehind = behindOthers.behindMs(first) >= laggingMaxMs;
        return work();
      });
    },
    beside: createLine(clock, {
      before: untilNotLate,
      restMsAfter: (tookMs, now) =>
        now < liveUntil ? Math.min((now < laterUntil ? besideLateRests : 1) * tookMs, laggingRestMaxMs) : 0,
    }),
  };
}

interface Resting {
  /** How much may be in hand at once; what weighs more than that is in hand alone. One, unless said. */
  atOnceMax?(): number;
  /** Waited for when the turn has come; never rejects. */
  before?(signal: AbortSignal): Promise<void>;
  restMsAfter(tookMs: number, now: number): number;
}

interface Waiting {
  readonly weight: number;
  begin(): void;
}

type WeighingLine = <T>(signal: AbortSignal, work: () => Promise<T>, weight?: number) => Promise<T>;

function createLine(
  clock: Pick<Clock, 'monotonic' | 'sleep'>,
  { atOnceMax = () => 1, before, restMsAfter }: Resting,
): WeighingLine {
  /** In the order in which they came. */
  const waiting = new Set<Waiting>();
  /** The weight of what is folded or rests. */
  let inHand = 0;

  const beginNext = (): void => {
    for (const next of waiting) {
      if (inHand > 0 && inHand + next.weight > atOnceMax()) return;
      waiting.delete(next);
      inHand += next.weight;
      next.begin();
    }
  };
  const turnOf = (weight: number): Promise<void> =>
    new Promise((resolve) => {
      waiting.add({ weight, begin: resolve });
      beginNext();
    });

  return async (signal, work, weight = 1) => {
    await turnOf(weight);
    await before?.(signal);
    const startedAt = clock.monotonic();
    try {
      return await work();
    } finally {
      const end = (): void => {
        inHand -= weight;
        beginNext();
      };
      const now = clock.monotonic();
      const restMs = restMsAfter(now - startedAt, now);
      if (restMs <= 0 || signal.aborted) end();
      else void clock.sleep(restMs, signal).then(end);
    }
  };
}
