// Exact fixed windows per key: no more than `limit` are let through in one, however parallel.

import type { RateLimit } from '../domain/tenant.ts';

export interface RateLimitDecision {
  readonly allowed: boolean;
  readonly remaining: number;
  /** ms until the window ends. */
  readonly resetMs: number;
}

export interface RateLimiter {
  /** The window begins with its first take. Never rejects: without its server the limit is the process's own. */
  take(key: string, limit: RateLimit, cost?: number): Promise<RateLimitDecision>;
  /**
   * For those who wait for their windows: one that begins up to its length after the one before has ended begins where that one ended, so that nobody's
   * lateness makes a second longer. After a longer rest it begins with the take. A key is either paced or taken from. Never rejects, as above.
   */
  pace(key: string, limit: RateLimit): Promise<RateLimitDecision>;
  close(): Promise<void>;
}
