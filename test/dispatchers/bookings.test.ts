// The turns of what leaves for the scheduler: as fast as its tenant can send it, and no more events than that needs.

import { describe, expect, it } from '@jest/globals';

import { createBookings } from '../../src/dispatchers/bookings.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import fc from '../support/properties.ts';

const tenant = 'tnt_a' as TenantId;
const heldMax = 64;
const minuteMs = 60_000;
const stepMs = 10;

function booking() {
  let now = 1_000_000;
  const bookings = createBookings({ clock: { monotonic: () => now } });
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
  const bookings = createBookings({ clock: { monotonic: () => now } });
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

  it('are no more than half a minute and a quarter of it ahead, as long as the pace was watched for less than 20 s', () => {
    const { bookings, busy } = booking();
    busy(10_000, 1_000);
    for (let n = 0; n < 5_000; n++) expect(bookings.book(tenant, 1)).toBeLessThanOrEqual(1.25 * 30_000);
  });

  it('are no more than five minutes and a quarter of them ahead, and what is beyond comes back in its order', () => {
    const { bookings, busy } = booking();
    bookings.book(tenant, 1);
    busy(30_000, 1_000);
    const turns = Array.from({ length: 5_000 }, () => bookings.book(tenant, 1));
    expect(Math.max(...turns)).toBeLessThanOrEqual(1.25 * 5 * minuteMs);
    expect(turns).toEqual(turns.toSorted((a, b) => a - b));
    expect(Math.min(...turns.slice(1).map((turn, i) => turn - (turns[i] ?? 0)))).toBeGreaterThan(10);
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

  it('of 5,000 that are sent one a second cost some 30 events a second', () => {
    const { sentMs, putOff } = workedOff(5_000, 1_000);
    expect(sentMs).toBeLessThan(5_060_000);
    expect((2 * putOff) / (sentMs / 1_000)).toBeLessThan(30);
  });
});
