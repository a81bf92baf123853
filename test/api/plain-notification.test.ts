// A plain notification is told without the schema: what is taken for one the schema gives back exactly.

import { describe, expect, it } from '@jest/globals';

import { notificationSchema } from '../../src/api/notification-request.ts';
import { isPlain } from '../../src/api/plain-notification.ts';
import { channels, priorities } from '../../src/domain/events.ts';
import fc from '../support/properties.ts';

const text = fc.oneof(fc.string(), fc.constantFrom('', 'ada', ' ', '\u0000', '\uD800'));
const object = fc.dictionary(fc.oneof(fc.string(), fc.constant('__proto__')), fc.jsonValue(), { maxKeys: 3 });
const right = {
  channel: fc.constantFrom(...channels),
  recipient: text,
  template: text,
  subject: text,
  body: text,
  priority: fc.constantFrom(...priorities),
  data: object,
  metadata: object,
};
const anything = fc.oneof(fc.jsonValue(), object, text, fc.constantFrom('in_app', 'HIGH ', 'toString', null, []));
const fieldNames = [...Object.keys(notificationSchema.shape), 'chanel', '__proto__', 'constructor', 'toString'];

/** Mostly right, so that some are plain; as JSON.parse makes them, which has a way of its own with `__proto__`. */
const body = fc
  .record({
    fields: fc.record(right, { requiredKeys: [] }),
    others: fc.oneof(
      { weight: 2, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(fc.tuple(fc.constantFrom(...fieldNames), anything), { maxLength: 2 }) },
    ),
  })
  .map(({ fields, others }): unknown => {
    const entries = [...Object.entries(fields), ...others];
    const members = entries.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
    return JSON.parse(`{${members.join(',')}}`);
  });

describe('a plain notification', () => {
  it('is nothing that the schema refuses or changes', () => {
    let plain = 0;
    fc.assert(
      fc.property(fc.oneof({ weight: 9, arbitrary: body }, { weight: 1, arbitrary: fc.jsonValue() }), (any) => {
        if (!isPlain(any)) return;
        plain++;
        const told = notificationSchema.safeParse(any);
        expect(told.error).toBeUndefined();
        // By their own fields alone: both are read by name.
        expect(new Map(Object.entries(told.data ?? {}))).toEqual(new Map(Object.entries(any)));
      }),
      { numRuns: 5000 },
    );
    expect(plain).toBeGreaterThan(500);
  });

  it.each([
    [{ channel: 'IN_APP', recipient: 'ada', subject: 'Hello', body: 'hi' }, true],
    [{ channel: 'EMAIL', recipient: 'a@x.org', template: 'welcome', data: { a: [1] }, metadata: { a: 'b' } }, true],
    [{ channel: 'SMS', recipient: '+14155550123', body: 'hi', priority: 'HIGH' }, true],
    [{ channel: 'IN_APP', body: 'hi' }, false],
    [{ recipient: 'ada', body: 'hi' }, false],
    [{ channel: 'FAX', recipient: 'ada', body: 'hi' }, false],
    [{ channel: 'IN_APP', recipient: 1, body: 'hi' }, false],
    [{ channel: 'IN_APP', recipient: 'ada', body: 'hi', sendAt: '2027-01-31T09:00:00Z' }, false],
    [[], false],
    [null, false],
  ])('%j: %s', (any, told) => expect(isPlain(any)).toBe(told));
});
