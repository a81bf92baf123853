// The limits on a tenant's requests: what sends, with the headers that tell how much is left (IETF draft ratelimit-headers 10), and what else writes.

import { DomainError } from '../domain/errors.ts';
import type { TenantId } from '../domain/ids.ts';
import type { RateLimit, Tenant } from '../domain/tenant.ts';
import type { RateLimitDecision, RateLimiter } from '../ports/rate-limiter.ts';

export interface RateLimited {
  readonly decision: RateLimitDecision;
  /** `RateLimit-Policy` */
  readonly policy: string;
  /** `RateLimit` */
  readonly state: string;
}

export interface ItemsLimited {
  readonly granted: number;
  readonly refusal: DomainError | null;
}

/**
 * Changes of settings, cancels, marks of an inbox, previews: each costs 1 to 3 ms of a thread or a store's one writer that all tenants share.
 * Its 1,000 templates may be deleted and made anew in one window.
 */
const defaultWrites: RateLimit = { limit: 2000, windowMs: 10_000 };

/** Of one recipient's browsers: 20 streams that begin, and 80 pages and marks. */
const perRecipient: RateLimit = { limit: 100, windowMs: 10_000 };

interface Dependencies {
  readonly limiter: RateLimiter;
  readonly rateLimit: RateLimit;
  /** Of items of batches. */
  readonly itemLimit: RateLimit;
  readonly writes?: RateLimit | undefined;
}

export type RequestLimits = ReturnType<typeof createRequestLimits>;

export function createRequestLimits({ limiter, rateLimit, itemLimit, writes = defaultWrites }: Dependencies) {
  return {
    /** What sends: notifications, retries, tests of providers. Counted when it is allowed. */
    async sending(tenant: Tenant): Promise<RateLimited> {
      const limit = tenant.rateLimit ?? rateLimit;
      return rateLimited('default', limit, await limiter.take(`notify:${tenant.id}`, limit));
    },

    /** So many items of a batch, or as many as are left; `refusal` says why it is fewer. */
    async items(tenantId: TenantId, count: number): Promise<ItemsLimited> {
      const key = `items:${tenantId}`;
      const all = await limiter.take(key, itemLimit, count);
      if (all.allowed) return { granted: count, refusal: null };
      const left = Math.min(all.remaining, count);
      const rest = left > 0 ? await limiter.take(key, itemLimit, left) : all;
      return { granted: rest.allowed ? left : 0, refusal: refusal('The limit of items is reached.', rest) };
    },

    /** Requests by a recipient's own token. @throws DomainError TOO_MANY_REQUESTS */
    async browsing(tenantId: TenantId, recipient: string): Promise<void> {
      const decision = await limiter.take(`inbox:${tenantId}:${recipient}`, perRecipient);
      if (!decision.allowed) throw refusal('The limit of a recipient’s requests is reached.', decision);
    },

    /** Every other request that isn't a GET. @param writer a tenant's id or, where there is none yet, a person's subject @throws DomainError TOO_MANY_REQUESTS */
    async writing(writer: string): Promise<void> {
      const decision = await limiter.take(`write:${writer}`, writes);
      if (!decision.allowed) throw refusal('The limit of changes is reached.', decision);
    },
  };
}

/** @param name of the policy, as the headers say it */
export function rateLimited(name: string, { limit, windowMs }: RateLimit, decision: RateLimitDecision): RateLimited {
  const policy = `"${name}";q=${limit};w=${Math.ceil(windowMs / 1000)}`;
  return { decision, policy, state: `"${name}";r=${decision.remaining};t=${Math.ceil(decision.resetMs / 1000)}` };
}

export function tooManyRequests({ decision }: RateLimited): DomainError {
  return refusal('The limit of requests is reached.', decision);
}

export function limitHeaders({ policy, state }: RateLimited): Record<string, string> {
  return { 'ratelimit-policy': policy, ratelimit: state };
}

function refusal(sentence: string, { resetMs }: RateLimitDecision): DomainError {
  const seconds = Math.max(1, Math.ceil(resetMs / 1000));
  return new DomainError('TOO_MANY_REQUESTS', `${sentence} Try again in ${seconds} s.`, { retryAfterSeconds: seconds });
}
