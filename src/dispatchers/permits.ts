// Whether an attempt may be made now, and by which of its tenant's providers: the tenant's settings, their breakers, then the tenant's own rate for the one
// chosen. Where it may not, no attempt is made and none is burnt.
//
// What waits for a tenant's provider, or its rate, keeps its place: the tenant is passed over, and what there is no room for stays in the log. Of a webhook's
// receivers only one is meant, and the tenant's others are not to wait: it goes to the scheduler. So does what waits for a provider where other tenants would
// wait for it: too many lag on a number, or too much of a lane's memory is held.

import type { Reason } from '../domain/delivery-outcome.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { Breakers, Choice, Pass } from './breakers.ts';
import { deferralMaxMs } from './deferrals.ts';
import type { Deferrals } from './deferrals.ts';
import type { FindMeans, Means, ReadyMeans } from './means.ts';
import type { Pauses } from './pauses.ts';
import type { TakeRate } from './provider-rate.ts';
import type { WorkItem } from './work-item.ts';

export type Permit =
  /** The rest, where there is one, is for what comes after it. */
  | { readonly kind: 'go'; readonly pass: Pass; readonly restMs: number | null }
  | { readonly kind: 'rest'; readonly restMs: number | null }
  /** UTC ms. */
  | { readonly kind: 'defer'; readonly dueAt: number }
  /** The settings can't be had now. */
  | { readonly kind: 'unknown'; readonly err: unknown }
  /** The settings say that it can't be sent. */
  | { readonly kind: 'never'; readonly provider: string; readonly reason: Reason };

type Wait = Extract<Choice, { readonly kind: 'wait' }>;

/** Never rejects. */
export type AskPermit = (item: WorkItem) => Promise<Permit>;

/** What waits for a breaker looks again after this at most: its tenant may have saved another provider. */
const lookMs = 5_000;

export function createAskPermit(by: {
  readonly findMeans: FindMeans;
  readonly breakers: Breakers;
  readonly deferrals: Pick<Deferrals, 'take'>;
  readonly pauses: Pick<Pauses, 'note' | 'end'>;
  /** Whether other tenants wait for what this one has read or left in the log. */
  readonly isInOthersWay: (tenantId: TenantId) => boolean;
  readonly takeRate: TakeRate;
  readonly clock: Pick<Clock, 'monotonic'>;
}): AskPermit {
  const { findMeans, breakers, deferrals, pauses, isInOthersWay, takeRate, clock } = by;

  function waitFor(item: WorkItem, { until, of, awaited }: Wait): Permit {
    const leftMs = Math.max(0, until - clock.monotonic());
    return of === 'tenant' ? waitForTenants(item, awaited, leftMs) : waitInScheduler(item, awaited, leftMs);
  }

  function waitForTenants(item: WorkItem, awaited: string, leftMs: number): Permit {
    const { tenantId, priority } = item.event;
    pauses.note(tenantId, leftMs);
    // What is over in a moment is not worth two events.
    if (leftMs <= lookMs || !isInOthersWay(tenantId)) return { kind: 'rest', restMs: Math.min(leftMs, lookMs) };
    return waitInScheduler(item, awaited, Math.min(leftMs, deferralMaxMs[priority]));
  }

  function waitInScheduler(item: WorkItem, awaited: string, waitMs: number): Permit {
    const { tenantId, priority } = item.event;
    const deferral = deferrals.take({ tenantId, awaited }, priority, waitMs);
    if (deferral.kind === 'paced') return { kind: 'rest', restMs: deferral.restMs };
    return { kind: 'defer', dueAt: deferral.dueAt };
  }

  async function ofReady(item: WorkItem, means: ReadyMeans): Promise<Permit> {
    const choice = breakers.choose(item, means);
    if (choice.kind === 'wait') return waitFor(item, choice);
    pauses.end(item.event.tenantId);
    const { pass } = choice;
    const { role, maxPerSecond } = pass.means;
    if (maxPerSecond === null) return { kind: 'go', pass, restMs: null };
    const { allowed, restMs } = await takeRate(item.event, role, maxPerSecond);
    if (allowed) return { kind: 'go', pass, restMs };
    breakers.note(pass, null);
    return { kind: 'rest', restMs };
  }

  return async (item) => {
    let means: Means;
    try {
      means = await findMeans(item.event.tenantId);
    } catch (err) {
      return { kind: 'unknown', err };
    }
    if (means.kind === 'none') {
      breakers.forget(item);
      return { kind: 'never', provider: means.provider, reason: means.reason };
    }
    return ofReady(item, means);
  };
}
