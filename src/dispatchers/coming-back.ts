// In which second what goes to the scheduler for not having its turn yet comes back, over all tenants of a dispatcher: 200 of it in a second, since whatever comes
// back too early is two more events.
//
//   wanted ──┐
//            v
//   ───│full│full│full│ x │   │   │ ─── latest       in the first second with room from then on
//
// Half of each is for those that have little out, who so find room beside any flood. Where all is full until the latest, it is spread over a quarter behind that.

import type { Clock } from '../ports/clock.ts';

export interface ComingBack {
  /**
   * ms of the monotonic clock, all of them.
   * @param inLine so many of its line have taken a place before it
   * @returns the wanted time or one after it; where there is none, one that is later than the latest by a quarter of what is until then at most
   */
  place(wanted: number, latest: number, inLine: number): number;
}

const secondMs = 1_000;
/** Two events each and two looks of the scheduler, which fires some 700 a second on two busy cores: all others' timers are to have most of that. */
const perSecondMax = 200;
const perSecondOfMuchMax = 100;
/** A minute of what comes back of one tenant. */
const littleMax = 1_500;
/** Four and a half hours, of 2 bytes a second: 32 KiB. Nothing but what a receiver has asked for itself is later, and that isn't counted. */
const secondsMax = 16_384;
export const latePart = 1 / 4;

export function createComingBack({ clock }: { readonly clock: Pick<Clock, 'monotonic' | 'random'> }): ComingBack {
  const placed = new Uint16Array(secondsMax);
  let first = secondOf(clock.monotonic());

  /** What is over makes room for as many seconds at the end. */
  function moveTo(second: number): void {
    if (second - first >= secondsMax) placed.fill(0);
    else for (let over = first; over < second; over++) placed[over % secondsMax] = 0;
    first = second;
  }

  function firstWithRoom(second: number, last: number, max: number): number | null {
    for (let one = second; one <= last; one++) if ((placed[one % secondsMax] ?? 0) < max) return one;
    return null;
  }

  function note(second: number): void {
    const at = second % secondsMax;
    if (second < first + secondsMax) placed[at] = Math.min((placed[at] ?? 0) + 1, 0xffff);
  }

  return {
    place(wanted, latest, inLine) {
      const now = clock.monotonic();
      moveTo(secondOf(now));
      const lateMs = (latest - now) * latePart;
      const last = secondOf(latest + lateMs) - 1;
      const second = secondOf(wanted);
      if (second <= last && second >= first + secondsMax) return wanted;
      const max = inLine < littleMax ? perSecondMax : perSecondOfMuchMax;
      const found = firstWithRoom(second, Math.min(last, first + secondsMax - 1), max);
      if (found === null) {
        const late = latest + lateMs * clock.random();
        note(secondOf(late));
        return late;
      }
      note(found);
      return found === second ? wanted : found * secondMs + secondMs * clock.random();
    },
  };
}

function secondOf(ms: number): number {
  return Math.floor(ms / secondMs);
}
