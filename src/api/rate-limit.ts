// The limit on POSTs of notifications, per tenant, and the headers that tell how much is left (IETF draft ratelimit-headers 10).

import { DomainError } from '../domain/errors.ts';
import type { RateLimit, Tenant } from '../domain/tenant.ts';
import type { RateLimitDecision, RateLimiter } from '../ports/rate-limiter.ts';

export interface RateLimited {
  readonly decision: RateLimitDecision;
  /** `RateLimit-Policy` */
  readonly policy: string;
  /** `RateLimit` */
  readonly state: string;
}

export function createNotifyLimit({
  limiter,
  rateLimit,
}: {
  readonly limiter: RateLimiter;
  readonly rateLimit: RateLimit;
}) {
  return async (tenant: Tenant): Promise<RateLimited> => {
    const limit = tenant.rateLimit ?? rateLimit;
    const decision = await limiter.take(`notify:${tenant.id}`, limit);
    const policy = `"default";q=${limit.limit};w=${Math.ceil(limit.windowMs / 1000)}`;
    return { decision, policy, state: `"default";r=${decision.remaining};t=${Math.ceil(decision.resetMs / 1000)}` };
  };
}

export function tooManyRequests({ decision }: RateLimited): DomainError {
  const seconds = Math.max(1, Math.ceil(decision.resetMs / 1000));
  return new DomainError('TOO_MANY_REQUESTS', `The limit of requests is reached. Try again in ${seconds} s.`, {
    retryAfterSeconds: seconds,
  });
}
