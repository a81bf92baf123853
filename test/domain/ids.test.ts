// Ids: their spellings, both ways, and the event ids that follow from their causes.

import { describe, expect, it } from '@jest/globals';

import {
  eventIdFrom,
  inboxItemIdOf,
  isNotificationId,
  notificationIdOf,
  notificationIdOfInboxItem,
  timeOfNotificationId,
  uuidText,
  uuidV7Bytes,
} from '../../src/domain/ids.ts';
import fc from '../support/properties.ts';

const bits128 = fc.uint8Array({ minLength: 16, maxLength: 16 });
const time = fc.integer({ min: 0, max: 2 ** 48 - 1 });
/** RFC 9562, appendix A.6: 2022-02-22T19:22:22Z, rand_a 0xcc3, rand_b 0x18c4dc0c0c07398f. */
const rfcTail = new Uint8Array([0x0c, 0xc3, 0x18, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f]);
const random = fc.uint8Array({ minLength: 10, maxLength: 10 });

describe('a notification id', () => {
  it('tells the time at which it was made', () => {
    fc.assert(
      fc.property(time, random, (at, tail) => {
        expect(timeOfNotificationId(notificationIdOf(uuidV7Bytes(at, tail)))).toBe(at);
      }),
    );
  });
});

describe('a UUIDv7', () => {
  it('is spelled as RFC 9562 does in its example', () => {
    expect(uuidText(uuidV7Bytes(1_645_557_742_000, rfcTail))).toBe('017f22e2-79b0-7cc3-98c4-dc0c0c07398f');
  });

  it('has version 7, variant 10, and sorts by its time', () => {
    fc.assert(
      fc.property(time, time, random, random, (a, b, r, s) => {
        const [x, y] = [uuidText(uuidV7Bytes(a, r)), uuidText(uuidV7Bytes(b, s))];
        expect(x).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        if (a < b) expect(x < y).toBe(true);
      }),
    );
  });
});

describe('a notification id', () => {
  it('is notif_ and 26 characters of Crockford base32, the first of them holding two bits', () => {
    expect(notificationIdOf(new Uint8Array(16))).toBe('notif_00000000000000000000000000');
    expect(notificationIdOf(new Uint8Array(16).fill(255))).toBe('notif_7zzzzzzzzzzzzzzzzzzzzzzzzz');
    expect(notificationIdOf(uuidV7Bytes(1_645_557_742_000, rfcTail))).toBe('notif_01fwhe4ydgfk1shh6w1g60eecf');
  });

  it('is recognised in its own spelling alone', () => {
    expect(isNotificationId('notif_01fwhe4ydg0000000000000000')).toBe(true);
    expect(isNotificationId('notif_81fwhe4ydg0000000000000000')).toBe(false);
    expect(isNotificationId('notif_01FWHE4YDG0000000000000000')).toBe(false);
    expect(isNotificationId('notif_01fwhe4ydg000000000000000')).toBe(false);
    expect(isNotificationId('notif_01fwhe4ydg000000000000000l')).toBe(false);
  });

  it("and the in-app item's UUID are the same 128 bits, both ways", () => {
    fc.assert(
      fc.property(bits128, (bytes) => {
        const id = notificationIdOf(bytes);
        expect(isNotificationId(id)).toBe(true);
        expect(inboxItemIdOf(id)).toBe(uuidText(bytes));
        expect(notificationIdOfInboxItem(uuidText(bytes))).toBe(id);
      }),
    );
  });

  it('is not read from what is no UUID in lower case', () => {
    expect(notificationIdOfInboxItem('017F22E2-79B0-7CC3-98C4-DC0C0C07398F')).toBeNull();
    expect(notificationIdOfInboxItem('017f22e279b07cc398c4dc0c0c07398f')).toBeNull();
  });
});

describe('an event id from its cause', () => {
  const cause = '0199a000-0000-7000-8000-000000000001';
  const notification = 'notif_01kaj0000000000000000000000';

  it.each([
    [['requested', notification], 'bfd374d7-8d02-864f-91fb-e8627d9c4f1f'],
    [['due', cause], '3e5cf82f-5493-86c4-a215-201b1aea68bd'],
    [['retry', notification, 2], 'a8fba7cd-4244-86d8-9ccc-3ee79fe87195'],
    [['cancelled', cause], '9f75ee77-47f4-8502-ac33-cab7f52ce8b8'],
    [['dead', 'notifications.deliveries', 3, 17], 'c1b28460-cd54-8087-8d02-562b0b4c073c'],
  ])('%j is the one written down', (parts, expected) => {
    expect(eventIdFrom(...parts)).toBe(expected);
  });

  it('is that of its parts in one text, whatever they are and however long', () => {
    const part = fc.oneof(fc.string({ maxLength: 80 }), fc.string({ unit: 'binary', maxLength: 80 }), fc.uuid());
    fc.assert(
      fc.property(part, part, fc.integer(), (a, b, number) => {
        expect(eventIdFrom(a, b)).toBe(eventIdFrom(`${a}\n${b}`));
        expect(eventIdFrom(a, number)).toBe(eventIdFrom(`${a}\n${number}`));
        expect(eventIdFrom(a, b, number)).toBe(eventIdFrom(`${a}\n${b}\n${number}`));
      }),
    );
  });

  it('is a UUID of version 8, the same for the same cause and another for any other', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.uuid(), (a, b) => {
        expect(eventIdFrom('due', a)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(eventIdFrom('due', a)).toBe(eventIdFrom('due', a));
        expect(eventIdFrom('due', a)).not.toBe(eventIdFrom('cancelled', a));
        if (a !== b) expect(eventIdFrom('due', a)).not.toBe(eventIdFrom('due', b));
      }),
    );
  });
});
