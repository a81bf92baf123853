// Fixed windows as one process counts them: a key's window begins with the first take that is let through, and what is refused costs nothing.

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
}

interface Window {
  taken: number;
  readonly endsAt: number;
}

/** Holds a key until its window has ended, and no longer than the longest window in use. */
export function createFixedWindows(): FixedWindows {
  /** In the order in which they began. */
  const windows = new Map<string, Window>();

  const removeEnded = (now: number): void => {
    for (const [key, { endsAt }] of windows) {
      if (endsAt > now) return;
      windows.delete(key);
    }
  };

  return {
    take(key, { limit, windowMs }, cost, now, endsAt = now + windowMs) {
      const known = windows.get(key);
      const window = known !== undefined && known.endsAt > now ? known : { taken: 0, endsAt };
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
    },
  };
}
