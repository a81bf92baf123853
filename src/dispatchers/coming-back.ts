// In which second what goes to the scheduler for not having its turn yet comes back, over all tenants of a dispatcher: 200 of it in a second, since whatever comes
// back too early is two more events.
//
//          wanted ──┐                its tenant's next ──┐
//                   v                                    v
//   ─── from ───│full│full│full│ x │   │   │full│full│full│full│ ─── latest       in the first second with room, or in its tenant's turn where that is sooner
//
// Half of each goes to whoever finds it first. The other half is for those that find all of that taken, each tenant as much as the next: however much some have
// out, one more has its part. Half of that is for what is HIGH, which so waits for nothing that isn't. What would be later than its latest comes back at any time
// until then, with room where there is some: so much may have to come back by then that it is more than 200.

import type { Priority } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';

export interface Owner {
  readonly tenantId: TenantId;
  readonly priority: Priority;
}

/** ms of the monotonic clock: not before `from`, and never later than the latest. */
export interface Span {
  readonly from: number;
  readonly wanted: number;
  readonly latest: number;
}

export interface ComingBack {
  /** @returns ms of the monotonic clock: when it is wanted or later, and of what would be later than its latest any time of the span */
  place(of: Owner, span: Span): number;
  /** It comes back then, whether there is room or not. */
  note(at: number): void;
}

/** What a tenant has placed: when its next turn is, and until when something of it is out. */
interface Turns {
  next: number;
  until: number;
}

const secondMs = 1_000;
/** Two events each and two looks of the scheduler, which fires some 700 a second on two busy cores: 200 of both, and all others' timers have most of that. */
const foundPerSecondMax = 100;
/** 50 a second of HIGH and 50 of the others, of all tenants together. */
const turnEveryMs = 20;
/** Four and a half hours, of 2 bytes a second: 32 KiB. What is later isn't counted. */
const secondsMax = 16_384;
export const latePart = 1 / 4;
/** Of HIGH, and of the others; of some 200 bytes. Whoever is forgotten begins anew. */
const tenantsMax = 5_000;

export function createComingBack({ clock }: { readonly clock: Pick<Clock, 'monotonic' | 'random'> }): ComingBack {
  const placed = new Uint16Array(secondsMax);
  const full = { from: 0, to: 0 };
  let first = secondOf(clock.monotonic());
  const [turnsOfHigh, turnsOfOthers] = [new Map<TenantId, Turns>(), new Map<TenantId, Turns>()];

  /** What is over makes room for as many seconds at the end, and parts for those who have something out still. */
  function moveTo(now: number): void {
    const second = secondOf(now);
    if (second === first) return;
    for (let over = Math.max(first, second - secondsMax); over < second; over++) placed[over % secondsMax] = 0;
    first = second;
    for (const turns of [turnsOfHigh, turnsOfOthers])
      for (const [tenantId, { until }] of turns) if (until <= now) turns.delete(tenantId);
  }

  /** What is full stays so, so the longest run that was met isn't walked through again. */
  function firstWithRoom(second: number): number {
    let one = second;
    while (one < first + secondsMax && (placed[one % secondsMax] ?? 0) >= foundPerSecondMax)
      one = one >= full.from && one < full.to ? full.to : one + 1;
    if (second >= full.from && second < full.to) full.to = one;
    else if (one - second > full.to - full.from) Object.assign(full, { from: second, to: one });
    return one;
  }

  /** When it is wanted, or any time of the first second with room. */
  function roomFrom(wanted: number): number {
    const second = secondOf(wanted);
    const found = firstWithRoom(second);
    return found === second ? wanted : (found + clock.random()) * secondMs;
  }

  function roomOrTurn(own: Turns, tenants: number, wanted: number): number {
    const room = roomFrom(wanted);
    const turn = Math.max(wanted, own.next);
    if (room <= turn) return room;
    own.next = turn + turnEveryMs * tenants;
    return turn;
  }

  function anyTimeOf({ from, latest }: Span): number {
    const any = from + (latest - from) * clock.random();
    const room = roomFrom(any);
    return room <= latest ? room : any;
  }

  function note(at: number): void {
    const second = secondOf(at);
    if (second >= first + secondsMax) return;
    const slot = second % secondsMax;
    placed[slot] = Math.min((placed[slot] ?? 0) + 1, 0xffff);
  }

  return {
    place({ tenantId, priority }, span) {
      const now = clock.monotonic();
      moveTo(now);
      const turns = priority === 'HIGH' ? turnsOfHigh : turnsOfOthers;
      const own = turnsOf(turns, tenantId, now);
      const next = own.next;
      let at = span.wanted > span.latest ? Infinity : roomOrTurn(own, turns.size, span.wanted);
      if (at > span.latest) {
        own.next = next;
        at = anyTimeOf(span);
      }
      own.until = Math.max(own.until, at);
      note(at);
      return at;
    },
    note(at) {
      moveTo(clock.monotonic());
      note(at);
    },
  };
}

function turnsOf(turns: Map<TenantId, Turns>, tenantId: TenantId, now: number): Turns {
  const known = turns.get(tenantId);
  if (known !== undefined) return known;
  const [oldest] = turns.keys();
  if (turns.size >= tenantsMax && oldest !== undefined) turns.delete(oldest);
  const own = { next: now, until: now };
  turns.set(tenantId, own);
  return own;
}

function secondOf(ms: number): number {
  return Math.floor(ms / secondMs);
}
