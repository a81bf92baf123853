// Crowds: many tenants, of whom some have a rate, some receivers that are down for a while and some none that ever answers, and hardly anybody may have surplus in
// the log, so that it is deferred to its turn and comes back. They take ten times as long as others: where all are run they are few.

import { accountLimits } from '../../src/dispatchers/partition-account.ts';
import { priorities } from '../../src/domain/events.ts';
import type { Random } from '../chaos/random.ts';
import { createRandom } from '../chaos/random.ts';
import type { Fault, NotificationPlan, Plan, TenantPlan } from './plan.ts';
import { anyFault, anyMove, inTime, notification, nothingFails, quietTenant } from './plan.ts';

/** Seeds from here on are crowds. */
export const crowdsFrom = 2_000_000;

export function isCrowd(seed: number): boolean {
  return seed >= crowdsFrom;
}

export function crowdOf(seed: number): Plan {
  const random = createRandom(seed);
  const tenants = Array.from({ length: random.between(3, 14) }, (_, n) => anyTenant(random, n));
  const loadMs = random.of([300, 2_000, 6_000]);
  const notifications = tenants.flatMap((tenant, n) => wantedOf(tenant, { n, loadMs, random }));
  const withinMs = random.of([2_000, 8_000]);
  const faults = anyFaults(random, withinMs);
  const inFlightMax = random.of([8, 16, 64]);
  return {
    seed,
    scenario: 'crowd',
    channel: random.of(['WEBHOOK', 'SMS']),
    partitions: random.between(1, 2),
    brokers: random.of([1, 2]),
    machines: random.between(1, 3),
    hasProjector: random.between(1, 4) === 1,
    pollStretch: random.of([5, 20]),
    answerMax: random.of([3, 1000, 1000]),
    settingsMs: random.of([0, 0, 500]),
    turnMs: 0.05,
    clocksMs: 0,
    inFlightMax,
    inFlightHighOnly: Math.floor(inFlightMax / 4),
    inFlightPerTenantMax: random.of([2, 8]),
    account: {
      eventsMax: random.of([4, 10, 30]),
      laggardsMax: random.of([0, 1, 3]),
      heldMax: random.of([1, 3, accountLimits.heldMax]),
      leavingMax: random.of([1, 4, accountLimits.leavingMax]),
      leavingBytesMax: random.of([1, accountLimits.leavingBytesMax]),
    },
    retryDelaysMs: random.of([[150, 500], [300], [100, 300, 700]]),
    tenants,
    notifications: inTime(notifications),
    jobs: [],
    erasures: [],
    retention: null,
    rebuilds: [],
    keyed: [],
    keysLostAt: null,
    keyedAheadMs: 0,
    faults: inTime(faults),
    healedAt:
      Math.max(loadMs, ...faults.map(({ at, forMs }) => at + forMs), ...tenants.map(({ down }) => down?.to ?? 0)) + 1,
  };
}

/** In a third nothing goes wrong but the receivers, in another one processes come and go in an orderly way. */
function anyFaults(random: Random, withinMs: number): Fault[] {
  const faulty = random.of(['nothing', 'moves', 'anything'] as const);
  if (faulty === 'nothing') return [];
  return Array.from({ length: random.between(1, 6) }, () =>
    faulty === 'moves' ? anyMove(random, withinMs) : anyFault(random, withinMs),
  );
}

function anyTenant(random: Random, n: number): TenantPlan {
  const quiet = { ...quietTenant(n), answerMs: random.of([5, 50, 400]), hasFallback: random.between(1, 4) === 1 };
  switch (random.of(['quick', 'quick', 'rated', 'rated', 'down', 'down', 'silent'] as const)) {
    case 'rated':
      return { ...quiet, maxPerSecond: random.of([1, 2, 5]) };
    case 'down': {
      const from = random.of([0, 0, random.between(0, 3_000)]);
      return { ...quiet, down: { from, to: from + random.between(500, 20_000), how: 'error' } };
    }
    case 'silent':
      return { ...quiet, failing: { ...nothingFails, hang: 100 } };
    default:
      return quiet;
  }
}

/** Of some a flood that is there at once, of others a few now and then. */
function wantedOf(
  { maxPerSecond }: TenantPlan,
  { n, loadMs, random }: { readonly n: number; readonly loadMs: number; readonly random: Random },
): NotificationPlan[] {
  const isFlood = random.between(1, 3) === 1;
  const floodMax = maxPerSecond === null ? 40 : 15 * maxPerSecond;
  const at = random.between(0, loadMs);
  const priority = random.of(priorities);
  return Array.from({ length: isFlood ? random.between(10, floodMax) : random.between(1, 6) }, () => {
    const one = notification({
      at: isFlood ? at + random.between(0, 100) : random.between(0, loadMs),
      tenant: n,
      priority: isFlood ? priority : random.of(priorities),
    });
    const isCancelled = random.between(1, 8) === 1;
    const expires = random.between(1, 10) === 1;
    return {
      ...one,
      cancelAfterMs: isCancelled ? random.between(1, 4_000) : null,
      expiresAfterMs: expires ? random.between(500, 20_000) : null,
    };
  });
}
