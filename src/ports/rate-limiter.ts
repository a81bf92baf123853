// Exact fixed windows per key: the window begins with its first request, and no more than `limit` are let through in it, however parallel.

import type { RateLimit } from '../domain/tenant.ts';

export interface RateLimitDecision {
  readonly allowed: boolean;
  readonly remaining: number;
  /** ms until the window ends. */
  readonly resetMs: number;
}

export interface RateLimiter {
  /** Never rejects: without its server the limit is the process's own. */
  take(key: string, limit: RateLimit, cost?: number): Promise<RateLimitDecision>;
  close(): Promise<void>;
}
