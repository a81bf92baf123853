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
// what comes back doesn't get more with the time that nothing answers, so nothing else of the tenant waits for it, and no other tenant for all of them. It ends
// an hour after the wait, of HIGH five minutes, since what is out can't be called back once the receiver is up: what is more comes back at any time until then,
// no longer at the pace of its tenant. The first of a line are behind nobody: a receiver that fails for a second is called again after it.

import type { Priority } from '../domain/events.ts';
import { priorities } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import { latePart } from './coming-back.ts';
import type { ComingBack } from './coming-back.ts';

/** For what is waited: a tenant's provider, or one of its receivers. */
export interface WaitedFor {
  readonly tenantId: TenantId;
  readonly awaited: string;
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
/** 25 a second of a tenant: an eighth of all. */
const backEveryMs = 40;
/** So many of a line come back when they are wanted, whatever else is out, and in a second so many of a tenant's lines: a second of its pace. */
const freshMax = 25;
/**
 * Behind the wait. A round is two events of each, so what waits for its tenant's provider in a pause of a day has some twenty rounds; of what is urgent, and
 * little, two hundred.
 */
export const deferralMaxMs: Readonly<Record<Priority, number>> = {
  HIGH: 5 * 60_000,
  DEFAULT: 60 * 60_000,
  BULK: 60 * 60_000,
};
/** What few are doesn't come back together either, to a receiver that is just up: over a quarter of their wait, and over a second at least. */
const spreadMinMs = 1_000;
/** Receivers, by priority, for which something is out: as many as there are breakers, of some 400 bytes each. Past it the line that began first is forgotten. */
const linesMax = 10_000;

/** What is out for one receiver, of one priority: what is urgent waits behind no flood. */
interface Line {
  readonly of: LinesOf;
  /** Monotonic ms of the place behind its last. */
  endsAt: number;
  /** How many it was given since there was none before it that it waited for. */
  count: number;
}

/** The lines of one tenant, and their counts together. */
interface LinesOf {
  readonly tenantId: TenantId;
  lines: number;
  count: number;
  /** Monotonic ms: in a second before it there is no room for more that is fresh. */
  freshUntil: number;
}

export function createDeferrals(by: {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'random'>;
  readonly comingBack: ComingBack;
}): Deferrals {
  const { clock, comingBack } = by;
  const taken = new Map<TenantId, number>();
  /** Who wanted more than it was given. */
  const refused = new Set<TenantId>();
  let takenOfAll = 0;
  /** Of a tenant, by what was wanted in the window before. */
  let perTenant = perTenantMax;
  let windowEnds = 0;
  const lines = new Map<string, Line>();
  const linesOf = new Map<TenantId, LinesOf>();

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
    line.of.count -= line.count;
    if (--line.of.lines === 0) linesOf.delete(line.of.tenantId);
  }

  function lineOf(tenantId: TenantId, name: string, now: number): Line {
    const known = lines.get(name);
    if (known !== undefined) return known;
    const [first] = lines.keys();
    if (lines.size >= linesMax && first !== undefined) forget(first);
    const of = linesOf.get(tenantId) ?? { tenantId, lines: 0, count: 0, freshUntil: now };
    linesOf.set(tenantId, of);
    of.lines++;
    const line = { of, endsAt: now, count: 0 };
    lines.set(name, line);
    return line;
  }

  /** Of what its tenant may have back a line has as much as it was given, and no less than each of the tenant's other lines: one webhook takes nothing from a flood. */
  function gapMs({ of, count }: Line): number {
    return backEveryMs * Math.min(of.lines, of.count / count);
  }

  /** Monotonic ms. */
  function placeIn(line: Line, priority: Priority, waitMs: number): number {
    const now = clock.monotonic();
    const next = Math.max(line.endsAt, now + waitMs);
    const before = line.endsAt > now + waitMs ? line.count : 0;
    line.of.count += before + 1 - line.count;
    line.count = before + 1;
    const spreadMs = Math.max(waitMs * latePart, spreadMinMs) * clock.random();
    const from = now + waitMs;
    const wanted = Math.max(next, from + spreadMs);
    const latest = from + Math.max(waitMs * latePart, deferralMaxMs[priority]);
    if (isFresh(line, now)) {
      line.endsAt = next + gapMs(line);
      comingBack.note(from + spreadMs);
      return from + spreadMs;
    }
    const place = comingBack.place({ tenantId: line.of.tenantId, priority }, { from, wanted, latest });
    line.endsAt = Math.min(next, latest) + gapMs(line) + Math.max(0, place - wanted);
    return place;
  }

  function isFresh({ of, count }: Line, now: number): boolean {
    if (count > freshMax || of.freshUntil > now + windowMs - backEveryMs) return false;
    of.freshUntil = Math.max(of.freshUntil, now) + backEveryMs;
    return true;
  }

  return {
    take({ tenantId, awaited }, priority, waitMs) {
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
      const line = lineOf(tenantId, nameOf(awaited, priority), now);
      return { kind: 'until', dueAt: Math.round(clock.now() + placeIn(line, priority, waitMs) - now) };
    },
    end({ awaited }) {
      if (lines.size === 0) return;
      for (const priority of priorities) forget(nameOf(awaited, priority));
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

function nameOf(awaited: string, priority: Priority): string {
  return `${priority}\n${awaited}`;
}
