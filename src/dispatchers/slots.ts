// Who may begin one more attempt: lanes share a channel's slots, and a tenant whose receivers are slow leaves as many free as the next one needs.
//
//   slots   [ HIGH alone |               all lanes               | few ]    HIGH fills its own first; what it has beyond them is among the others'.
//                                                                           The last few are for tenants that have less in flight than they
//                                                                           weigh; of one whose attempts are slow half of them at most
//
// Slow attempts are what fills slots: one tenant may have as many of them as its cap, several no more than twice what is then still free. So six tenants whose
// receivers hang leave some 20 of 192 to the next ones; what is quick isn't counted, so that turns alone say whose it is.

import type { Priority } from '../domain/events.ts';
import type { DispatcherLimits } from './limits.ts';

export interface Slots {
  begin(priority: Priority): void;
  end(priority: Priority): void;
  /** How many attempts of a lane can be begun now. */
  free(priority: Priority): number;
  /** Of those that are free none is for a tenant that has as much in flight as it weighs. */
  isFull(priority: Priority): boolean;
  /** Whether a tenant may have one of them. */
  mayBegin(priority: Priority, has: InFlight, weight: number): boolean;
}

/** What a tenant has in flight, over all lanes. */
export interface InFlight {
  readonly count: number;
  /** Of them, those that are slow: for longer than a second already, or likely to be. */
  readonly slow: number;
}

/** A tenant alone has its whole cap, 32 of the 48 that EMAIL's lanes share: the last of them finds 17 free, and 31 is less than twice 16. */
const slowPerFree = 2;
/** 6 of 192, 1 of 48: of those who come with nothing in flight so many begin at once, however many others hang. */
const lastShare = 1 / 32;

export function createSlots({
  inFlightMax,
  inFlightHighOnly,
}: Pick<DispatcherLimits, 'inFlightMax' | 'inFlightHighOnly'>): Slots {
  const last = Math.max(1, Math.floor((inFlightMax - inFlightHighOnly) * lastShare));
  /** However much a tenant weighs, what of it hangs is not all of the last few. */
  const slowOfLast = Math.max(1, Math.floor(last / 2));
  let high = 0;
  let others = 0;

  function free(priority: Priority): number {
    const ofAll = inFlightMax - inFlightHighOnly - others - Math.max(0, high - inFlightHighOnly);
    return priority === 'HIGH' ? ofAll + Math.max(0, inFlightHighOnly - high) : ofAll;
  }

  return {
    begin(priority) {
      if (priority === 'HIGH') high++;
      else others++;
    },
    end(priority) {
      if (priority === 'HIGH') high--;
      else others--;
    },
    free,
    isFull: (priority) => free(priority) <= last,
    mayBegin(priority, { count, slow }, weight) {
      const left = free(priority) - last;
      const ofLast = slow > 0 ? Math.min(weight, slowOfLast) : weight;
      return count < ofLast || (left > 0 && slow < slowPerFree * weight * left);
    },
  };
}
