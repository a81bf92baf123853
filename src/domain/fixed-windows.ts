// Fixed windows as one process counts them: a key's window begins with the first take that is let through, and what is refused costs nothing.
//
//   take    [ window ]   [ window ]     each begins with its first take
//   pace    [ window ][ window ][ w..   while takes go on they are a grid: who comes late takes from what is left of his window

import type { RateLimit } from './tenant.ts';

export interface WindowDecision {
  readonly allowed: boolean;
  readonly remaining: number;
  /** ms until the window ends. */
  readonly resetMs: number;
}

export interface FixedWindows {
  /**
   * @param now by the monotonic clock, ms
   * @param endsAt when the window ends if it begins now: where somebody else counts it as well; default: after its whole length
   */
  take(key: string, limit: RateLimit, cost: number, now: number, endsAt?: number): WindowDecision;
  /** One of a window that follows the one before without a gap, where that one ended less than its length ago. */
  pace(key: string, limit: RateLimit, now: number, endsAt?: number): WindowDecision;
  /** How many it holds, those that have ended too. */
  readonly size: number;
}

interface Window {
  taken: number;
  readonly endsAt: number;
}

/**
 * Of one length, 5 to 12 MiB: a window is forgotten before its end where as many others begin after it (of 10 s from 2,500 a second on), and counts anew.
 * A flood of names takes no more memory than that, and its own windows are nearly all that it shortens.
 */
const perAgeMax = 25_000;

/** Holds a key for one to two ages of its window's length. */
export function createFixedWindows(): FixedWindows {
  /** Each length has its own, so that what lasts for a day holds nothing that lasts for seconds. Lengths are the configuration's: a handful. */
  const lengths = new Map<number, AgedWindows>();

  const windowsOf = (windowMs: number): AgedWindows => {
    const known = lengths.get(windowMs);
    if (known !== undefined) return known;
    const windows = createAgedWindows(windowMs);
    lengths.set(windowMs, windows);
    return windows;
  };

  const isOpen = (window: Window | undefined, now: number): window is Window =>
    window !== undefined && window.endsAt > now;

  function count(
    key: string,
    { limit, windowMs }: RateLimit,
    cost: number,
    now: number,
    fresh: () => Window,
  ): WindowDecision {
    const windows = windowsOf(windowMs);
    const known = windows.get(key);
    const window = isOpen(known, now) ? known : fresh();
    const allowed = window.taken + cost <= limit;
    if (allowed) window.taken += cost;
    if (allowed && window !== known) windows.begin(key, window, now);
    // A sum of fractions and one of its parts differ by a little more than the other part.
    const resetMs = Math.min(Math.max(Math.ceil(window.endsAt - now), 0), windowMs);
    return { allowed, remaining: Math.max(limit - window.taken, 0), resetMs };
  }

  /** When the window ends that follows the last one; where that ended too long ago, one that begins now. */
  function nextEnd(key: string, windowMs: number, now: number): number {
    const following = (windowsOf(windowMs).get(key)?.endsAt ?? -Infinity) + windowMs;
    return following > now ? following : now + windowMs;
  }

  return {
    take: (key, limit, cost, now, endsAt = now + limit.windowMs) =>
      count(key, limit, cost, now, () => ({ taken: 0, endsAt })),
    pace(key, limit, now, endsAt) {
      const { windowMs } = limit;
      return count(key, limit, 1, now, () => {
        return { taken: 0, endsAt: endsAt ?? nextEnd(key, windowMs, now) };
      });
    },
    get size() {
      let size = 0;
      for (const windows of lengths.values()) size += windows.size();
      return size;
    },
  };
}

type AgedWindows = ReturnType<typeof createAgedWindows>;

/**
 * Windows of one length: those that began in this age, and in the one before. What was before that has ended and goes as
 * a whole: one by one it would be a stall for whoever comes after a flood.
 */
function createAgedWindows(windowMs: number) {
  /** For as long a window is looked at, a paced one for its length after it has ended. */
  const ageMs = 2 * windowMs;
  let young = new Map<string, Window>();
  let old = new Map<string, Window>();
  let overAt = -Infinity;

  return {
    get: (key: string): Window | undefined => young.get(key) ?? old.get(key),
    begin(key: string, window: Window, now: number): void {
      if (now >= overAt || young.size >= perAgeMax) {
        old = young;
        young = new Map();
        overAt = now + ageMs;
      }
      young.set(key, window);
    },
    size: () => young.size + old.size,
  };
}
