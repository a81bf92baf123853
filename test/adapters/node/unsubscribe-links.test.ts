// Addresses to unsubscribe by: who is meant is in them, nobody can read it off, and nobody else can make one.

import { describe, expect, it } from '@jest/globals';

import { createUnsubscribeLinks } from '../../../src/adapters/node/unsubscribe-links.ts';
import type { NotificationId, TenantId } from '../../../src/domain/ids.ts';
import fc from '../../support/properties.ts';

const base = 'https://herald.example.com';
const links = createUnsubscribeLinks(base, 'the secret');
const someone = {
  tenantId: 'tnt_0abcdefghjkmnpqrstvwxyz012' as TenantId,
  notificationId: 'notif_0abcdefghjkmnpqrstvwxyz012' as NotificationId,
  recipient: 'ada@example.com',
};
const tokenOf = (of = someone, made = links) => made.urlOf(of)?.slice(`${base}/api/v1/unsubscribe/`.length) ?? '';

describe('an address to unsubscribe by', () => {
  it('says whom it means, and is the same each time it is made', () => {
    const anyone = fc.record({
      tenantId: fc.string({ maxLength: 30 }),
      notificationId: fc.string({ maxLength: 32 }),
      recipient: fc.string({ unit: 'grapheme', maxLength: 60 }),
    }) as unknown as fc.Arbitrary<typeof someone>;
    fc.assert(
      fc.property(anyone, (of) => {
        expect(links.read(tokenOf(of))).toEqual(of);
        expect(links.urlOf(of)).toBe(createUnsubscribeLinks(base, 'the secret').urlOf(of));
      }),
    );
  });

  it('fits into a line of a header, however long the address is that it means', () => {
    const recipient = `${'ä'.repeat(64)}@${'x'.repeat(185)}.com`;
    const url = createUnsubscribeLinks(`https://${'h'.repeat(292)}`, 's').urlOf({ ...someone, recipient });
    expect(`List-Unsubscribe: <${url}>`.length).toBeLessThan(998);
  });

  it('shows neither an address nor an id of anybody', () => {
    const text = Buffer.from(tokenOf(), 'base64url').toString('latin1');
    for (const part of ['ada', 'example', 'tnt_', 'notif_', '0abcdef']) {
      expect(text).not.toContain(part);
      expect(tokenOf()).not.toContain(part);
    }
  });

  it('is worth nothing once a single bit of it is another, or its spelling', () => {
    const bytes = Buffer.from(tokenOf(), 'base64url');
    for (let i = 0; i < bytes.length * 8; i++) {
      const forged = Buffer.from(bytes);
      forged.writeUInt8((forged[i >> 3] ?? 0) ^ (1 << (i & 7)), i >> 3);
      expect(links.read(forged.toString('base64url'))).toBeNull();
    }
    for (const other of [
      '',
      'x',
      'a'.repeat(5000),
      '../..',
      `${tokenOf()}=`,
      `${tokenOf()} `,
      tokenOf().slice(1),
      '%00',
    ])
      expect(links.read(other)).toBeNull();
  });

  it('of another installation means nobody; of the former secret it holds as long as that is set', () => {
    const former = tokenOf(someone, createUnsubscribeLinks(base, 'former'));
    expect(links.read(former)).toBeNull();
    expect(createUnsubscribeLinks(base, 'the secret', ['former']).read(former)).toEqual(someone);
  });

  it('of an earlier day is still read: mails are kept for years', () => {
    expect(links.read(pinned)).toEqual(someone);
  });

  it('is none where nobody has said how the service is reached', () => {
    expect(createUnsubscribeLinks(null, 'the secret').urlOf(someone)).toBeNull();
    expect(createUnsubscribeLinks(null, 'the secret').read(tokenOf())).toEqual(someone);
  });
});

const pinned =
  'N9mifhi7DxYetquQT-EUWYUlfxVNwMy5UO1VXwJaTDMt8cv1Wsb9wX1Oo4RN-BGgkjBWK-9bC1tFX6kLp2eK9k2sejcuMV5gE-g1bjjfN_RrnXD2Mgn4rwNNO0STOD0zCqLj7fO06DuhMK4F4J5FcHiVHg';
