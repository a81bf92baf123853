// The turns of what leaves for the scheduler: as fast as its tenant can send it, and no more events than that needs.

import { describe, expect, it } from '@jest/globals';

import { createBookings } from '../../src/dispatchers/bookings.ts';
import { createComingBack } from '../../src/dispatchers/coming-back.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import fc from '../support/properties.ts';

const tenant = 'tnt_a' as TenantId;
const heldMax = 64;
const minuteMs = 60_000;
const stepMs = 10;

function bookingsBy(monotonic: () => number) {
  const clock = { monotonic, random: () => 0.5 };
  return createBookings({ clock, comingBack: createComingBack({ clock }) });
}

function booking() {
  let now = 1_000_000;
  const bookings = bookingsBy(() => now);
  return {
    bookings,
    /** So much time passes, in which the tenant finishes one every `paceMs` and has more to do. */
    busy(forMs: number, paceMs: number) {
      for (const end = now + forMs; now < end;) {
        now += paceMs;
        bookings.note(tenant, 1, 1);
      }
    },
    pass(ms: number) {
      now += ms;
    },
  };
}

/**
 * A tenant that sends one every so many ms and has so many to send, all read at once: when all are sent, and how often one was put off. Whatever is sent is
 * sent after it was read, so each is put off until there is room for it.
 */
function workedOff(count: number, paceMs: number): { sentMs: number; putOff: number } {
  let now = 0;
  const bookings = bookingsBy(() => now);
  const turns = new Map<number, number>();
  let [held, sent, putOff, sentAt] = [0, 0, 0, 0];
  const read = () => {
    if (held < heldMax) return bookings.note(tenant, ++held, 0);
    putOff++;
    const at = Math.ceil((now + bookings.book(tenant, held)) / stepMs);
    turns.set(at, (turns.get(at) ?? 0) + 1);
  };
  for (let n = 0; n < count; n++) read();
  for (; sent < count; now += stepMs) {
    for (let n = turns.get(now / stepMs) ?? 0; n > 0; n--) read();
    if (held === 0) sentAt = Math.max(sentAt, now - paceMs);
    for (; held > 0 && sentAt + paceMs <= now; sentAt += paceMs) {
      sent++;
      bookings.note(tenant, --held, 1);
    }
  }
  return { sentMs: now, putOff };
}

describe('turns that are booked', () => {
  it('are one after another, at the pace of the half minute before', () => {
    const { bookings, busy } = booking();
    bookings.book(tenant, 1);
    busy(30_000, 200);
    const [first = 0, ...more] = Array.from({ length: 1_000 }, () => bookings.book(tenant, 10));
    let before = first;
    for (const turn of more) {
      expect(Math.abs(turn - before - 200)).toBeLessThan(20);
      before = turn;
    }
  });

  it('begin when half of what is in memory is sent', () => {
    const { bookings, busy } = booking();
    bookings.note(tenant, 1, 0);
    bookings.book(tenant, 1);
    busy(300_000, 1_000);
    expect(Math.abs(bookings.book(tenant, 64) - 32_000)).toBeLessThan(2_000);
  });

  it('are no more than half a minute ahead, as long as the pace was watched for less than 20 s, and what is beyond follows at four times the pace', () => {
    const { bookings, busy } = booking();
    busy(10_000, 1_000);
    const paceMs = 11_000 / 26;
    for (let n = 0; n < 5_000; n++) expect(bookings.book(tenant, 1)).toBeLessThanOrEqual(30_000 + (n * paceMs) / 4);
  });

  it('are no more than five minutes ahead, and what is beyond comes back in its order, 25 a second', () => {
    const { bookings, busy } = booking();
    bookings.book(tenant, 1);
    busy(30_000, 1_000);
    const turns = Array.from({ length: 5_000 }, () => bookings.book(tenant, 1));
    expect(Math.max(...turns)).toBeLessThanOrEqual(5 * minuteMs + 5_000 * 40);
    expect(turns).toEqual(turns.toSorted((a, b) => a - b));
    expect(Math.min(...turns.slice(1).map((turn, i) => turn - (turns[i] ?? 0)))).toBeGreaterThanOrEqual(40);
  });

  it('are never two in one place, however much there is: 200 a second come back over all tenants, of two hours and a half', () => {
    let now = 0;
    const bookings = bookingsBy(() => now);
    for (let one = 0; one < 20; one++) bookings.book(`tnt_${one}` as TenantId, 1);
    now += 30_000;
    for (let one = 0; one < 20; one++) bookings.note(`tnt_${one}` as TenantId, 1, 30);
    const aMinute = new Map<number, number>();
    let latestMs = 0;
    for (let n = 0; n < 600_000; n++) {
      const turn = bookings.book(`tnt_${n % 20}` as TenantId, 1);
      latestMs = Math.max(latestMs, turn);
      const minute = Math.floor(turn / minuteMs);
      // Turns that are foreseen are its tenant's own matter.
      if (minute > 5) aMinute.set(minute, (aMinute.get(minute) ?? 0) + 1);
    }
    expect(latestMs).toBeLessThan(150 * minuteMs);
    expect(Math.max(...aMinute.values())).toBeLessThanOrEqual(60 * 200);
  });

  it('are remembered for as long as what is beyond is ahead', () => {
    const { bookings, busy, pass } = booking();
    bookings.book(tenant, 1);
    busy(30_000, 1_000);
    for (let n = 0; n < 50_000; n++) bookings.book(tenant, 1);
    pass(30 * minuteMs);
    expect(bookings.has(tenant)).toBe(true);
    pass(10 * minuteMs);
    expect(bookings.has(tenant)).toBe(false);
  });

  it('follow a pace that changes', () => {
    const { bookings, busy } = booking();
    bookings.book(tenant, 1);
    busy(60_000, 1_000);
    busy(60_000, 20);
    const [first, second] = [bookings.book(tenant, 1), bookings.book(tenant, 1)];
    expect(second - first).toBeLessThan(40);
  });

  it('are of each tenant apart, and forgotten when none can be ahead any more', () => {
    const { bookings, pass } = booking();
    bookings.book(tenant, 1);
    expect([bookings.has(tenant), bookings.has('tnt_b' as TenantId)]).toEqual([true, false]);
    pass(10 * minuteMs);
    expect(bookings.has(tenant)).toBe(false);
  });

  it('are kept of 1,000 tenants at most, of those that booked last', () => {
    const { bookings } = booking();
    const tenants = Array.from({ length: 1_200 }, (_, i) => `tnt_${i}` as TenantId);
    for (const one of tenants) bookings.book(one, 1);
    expect(tenants.filter(bookings.has)).toEqual(tenants.slice(200));
  });

  it('are never less than a second ahead', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ ms: fc.nat(90_000), held: fc.nat(64), finished: fc.nat(500), books: fc.nat(5) })),
        (steps) => {
          const { bookings, pass } = booking();
          for (const { ms, held, finished, books } of steps) {
            pass(ms);
            bookings.note(tenant, held, finished);
            for (let n = 0; n < books; n++) {
              const turn = bookings.book(tenant, held);
              expect(turn).toBeGreaterThanOrEqual(1_000);
              expect(turn).toBeLessThanOrEqual(1.25 * 5 * minuteMs);
            }
          }
        },
      ),
    );
  });

  it('keep a tenant at work, whatever its pace, but for the half minute in which that is found out, and cost few events', () => {
    fc.assert(
      fc.property(fc.integer({ min: 65, max: 1_500 }), fc.constantFrom(10, 50, 200, 1_000, 3_000), (count, paceMs) => {
        const { sentMs, putOff } = workedOff(count, paceMs);
        expect(sentMs).toBeLessThan(1.1 * count * paceMs + 40_000);
        expect((2 * putOff) / (sentMs / 1_000)).toBeLessThan(30 + (3 * 1_000) / paceMs);
      }),
      { numRuns: 50 },
    );
  });

  it.each([
    [5_000, 25],
    [20_000, 50],
  ])('of %d that are sent one a second cost %d events a second at most', (count, eventsMax) => {
    const { sentMs, putOff } = workedOff(count, 1_000);
    expect(sentMs).toBeLessThan(count * 1_000 + 60_000);
    expect((2 * putOff) / (sentMs / 1_000)).toBeLessThan(eventsMax);
  });
});
