// How much is deferred in a second since a provider, or a webhook's receiver, isn't to be called now, and when it comes back. Each deferral is two more events
// of the log and a timer, and as long as nothing answers there whatever comes back is deferred once more: both have a pace, of a tenant and of all together.
//
//   work ──> 100 a second of a tenant, 500 of all ──> scheduler ──┐
//    ^                                                            │ a probe is enough: the others come in line behind it,
//    └──────────── 25 a second of a tenant, 200 of all <──────────┘ so that new work has three quarters of the pace
//
// Where tenants want more than all may have, those who want least have all of it and the others the same: with forty floods ten a second each.
//
// A flood for one dead receiver is deferred at this pace, and the tenant's other receivers get their turns between. How much is out says how long its line is:
// what comes back doesn't get more with the time that nothing answers, so nothing else of the tenant waits for it, and no other tenant for all of them.

import type { Priority } from '../domain/events.ts';
import { priorities } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';

/** For what is waited: a tenant's provider, or one of its receivers, as its breaker is named. */
export interface WaitedFor {
  readonly tenantId: TenantId;
  readonly key: string;
}

export type Deferral =
  /** UTC ms. */
  | { readonly kind: 'until'; readonly dueAt: number }
  /** No more of the tenant for so long. */
  | { readonly kind: 'paced'; readonly restMs: number };

export interface Deferrals {
  /** @param waitMs it isn't to be called before */
  take(of: WaitedFor, priority: Priority, waitMs: number): Deferral;
  /** It has taken something: who comes next waits behind nobody. */
  end(of: WaitedFor): void;
}

const windowMs = 1_000;
/** Twice as many events: a fifth of what one number of the log takes, and a tenant has two. */
const perTenantMax = 100;
const ofAllMax = 500;
/** The rest is for those who come while others take what they may. */
const ofKnownMax = 400;
/** Two events each and two looks of the scheduler, which fires some 700 a second on two busy cores: all others' timers are to have most of that. */
const backPerTenantMax = 25;
const backOfAllMax = 200;
/** What few are doesn't come back together either, to a receiver that is just up: over a quarter of their wait, and over a second at least. */
const spread = 0.25;
const spreadMinMs = 1_000;
/** Receivers, by priority, for which something is out: as many as there are breakers, of some 300 bytes each. Past it the line that began first is forgotten. */
const linesMax = 10_000;

/** What is out for one receiver, of one priority: what is urgent waits behind no flood. */
interface Line {
  readonly tenantId: TenantId;
  /** Monotonic ms of the place behind its last. */
  endsAt: number;
}

export function createDeferrals(by: { readonly clock: Pick<Clock, 'now' | 'monotonic' | 'random'> }): Deferrals {
  const { clock } = by;
  const taken = new Map<TenantId, number>();
  /** Who wanted more than it was given. */
  const refused = new Set<TenantId>();
  let takenOfAll = 0;
  /** Of a tenant, by what was wanted in the window before. */
  let perTenant = perTenantMax;
  let windowEnds = 0;
  const lines = new Map<string, Line>();
  /** How many each tenant has. */
  const linesOf = new Map<TenantId, number>();

  function beginWindow(now: number): void {
    const isKnown = now < windowEnds + windowMs;
    perTenant = isKnown
      ? levelOf([...taken].map(([tenantId, count]) => (refused.has(tenantId) ? Infinity : count)))
      : perTenantMax;
    taken.clear();
    refused.clear();
    takenOfAll = 0;
    windowEnds = now + windowMs;
    for (const [name, { endsAt }] of lines) if (endsAt <= now) forget(name);
  }

  function forget(name: string): void {
    const line = lines.get(name);
    if (line === undefined) return;
    lines.delete(name);
    const left = (linesOf.get(line.tenantId) ?? 0) - 1;
    if (left > 0) linesOf.set(line.tenantId, left);
    else linesOf.delete(line.tenantId);
  }

  function lineOf(tenantId: TenantId, name: string, now: number): Line {
    const known = lines.get(name);
    if (known !== undefined) return known;
    const [first] = lines.keys();
    if (lines.size >= linesMax && first !== undefined) forget(first);
    const line = { tenantId, endsAt: now };
    lines.set(name, line);
    linesOf.set(tenantId, (linesOf.get(tenantId) ?? 0) + 1);
    return line;
  }

  /** From one of a line to the next: tenants have equal parts of what may come back, and the lines of each of its. */
  function gapMs(tenantId: TenantId): number {
    const ofTenantMs = Math.max(windowMs / backPerTenantMax, (windowMs / backOfAllMax) * linesOf.size);
    return ofTenantMs * (linesOf.get(tenantId) ?? 1);
  }

  return {
    take({ tenantId, key }, priority, waitMs) {
      const now = clock.monotonic();
      if (now >= windowEnds) beginWindow(now);
      const before = taken.get(tenantId) ?? 0;
      const isPaced = before >= perTenant || takenOfAll >= ofAllMax;
      taken.set(tenantId, isPaced ? before : before + 1);
      if (isPaced) {
        refused.add(tenantId);
        return { kind: 'paced', restMs: windowEnds - now };
      }
      takenOfAll++;
      const line = lineOf(tenantId, nameOf(key, priority), now);
      const place = Math.max(line.endsAt, now + waitMs);
      line.endsAt = place + gapMs(tenantId);
      const spreadMs = Math.max(waitMs * spread, spreadMinMs) * clock.random();
      return { kind: 'until', dueAt: Math.round(clock.now() + Math.max(place - now, waitMs + spreadMs)) };
    },
    end({ key }) {
      if (lines.size === 0) return;
      for (const priority of priorities) forget(nameOf(key, priority));
    },
  };
}

/** How much each may have so that all together have no more than they may, who wants less having all of that. */
function levelOf(wanted: readonly number[]): number {
  let left = ofKnownMax;
  for (const [i, one] of wanted.toSorted((a, b) => a - b).entries()) {
    const even = left / (wanted.length - i);
    if (one > even) return Math.min(even, perTenantMax);
    left -= one;
  }
  return perTenantMax;
}

function nameOf(key: string, priority: Priority): string {
  return `${priority}\n${key}`;
}
