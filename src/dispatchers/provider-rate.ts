// A tenant's own rate for its provider of this channel, held over all processes that deliver on it.

import type { Channel, ProviderRole } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import type { RateLimitDecision, RateLimiter } from '../ports/rate-limiter.ts';

/** Takes one of the tenant's `maxPerSecond`, before an attempt. Never rejects. */
export type TakeRate = (tenantId: TenantId, role: ProviderRole, maxPerSecond: number) => Promise<RateLimitDecision>;

const windowMs = 1000;

export function createTakeRate(by: { channel: Channel; limiter: Pick<RateLimiter, 'pace'> }): TakeRate {
  const { channel, limiter } = by;
  return (tenantId, role, maxPerSecond) => {
    const of = `provider:${tenantId}:${channel}`;
    return limiter.pace(role === 'primary' ? of : `${of}:${role}`, { limit: maxPerSecond, windowMs });
  };
}
