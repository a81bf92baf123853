// The limit on what a tenant reads: so many in a window, what is over waits a moment for the next window, then 429. How many at once: answers-in-flight.ts.

import type { ServerResponse } from 'node:http';

import type { TenantId } from '../domain/ids.ts';
import type { RateLimit } from '../domain/tenant.ts';
import type { Clock } from '../ports/clock.ts';
import type { RateLimiter } from '../ports/rate-limiter.ts';
import { ClientGoneError } from './errors.ts';
import type { RateLimited } from './rate-limit.ts';
import { limitHeaders, rateLimited, tooManyRequests } from './rate-limit.ts';

/** A window that ends later isn't waited for. */
const waitMaxMs = 1000;
/** So many of a tenant's reads wait for a window at once, 1 KiB each. */
const perTenantWaitingMax = 1000;

interface Dependencies {
  readonly limiter: RateLimiter;
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
  readonly readLimit: RateLimit;
}

export type ReadLimit = ReturnType<typeof createReadLimit>;

export function createReadLimit({ limiter, clock, readLimit }: Dependencies) {
  const waiting = new Map<TenantId, number>();

  /** Until the window has ended; false where that isn't waited for. */
  const waitFor = async (tenantId: TenantId, resetMs: number, deadline: number): Promise<boolean> => {
    const before = waiting.get(tenantId) ?? 0;
    if (before >= perTenantWaitingMax || clock.monotonic() + resetMs > deadline) return false;
    waiting.set(tenantId, before + 1);
    await clock.sleep(resetMs);
    const left = (waiting.get(tenantId) ?? 1) - 1;
    if (left > 0) waiting.set(tenantId, left);
    else waiting.delete(tenantId);
    return true;
  };

  /** Counts a read; every answer to it, also a refusal, says how many are left. @throws DomainError TOO_MANY_REQUESTS; ClientGoneError */
  return async (tenantId: TenantId, res: ServerResponse): Promise<void> => {
    const deadline = clock.monotonic() + waitMaxMs;
    let limited: RateLimited;
    do {
      if (res.closed) throw new ClientGoneError();
      limited = rateLimited(policyName, readLimit, await limiter.take(`read:${tenantId}`, readLimit));
    } while (!limited.decision.allowed && (await waitFor(tenantId, limited.decision.resetMs, deadline)));
    for (const [name, value] of Object.entries(limitHeaders(limited))) res.setHeader(name, value);
    if (!limited.decision.allowed) throw tooManyRequests(limited);
  };
}

const policyName = 'reads';
