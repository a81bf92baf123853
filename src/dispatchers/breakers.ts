// The breakers of a dispatcher, each process its own: one for each (tenant, provider as it is saved), and for webhooks one for each (tenant, origin), so that
// one dead receiver of a tenant's is nobody else's delay, its own other receivers' neither.

import type { Breaker, BreakerState, Sign } from '../domain/breaker.ts';
import { admit, afterAttempt, closedBreaker, stateOf } from '../domain/breaker.ts';
import { retryAfterMaxMs } from '../domain/delivery-outcome.ts';
import type { DeliveryOutcome } from '../domain/delivery-outcome.ts';
import { providerRoles } from '../domain/events.ts';
import type { Channel, ProviderRole, WorkEvent } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import type { RetryPolicy } from '../domain/retry-policy.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { MetricLabels, Metrics } from '../ports/metrics.ts';
import { createKeptBreakers } from './kept-breakers.ts';
import type { ReadyMeans } from './means.ts';
import type { WorkItem } from './work-item.ts';

/** An attempt that may be made; how it went is to be noted once. */
export interface Pass {
  readonly means: ReadyMeans;
  readonly tenantId: TenantId;
  readonly key: string;
  /** What waits for any of its providers, or for its receiver, is named so. */
  readonly awaited: string;
  readonly isProbe: boolean;
}

export type Choice =
  | { readonly kind: 'go'; readonly pass: Pass }
  /** Monotonic ms. Where only one of the tenant's receivers is meant, its others don't wait. */
  | { readonly kind: 'wait'; readonly until: number; readonly of: 'tenant' | 'receiver'; readonly awaited: string };

export interface Breakers {
  /** The first provider that may be used now, by which this attempt is to be made. Of those that were saved otherwise before nothing is kept from then on. */
  choose(item: WorkItem, means: ReadyMeans): Choice;
  /** Its tenant has no provider for it any more: nothing is kept of those that it had. */
  forget(item: WorkItem): void;
  /**
   * @param outcome null: no attempt was made after all
   * @returns whether it says that the provider, or the receiver, is up
   */
  note(pass: Pass, outcome: DeliveryOutcome | null): boolean;
  /** Monotonic ms until when the latest of a tenant's open ones is; null: none is open. */
  openUntil(tenantId: TenantId, role: ProviderRole): number | null;
}

/** Another provider is there: changing over costs nothing. */
const failuresMaxBesideOther = 3;
/** Without one an attempt that waits is late: receivers that fail at random in a third of calls hardly ever open it (0.3^10). */
const failuresMaxAlone = 10;
/** Breakers that aren't closed and clean, of 400 bytes each, of 900 where each is another tenant's: 9 MiB. What is given up past it is closed. */
const breakersMax = 10_000;
/** Series of a channel that name a tenant: a provider that is down for all is in `herald_breakers`, whose it is in the log lines. */
const longestMax = 20;
/** What was not tried for so long after its time has nothing that waits for it: as long as the longest pause before a try. */
const idleMaxMs = 10 * 60_000;

/** A breaker that isn't closed and clean, and whose it is. */
interface Kept {
  readonly breaker: Breaker;
  readonly tenantId: TenantId;
  readonly role: ProviderRole;
  readonly provider: string;
  /** Monotonic ms since when it hasn't been closed. */
  readonly since: number;
  /** Of the settings: another key or another server begins anew. */
  readonly version: number;
}

export function createBreakers(by: {
  readonly channel: Channel;
  readonly retryPolicy: RetryPolicy;
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'random'>;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Told of a tenant whose breakers have opened, opened again or closed. */
  readonly changed?: (tenantId: TenantId, role: ProviderRole) => void;
}): Breakers {
  const { channel, retryPolicy, clock, logger, metrics, changed } = by;
  const kept = createKeptBreakers<Kept>(breakersMax);
  /**
   * Nothing is kept for longer than its retries would have taken: what never works again ends all the same. While a pause holds that the receiver asked for, the
   * longest that anybody may ask for comes on top: whoever asks anew each time keeps nothing for ever.
   */
  const keptMaxMs = retryPolicy.delaysMs[channel].reduce((sum, delayMs) => sum + delayMs, 0);

  metrics.increment('herald_breakers_opened_total', { channel }, 0);
  for (const state of ['open', 'half-open'] as const) {
    metrics.gauge('herald_breakers', () => count(state), { channel, state });
  }
  // Receivers of webhooks are their tenants' own, and one or another is always dead.
  if (channel !== 'WEBHOOK') metrics.gauges('herald_breaker_open_seconds', openLongest, { channel });

  function count(state: BreakerState): number {
    const now = clock.monotonic();
    let found = 0;
    for (const { breaker } of kept.values()) if (stateOf(breaker, now) === state) found++;
    return found;
  }

  /** By tenant and provider, those that have been open for longest. */
  function openLongest(): readonly (readonly [MetricLabels, number])[] {
    const now = clock.monotonic();
    const open = [...kept.values()].filter(({ breaker }) => breaker.kind === 'open' && now < breaker.until + idleMaxMs);
    return open
      .toSorted((a, b) => a.since - b.since)
      .slice(0, longestMax)
      .map(({ tenantId, provider, since }) => [{ tenant: tenantId, provider }, (now - since) / 1000]);
  }

  function breakerOf(key: string, means: ReadyMeans): Breaker {
    const known = kept.get(key);
    return known?.version === versionOf(means) ? known.breaker : closedBreaker;
  }

  function keep(key: string, tenantId: TenantId, means: ReadyMeans, breaker: Breaker): void {
    const before = kept.get(key);
    const version = versionOf(means);
    const wasOpen = before?.breaker.kind === 'open' && before.version === version;
    const since = wasOpen ? before.since : clock.monotonic();
    if (breaker.kind === 'closed' && breaker.failures === 0) kept.delete(key);
    else kept.set(key, { breaker, tenantId, role: means.role, provider: means.provider.name, since, version });
  }

  /** @param version that is saved now; null: none is */
  function forgetOthers(key: string, version: number | null): void {
    const known = kept.get(key);
    if (known === undefined || known.version === version) return;
    kept.delete(key);
    const { tenantId, provider, role, breaker } = known;
    if (breaker.kind === 'closed') return;
    logger.info('a breaker is forgotten, its provider was saved anew or is gone', {
      channel,
      tenantId,
      provider,
      role,
    });
    changed?.(tenantId, role);
  }

  /** The pass, or until when there is none. */
  function ask(item: WorkItem, means: ReadyMeans): Pass | number {
    const { tenantId } = item.event;
    const key = keyOf(item, means.role);
    forgetOthers(key, versionOf(means));
    const before = breakerOf(key, means);
    const { admission, breaker } = admit(before, clock.monotonic());
    if (breaker !== before) keep(key, tenantId, means, breaker);
    if (admission.kind === 'wait') return admission.until;
    return { means, tenantId, key, awaited: awaitedOf(item), isProbe: admission.kind === 'probe' };
  }

  function isKeptTooLong({ event }: WorkItem, key: string): boolean {
    const known = kept.get(key);
    const waitedMs = waitedOf(event, known?.since ?? clock.monotonic());
    const isPaused = known?.breaker.kind === 'open' && known.breaker.isAsked && clock.monotonic() < known.breaker.until;
    return waitedMs > keptMaxMs + (isPaused ? retryAfterMaxMs : 0);
  }

  /** What a person sends again waits since then alone. What is due of such a round doesn't tell when that was: it counts from when the breaker opened. */
  function waitedOf(event: WorkEvent, openSince: number): number {
    if (event.type === 'RetryRequested') return clock.now() - event.occurredAt;
    const waitedMs = clock.now() - Math.max(event.requestedAt, event.request.sendAt ?? 0);
    return event.round === 1 ? waitedMs : Math.min(waitedMs, clock.monotonic() - openSince);
  }

  function tell({ means, tenantId }: Pass, before: Breaker, after: Breaker): void {
    const { role, provider } = means;
    const line = { channel, tenantId, provider: provider.name, role };
    if (after.kind === 'open') {
      if (before.kind === 'open' && before.until === after.until) return;
      const forMs = Math.round(after.until - clock.monotonic());
      if (before.kind === 'closed') metrics.increment('herald_breakers_opened_total', { channel });
      logger.info('a breaker opens', { ...line, forMs, isAsked: after.isAsked });
    } else {
      if (before.kind === 'closed') return;
      logger.info('a breaker closes', line);
    }
    changed?.(tenantId, role);
  }

  return {
    choose(item, means) {
      const first = ask(item, means);
      if (means.fallback === null && means.role === 'primary' && channel !== 'WEBHOOK')
        forgetOthers(keyOf(item, 'fallback'), null);
      if (typeof first !== 'number') return { kind: 'go', pass: first };
      const second = means.fallback === null ? Infinity : ask(item, means.fallback);
      if (typeof second !== 'number') return { kind: 'go', pass: second };
      const key = keyOf(item, means.role);
      const awaited = awaitedOf(item);
      if (isKeptTooLong(item, key))
        return { kind: 'go', pass: { means, tenantId: item.event.tenantId, key, awaited, isProbe: false } };
      return {
        kind: 'wait',
        until: Math.min(first, second),
        of: channel === 'WEBHOOK' ? 'receiver' : 'tenant',
        awaited,
      };
    },
    forget(item) {
      for (const role of providerRoles) forgetOthers(keyOf(item, role), null);
    },
    note(pass, outcome) {
      const { means, tenantId, key, isProbe } = pass;
      const before = breakerOf(key, means);
      const sign = outcome === null ? ({ kind: 'none' } as const) : signOf(outcome, means);
      const failuresMax = hasOther(means) ? failuresMaxBesideOther : failuresMaxAlone;
      const after = afterAttempt(before, { sign, isProbe, failuresMax }, clock.monotonic(), clock.random());
      // What began before its provider was saved anew says nothing of what is saved now.
      const isOutdated = (kept.get(key)?.version ?? 0) > versionOf(means);
      if (after !== before && !isOutdated) {
        keep(key, tenantId, means, after);
        tell(pass, before, after);
      }
      return sign.kind === 'up';
    },
    openUntil(tenantId, role) {
      let until: number | null = null;
      for (const one of kept.values()) {
        const { breaker } = one;
        if (breaker.kind !== 'open' || one.tenantId !== tenantId || one.role !== role) continue;
        until = Math.max(until ?? 0, breaker.until);
      }
      return until;
    },
  };
}

function keyOf(item: WorkItem, role: ProviderRole): string {
  const { tenantId, channel } = item.event;
  return channel === 'WEBHOOK' ? awaitedOf(item) : `${tenantId}\n${role}`;
}

function awaitedOf({ event }: WorkItem): string {
  const { tenantId, channel, recipient } = event;
  return channel === 'WEBHOOK' ? `${tenantId}\n${originOf(recipient)}` : tenantId;
}

/** What is saved of a WEBHOOK signs, and says nothing of whether its receivers answer. */
function versionOf({ provider, settings }: ReadyMeans): number {
  return provider.channel === 'WEBHOOK' ? 0 : (settings?.updatedAt ?? 0);
}

function originOf(url: string): string {
  return /^[a-z]+:\/\/[^/?#]*/i.exec(url)?.[0].toLowerCase() ?? url;
}

/** What the outcome says of the provider, or of a webhook's receiver: whoever answers that something is wrong with the message, or its recipient, is up. */
function signOf(outcome: DeliveryOutcome, means: ReadyMeans): Sign {
  if (outcome.kind === 'delivered') return { kind: 'up' };
  const { failureClass } = outcome.reason;
  if (failureClass === 'system' || failureClass === 'blocked') return { kind: 'none' };
  if (outcome.kind === 'retryable') {
    const { retryAfterMs } = outcome;
    if (retryAfterMs !== null && retryAfterMs > 0) return { kind: 'pause', ms: retryAfterMs };
    return failureClass === 'recipient' || failureClass === 'content' ? { kind: 'up' } : { kind: 'down' };
  }
  // Where there is no other provider nothing is gained by waiting: the tenant has to see it. And whoever is refused for one recipient sends to others.
  const isOfAll = failureClass === 'credentials' && outcome.isUnserved !== true;
  return isOfAll && hasOther(means) ? { kind: 'refused' } : { kind: 'up' };
}

/**
 * Beside another provider a refusal of the credentials doesn't end it, and a pause that is asked for isn't waited for: the next attempt may go by the other.
 * So a fallback that is set up badly ends nothing either.
 */
export function besideOther(outcome: DeliveryOutcome, means: ReadyMeans): DeliveryOutcome {
  if (outcome.kind === 'delivered' || !hasOther(means)) return outcome;
  if (outcome.kind === 'rejected' && !mayGoByOther(outcome, means)) return outcome;
  return { kind: 'retryable', reason: outcome.reason, retryAfterMs: null };
}

/**
 * Whom the first one isn't open for (a region that fraud is expected from) gets nothing by the second either. But where that one stands in, its own regions
 * end nothing that the first sends once it is back.
 */
function mayGoByOther({ reason, isUnserved }: Rejected, { role }: ReadyMeans): boolean {
  return isUnserved === true ? role === 'fallback' : reason.failureClass === 'credentials';
}

type Rejected = Extract<DeliveryOutcome, { kind: 'rejected' }>;

function hasOther({ role, fallback }: ReadyMeans): boolean {
  return role === 'fallback' || fallback !== null;
}
