// The limits of this process alone, for as long as Redis is away: exact fixed windows in memory.

import { RateLimiterMemory } from 'rate-limiter-flexible';

import type { RateLimit } from '../../domain/tenant.ts';
import type { RateLimitDecision } from '../../ports/rate-limiter.ts';

export interface Insurance {
  take(key: string, limit: RateLimit, cost: number): Promise<RateLimitDecision>;
}

/** Holds one record and one timer for each key that was used in its current window; the timers keep no process alive. */
export function createInsurance(): Insurance {
  // It counts; the limit is compared here, its window given with each call.
  const counter = new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: 1 });
  return {
    async take(key, { limit, windowMs }, cost) {
      const { consumedPoints, msBeforeNext } = await counter.consume(key, cost, { customDuration: windowMs / 1000 });
      const allowed = consumedPoints <= limit;
      // What is refused costs nothing.
      if (!allowed) await counter.reward(key, cost);
      const spent = allowed ? consumedPoints : consumedPoints - cost;
      return { allowed, remaining: Math.max(limit - spent, 0), resetMs: Math.max(Math.ceil(msBeforeNext), 0) };
    },
  };
}
