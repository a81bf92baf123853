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
}

interface Window {
  taken: number;
  readonly endsAt: number;
  /** Until then it is looked at. */
  readonly keptUntil: number;
}

/** Holds a key until its window has ended, a paced one for its length more, and no longer than the longest window in use. */
export function createFixedWindows(): FixedWindows {
  /** In the order in which they began. */
  const windows = new Map<string, Window>();

  const removeEnded = (now: number): void => {
    for (const [key, { keptUntil }] of windows) {
      if (keptUntil > now) return;
      windows.delete(key);
    }
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
    const known = windows.get(key);
    const window = isOpen(known, now) ? known : fresh();
    const allowed = window.taken + cost <= limit;
    if (allowed) window.taken += cost;
    if (allowed && window !== known) {
      windows.delete(key);
      windows.set(key, window);
      removeEnded(now);
    }
    // A sum of fractions and one of its parts differ by a little more than the other part.
    const resetMs = Math.min(Math.max(Math.ceil(window.endsAt - now), 0), windowMs);
    return { allowed, remaining: Math.max(limit - window.taken, 0), resetMs };
  }

  /** When the window ends that follows the last one; where that ended too long ago, one that begins now. */
  function nextEnd(key: string, windowMs: number, now: number): number {
    const following = (windows.get(key)?.endsAt ?? -Infinity) + windowMs;
    return following > now ? following : now + windowMs;
  }

  return {
    take: (key, limit, cost, now, endsAt = now + limit.windowMs) =>
      count(key, limit, cost, now, () => ({ taken: 0, endsAt, keptUntil: endsAt })),
    pace(key, limit, now, endsAt) {
      const { windowMs } = limit;
      return count(key, limit, 1, now, () => {
        const end = endsAt ?? nextEnd(key, windowMs, now);
        return { taken: 0, endsAt: end, keptUntil: end + windowMs };
      });
    },
  };
}
