// When it is the turn of what a tenant has no room for on one partition, where it can't stay in the log: one after another, at the tenant's own pace.
//
//   now ────────── a ── b ── c ── d ──┤ ahead ├─ e f g h      a to d are booked, each a pace behind the one before it; what would come later than may be
//         what is held now is sent                            foreseen, e to h, is looked at again once it might be, one after another
//
// A turn costs two events, and so does one that comes too early. One that comes too late costs the tenant time: so as long as its pace isn't known well, none
// is far ahead, and where nothing of it is left to be done the time that passes doesn't count, which makes the pace look higher until there is enough again.

import type { TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { ComingBack } from './coming-back.ts';

export interface Bookings {
  /** Of a tenant that has so many events in memory: in how many ms the turn of one more is. */
  book(tenantId: TenantId, held: number): number;
  /** It has so many in memory now, and so many of them were finished just now. */
  note(tenantId: TenantId, held: number, finished: number): void;
  /** Whether turns of it may be ahead. */
  has(tenantId: TenantId): boolean;
}

interface Booked {
  /** Its last turn, ms of the monotonic clock; the same of what is beyond those that may be foreseen. */
  until: number;
  laterUntil: number;
  /** For how long it had something to do, and how much of that was finished: halved now and then, so that what is long ago counts for little. */
  busyMs: number;
  finished: number;
  isBusy: boolean;
  /** Since when it does what it does now; ms of the monotonic clock. */
  at: number;
  bookedAt: number;
}

/** Its pace is known after so long, and of the last half minute: from 20 to 40 s. */
const knownMs = 20_000;
/** Of whoever wasn't watched yet: its first turns come too early where it is slow, or it waits for them for half a minute at most where it is quick. */
const guess = { busyMs: 1_000, finished: 16 };
/** What is too early is so again in this at the earliest: two events a second of each. */
const leadMs = 1_000;
/** How far ahead. */
const aheadMs = 5 * 60_000;
const aheadUnknownMs = 30_000;
/** What is beyond comes back in its order, however much it is: 25 a second, 50 events, and four times as fast as it is sent where that is more. */
const laterEveryMs = 40;
const laterPart = 1 / 4;
/** What would be later than this comes at any time until then: nobody's pace is foreseen for longer. */
const laterMaxMs = 2 * 60 * 60_000;
/** Longer than any turn is ahead that is foreseen. */
const keptMs = 2 * aheadMs;
/** Of some 150 bytes. Whoever is forgotten has turns anew beside its former ones, and some of these come too early. */
const bookingsMax = 1_000;

/** @param by.comingBack of all that comes back to a dispatcher */
export function createBookings(by: {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly comingBack: ComingBack;
}): Bookings {
  const { clock, comingBack } = by;
  /** By when they booked last. */
  const booked = new Map<TenantId, Booked>();

  function bookedOf(tenantId: TenantId, now: number): Booked {
    const known = booked.get(tenantId);
    booked.delete(tenantId);
    for (const [first, one] of booked) {
      if (booked.size < bookingsMax && isAhead(one, now)) break;
      booked.delete(first);
    }
    const fresh = { until: now, laterUntil: now, ...guess, isBusy: true, at: now, bookedAt: now };
    const of = known !== undefined && isAhead(known, now) ? known : fresh;
    booked.set(tenantId, of);
    return of;
  }

  function elapse(of: Booked, now: number): void {
    if (of.isBusy) of.busyMs += now - of.at;
    of.at = now;
    for (; of.busyMs >= 2 * knownMs; of.busyMs /= 2) of.finished /= 2;
  }

  return {
    book(tenantId, held) {
      const now = clock.monotonic();
      const of = bookedOf(tenantId, now);
      elapse(of, now);
      // Whatever it has in memory, something of it waits.
      of.isBusy = true;
      of.bookedAt = now;
      const paceMs = of.busyMs / of.finished;
      const turn = Math.max(of.until + paceMs, now + leadMs, now + (held / 2) * paceMs);
      const ahead = of.busyMs < knownMs ? aheadUnknownMs : aheadMs;
      if (turn - now <= ahead) return (of.until = turn) - now;
      const later = of.laterUntil + Math.min(laterEveryMs, paceMs * laterPart);
      const span = { from: now + ahead, wanted: Math.max(later, now + ahead), latest: now + laterMaxMs };
      const again = comingBack.place({ tenantId, priority: 'DEFAULT' }, span);
      of.laterUntil = Math.max(of.laterUntil, again);
      return again - now;
    },
    note(tenantId, held, finished) {
      const of = booked.get(tenantId);
      if (of === undefined) return;
      elapse(of, clock.monotonic());
      of.finished += finished;
      of.isBusy = held > 0;
    },
    has(tenantId) {
      const of = booked.get(tenantId);
      return of !== undefined && isAhead(of, clock.monotonic());
    },
  };
}

function isAhead({ bookedAt, laterUntil }: Booked, now: number): boolean {
  return now < Math.max(bookedAt + keptMs, laterUntil);
}
