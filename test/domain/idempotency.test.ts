// What a repeated request is recognised by.

import { createHash } from 'node:crypto';

import { describe, expect, it } from '@jest/globals';

import type { AskedFor } from '../../src/domain/idempotency.ts';
import { contentText, idOfKey, isIdOfKey } from '../../src/domain/idempotency.ts';
import { isNotificationId, notificationIdOf, timeOfNotificationId, uuidV7Bytes } from '../../src/domain/ids.ts';

const digest = (text: string) => createHash('sha256').update(text).digest();
const midnight = Date.UTC(2026, 10, 22);
const hour = 3_600_000;

describe('the id of a notification with a key', () => {
  it('is the same all day, another one the next, and follows from the key', () => {
    const id = idOfKey('key-1', midnight, digest);
    expect(isNotificationId(id)).toBe(true);
    expect(idOfKey('key-1', midnight + 24 * hour - 1, digest)).toBe(id);
    expect(idOfKey('key-1', midnight + 24 * hour, digest)).not.toBe(id);
    expect(idOfKey('key-2', midnight, digest)).not.toBe(id);
  });

  it('is told from one that was made at a moment', () => {
    const id = idOfKey('key-1', midnight + 5 * hour, digest);
    expect(timeOfNotificationId(id)).toBe(midnight);
    expect(isIdOfKey(id)).toBe(true);
    expect(isIdOfKey(notificationIdOf(uuidV7Bytes(midnight + 1, digest('anything'))))).toBe(false);
  });
});

describe('what was asked for', () => {
  const asked: AskedFor = {
    channel: 'EMAIL',
    recipient: 'ada@example.com',
    priority: 'HIGH',
    template: 'welcome',
    subject: null,
    body: null,
    data: '{"a":1,"b":{"c":[1,2],"d":null}}',
    metadata: { one: '1', two: '2' },
    sendAt: midnight + hour,
    expiry: null,
    replyTo: null,
    cc: [],
    bcc: [],
    transactional: false,
    resendOf: null,
  };

  it('is the same in whichever order its fields come', () => {
    const other = { ...asked, data: '{"b":{"d":null,"c":[1,2]},"a":1}', metadata: { two: '2', one: '1' } };
    expect(contentText(other, midnight)).toBe(contentText(asked, midnight));
  });

  it('differs with every field of it', () => {
    const others: Partial<AskedFor>[] = [
      { channel: 'SMS' },
      { recipient: 'bob@example.com' },
      { priority: 'BULK' },
      { template: 'goodbye' },
      { subject: 'Hello' },
      { body: 'World' },
      { data: '{"a":1,"b":{"c":[2,1],"d":null}}' },
      { data: '{"a":1,"b":{"c":[1,2]}}' },
      { data: '{"a":1,"b":[["c",[1,2]],["d",null]]}' },
      { metadata: { one: '1' } },
      { sendAt: null },
      { expiry: { kind: 'at', at: midnight + 2 * hour } },
      { expiry: { kind: 'after', ms: 2 * hour } },
      { transactional: true },
      { replyTo: 'r@example.com' },
      { cc: ['r@example.com'] },
      { bcc: ['r@example.com'] },
      { bcc: ['r@example.com', 's@example.com'] },
    ];
    const texts = [asked, ...others.map((other) => ({ ...asked, ...other }))].map((one) => contentText(one, midnight));
    expect(new Set(texts).size).toBe(texts.length);
  });

  it('reads as it did before mails had copies, where there are none: keys of before an upgrade stay good', () => {
    expect(contentText(asked, midnight)).toBe(
      '["EMAIL","ada@example.com","HIGH","welcome",null,null,{"fields":[["a",1],["b",{"fields":[["c",[1,2]],["d",null]]}]]},' +
        `{"fields":[["one","1"],["two","2"]]},${midnight + hour}]`,
    );
  });

  it('is the same whether its expiry is a time or so long after it is sent, whenever it is asked for again', () => {
    const after = contentText({ ...asked, expiry: { kind: 'after', ms: hour } }, midnight);
    expect(contentText({ ...asked, expiry: { kind: 'at', at: midnight + 2 * hour } }, midnight)).toBe(after);
  });

  it('is at once where its time is past when it is asked for', () => {
    expect(contentText(asked, midnight + hour)).toBe(contentText({ ...asked, sendAt: null }, midnight));
  });
});
