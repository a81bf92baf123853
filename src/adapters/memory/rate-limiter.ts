// Limits of one process: exact fixed windows in memory.
//
// What it holds is bounded by its keys: one record and one timer for each that was used in its current window, and
// keys are those of tenants that have been authenticated.

import { RateLimiterMemory } from 'rate-limiter-flexible';

import type { RateLimiter } from '../../ports/rate-limiter.ts';

export function createMemoryRateLimiter(): RateLimiter {
  // One counter for every limit there is: it counts, the limit is compared here, and its window is given with each
  // call.
  const counter = new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: 1 });
  return {
    async take(key, { limit, windowMs }, cost = 1) {
      const { consumedPoints, msBeforeNext } = await counter.consume(key, cost, { customDuration: windowMs / 1000 });
      const allowed = consumedPoints <= limit;
      // What is refused costs nothing. One that came in between may be refused by it, never let through.
      if (!allowed) await counter.reward(key, cost);
      const remaining = Math.max(limit - (allowed ? consumedPoints : consumedPoints - cost), 0);
      return { allowed, remaining, resetMs: Math.max(Math.ceil(msBeforeNext), 0) };
    },
    async close() {
      // Its timers keep no process alive.
    },
  };
}
