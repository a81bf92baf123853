// A tenant's own rate for its provider of this channel, held over all processes that deliver on it, and taken by them in turn.
//
// All who wait know when the next window begins. Asked for by all at that moment, each would go whole to whoever is nearest to the limiter, and lanes count
// within a process alone. So a process asks the later the more it owes the others:
//
//   window  [                                        ]
//   asks    ^ it lost the ones before    ^ it had them, for BULK: a tenth of the window later
//
// What it takes it owes, HIGH a fourteenth of BULK, as between lanes. What others had of a window is taken off: of what it owes for BULK as if that had been
// HIGH, of all else wholly. So two of one lane have windows in turn (a tenant's work is on two numbers, hardly ever more than two processes'), HIGH has some seven
// for one of BULK, and whoever is farther by less than the tenth is never left out. Windows follow one another without a gap, so a process alone loses nothing:
// its windows all begin as much later.

import type { Channel, Priority, ProviderRole } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { RateLimiter } from '../ports/rate-limiter.ts';
import { laneWeights } from './lanes.ts';

export interface RateTaken {
  readonly allowed: boolean;
  /** ms after which it is worth asking again; null: some of this window is left. */
  readonly restMs: number | null;
}

/** Takes one of the tenant's `maxPerSecond`, before an attempt. Never rejects. */
export type TakeRate = (
  of: { readonly tenantId: TenantId; readonly priority: Priority },
  role: ProviderRole,
  maxPerSecond: number,
) => Promise<RateTaken>;

const windowMs = 1000;
/** How much later who owes a whole window of BULK asks for the next: more than limiters are apart, or a busy thread is late. */
const laterMaxMs = 100;
/** How much of what a process owes is taken off for a window that others had, where the most urgent that it has waiting is this. */
const paidOff: Readonly<Record<Priority, number>> = { HIGH: 1, DEFAULT: 1, BULK: laneWeights.BULK / laneWeights.HIGH };
/** Rates of which something was taken in this window or the last: some 200 bytes each. Past it the one that began its window first owes nothing. */
const ratesMax = 10_000;

/** What this process has of a window. */
interface Had {
  /** Monotonic ms. */
  readonly endsAt: number;
  /** From the windows before, in whole ones of BULK: 0 to 1. */
  readonly owedBefore: number;
  taken: number;
  /** Of what was taken, in takes of BULK. */
  cost: number;
  paidOff: number;
}

export function createTakeRate(by: {
  readonly channel: Channel;
  readonly limiter: Pick<RateLimiter, 'pace'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}): TakeRate {
  const { channel, limiter, clock } = by;
  const rates = new Map<string, Had>();

  function hadOf(key: string, limit: number, resetMs: number): Had {
    const now = clock.monotonic();
    const known = rates.get(key);
    // Its end is told as exactly as answers come: another window's is a whole one off.
    if (known !== undefined && now + resetMs < known.endsAt + windowMs / 2) return known;
    const isNext = known !== undefined && now < known.endsAt + windowMs;
    const had = { endsAt: now + resetMs, owedBefore: isNext ? owed(known, limit) : 0, taken: 0, cost: 0, paidOff: 0 };
    rates.delete(key);
    for (const [first, { endsAt }] of rates) {
      if (rates.size < ratesMax && now < endsAt + windowMs) break;
      rates.delete(first);
    }
    rates.set(key, had);
    return had;
  }

  return async ({ tenantId, priority }, role, maxPerSecond) => {
    const of = `provider:${tenantId}:${channel}`;
    const key = role === 'primary' ? of : `${of}:${role}`;
    const { allowed, remaining, resetMs } = await limiter.pace(key, { limit: maxPerSecond, windowMs });
    const had = hadOf(key, maxPerSecond, resetMs);
    had.paidOff = Math.max(had.paidOff, paidOff[priority]);
    if (allowed) {
      had.taken++;
      had.cost += laneWeights.BULK / laneWeights[priority];
    }
    if (remaining > 0) return { allowed, restMs: null };
    // Whoever needs nearly all of a window for its attempts begins as early as it can.
    return { allowed, restMs: resetMs + Math.min(owed(had, maxPerSecond) * laterMaxMs, resetMs / 2) };
  };
}

/** Once the window is used up, in whole ones of BULK. */
function owed(had: Had, limit: number): number {
  const others = Math.max(0, 1 - had.taken / limit);
  return Math.min(Math.max(had.owedBefore + had.cost / limit - others * had.paidOff, 0), 1);
}
