// A tenant's own rate for its provider of this channel, held over all processes that deliver on it.

import type { Channel } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import type { RateLimitDecision, RateLimiter } from '../ports/rate-limiter.ts';

/** Takes one of the tenant's `maxPerSecond`, before an attempt. Never rejects. */
export type TakeRate = (tenantId: TenantId, maxPerSecond: number) => Promise<RateLimitDecision>;

/** The window begins with its first attempt. */
const windowMs = 1000;

export function createTakeRate(by: { channel: Channel; limiter: Pick<RateLimiter, 'take'> }): TakeRate {
  const { channel, limiter } = by;
  return (tenantId, maxPerSecond) => limiter.take(`provider:${tenantId}:${channel}`, { limit: maxPerSecond, windowMs });
}
