// In which second what goes to the scheduler for not having its turn yet comes back, over all tenants of a dispatcher: 200 of it in a second, since whatever comes
// back too early is two more events.
//
//   wanted ──┐
//            v
//   ───│full│full│full│ x │   │   │ ───       in the first second with room from then on, or from its latest where it is wanted later
//
// Half of each is for those tenants that have little out: however many have much, and in however many lines, they take the other half alone.

import type { TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';

/** ms of the monotonic clock, all of them. */
export interface ComingBack {
  /** @returns when it is wanted, or its latest where that is sooner; where there is no room then, the first time after it that has some */
  place(tenantId: TenantId, wanted: number, latest: number): number;
  /** It comes back then, whether there is room or not. */
  note(tenantId: TenantId, at: number): void;
}

/** What of a tenant is about to come back: how many, and how long from `at` on for all of them together. */
interface Out {
  count: number;
  leftMs: number;
  at: number;
}

const secondMs = 1_000;
/** Two events each and two looks of the scheduler, which fires some 700 a second on two busy cores: all others' timers are to have most of that. */
const perSecondMax = 200;
const perSecondOfMuchMax = 100;
/** A minute of what comes back of one tenant. */
const littleMax = 1_500;
/** Four and a half hours, of 4 bytes a second: 64 KiB. Later is what a receiver has asked for itself, which isn't counted, and what finds all of them full. */
const secondsMax = 16_384;
export const latePart = 1 / 4;
/** Of some 200 bytes. Of whoever is forgotten nothing counts as out. */
const tenantsMax = 10_000;

export function createComingBack({ clock }: { readonly clock: Pick<Clock, 'monotonic' | 'random'> }): ComingBack {
  const placed = new Uint16Array(secondsMax);
  const placedOfMuch = new Uint16Array(secondsMax);
  const [full, fullOfMuch] = [
    { from: 0, to: 0 },
    { from: 0, to: 0 },
  ];
  let first = secondOf(clock.monotonic());
  /** By when something of them was placed last. */
  const outs = new Map<TenantId, Out>();

  /** What is over makes room for as many seconds at the end. */
  function moveTo(second: number): void {
    for (let over = Math.max(first, second - secondsMax); over < second; over++) {
      placed[over % secondsMax] = 0;
      placedOfMuch[over % secondsMax] = 0;
    }
    first = second;
  }

  /** What is out comes back evenly, as far as is known here: until twice the mean of it. */
  function outOf(tenantId: TenantId, now: number): Out {
    const known = outs.get(tenantId);
    outs.delete(tenantId);
    for (const [one, out] of outs) {
      if (outs.size < tenantsMax && partLeft(out, now) > 0) break;
      outs.delete(one);
    }
    const out = known ?? { count: 0, leftMs: 0, at: now };
    const part = partLeft(out, now);
    out.count *= part;
    out.leftMs *= part * part;
    out.at = now;
    outs.set(tenantId, out);
    return out;
  }

  function hasRoom(second: number, isMuch: boolean): boolean {
    const at = second % secondsMax;
    return (placed[at] ?? 0) < perSecondMax && (!isMuch || (placedOfMuch[at] ?? 0) < perSecondOfMuchMax);
  }

  /** What is full stays so, so the longest run that was met isn't walked through again. */
  function firstWithRoom(second: number, isMuch: boolean): number | null {
    const run = isMuch ? fullOfMuch : full;
    let one = second;
    while (one < first + secondsMax && !hasRoom(one, isMuch)) one = one >= run.from && one < run.to ? run.to : one + 1;
    if (second >= run.from && second < run.to) run.to = one;
    else if (one - second > run.to - run.from) Object.assign(run, { from: second, to: one });
    return one < first + secondsMax ? one : null;
  }

  function add(out: Out, at: number): void {
    const second = secondOf(at);
    if (second >= first + secondsMax) return;
    out.count++;
    out.leftMs += at - out.at;
    increment(placed, second);
    if (out.count > littleMax) increment(placedOfMuch, second);
  }

  return {
    place(tenantId, wanted, latest) {
      const now = clock.monotonic();
      moveTo(secondOf(now));
      const out = outOf(tenantId, now);
      const from = Math.min(wanted, latest);
      const second = secondOf(from);
      const found = firstWithRoom(second, out.count >= littleMax);
      if (found === null) {
        const end = (first + secondsMax) * secondMs;
        if (wanted >= end && wanted <= latest) return wanted;
        return Math.max(latest, end) + (latest - now) * latePart * clock.random();
      }
      const at = found === second ? from : (found + clock.random()) * secondMs;
      add(out, at);
      return at;
    },
    note(tenantId, at) {
      const now = clock.monotonic();
      moveTo(secondOf(now));
      add(outOf(tenantId, now), at);
    },
  };
}

function partLeft({ count, leftMs, at }: Out, now: number): number {
  if (now === at) return 1;
  return leftMs === 0 ? 0 : Math.max(0, 1 - ((now - at) * count) / (2 * leftMs));
}

function increment(counts: Uint16Array, second: number): void {
  const at = second % secondsMax;
  counts[at] = Math.min((counts[at] ?? 0) + 1, 0xffff);
}

function secondOf(ms: number): number {
  return Math.floor(ms / secondMs);
}
