// Harsher worlds, for what is rare: more processes, partitions and brokers, faults by the dozen over seconds, receivers that refuse and lose more, times that lie
// further ahead. They take three times as long as others, so they are few where all are run; whoever looks for something runs thousands.

import type { Random } from '../chaos/random.ts';
import { isCrowd } from './crowds.ts';
import type { NotificationPlan, Plan, TenantPlan } from './plan.ts';
import { anyFault, anyMove, inTime } from './plan.ts';

/** Seeds from here on are storms, to those of crowds. */
export const stormsFrom = 1_000_000;

export function isStorm(seed: number): boolean {
  return seed >= stormsFrom && !isCrowd(seed);
}

/** A plan in which all of that is so. Where nothing may be sent twice processes still come and go in an orderly way alone. */
export function stormOf(plan: Plan, random: Random): Plan {
  const isOrderly = plan.scenario === 'moves';
  const withinMs = random.of([800, 3_000, 9_000]);
  const faults = Array.from({ length: random.between(3, 14) }, () =>
    isOrderly ? anyMove(random, withinMs) : anyFault(random, withinMs),
  );
  return {
    ...plan,
    partitions: random.between(1, 5),
    brokers: random.of([1, 2, 3]),
    machines: random.between(1, 4),
    hasProjector: plan.hasProjector || random.between(1, 3) === 1,
    tenants: isOrderly ? plan.tenants : plan.tenants.map((tenant) => refusing(tenant, random)),
    notifications: plan.notifications.map((one) => further(one, random)),
    faults: inTime(faults),
    healedAt: Math.max(plan.healedAt, ...faults.map(({ at, forMs }) => at + forMs)) + 1,
  };
}

function refusing(tenant: TenantPlan, random: Random): TenantPlan {
  const { failing: before } = tenant;
  const error = random.of([before.error, 30]);
  const failing = { ...before, error, refused: random.of([0, 10, 40]), lost: random.of([0, 10, 50]) };
  return { ...tenant, failing };
}

const farMs = 10_000;

/** What is to come comes late, and more of it is sent again. */
function further(one: NotificationPlan, random: Random): NotificationPlan {
  // What waits for as long as things are kept is far enough.
  const later = (ms: number | null) => (ms === null || ms > farMs ? ms : ms * random.of([1, 1, 4]));
  const { sendAfterMs, cancelAfterMs } = one;
  const retryAfterMs = one.retryAfterMs ?? (random.between(1, 3) === 1 ? random.between(300, 6_000) : null);
  return { ...one, sendAfterMs: later(sendAfterMs), cancelAfterMs: later(cancelAfterMs), retryAfterMs };
}
