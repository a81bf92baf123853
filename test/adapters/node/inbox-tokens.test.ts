// Inbox tokens: they say whose inbox they open, in every process that has the secret, and nobody else can make one.

import { describe, expect, it } from '@jest/globals';
import { SignJWT, UnsecuredJWT, decodeJwt } from 'jose';

import { createInboxTokens } from '../../../src/adapters/node/inbox-tokens.ts';
import type { TenantId } from '../../../src/domain/ids.ts';
import type { InboxPass } from '../../../src/ports/inbox-tokens.ts';
import fc from '../../support/properties.ts';

const tokens = createInboxTokens(['the secret']);
const pass: InboxPass = {
  tenantId: 'tnt_0abcdefghjkmnpqrstvwxyz012' as TenantId,
  recipient: 'ada',
  keyHash: 'ab'.repeat(32),
  expiresAt: 1_800_000_000_000,
};

describe('an inbox token', () => {
  it('says what it was made of, in another process with the same secret', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 128 }), async (recipient) => {
        const token = await tokens.make({ ...pass, recipient });
        expect(await createInboxTokens(['the secret']).read(token)).toEqual({ ...pass, recipient });
      }),
      { numRuns: 30 },
    );
  });

  it('is read under the secret before, once another is in use', async () => {
    const former = await createInboxTokens(['former']).make(pass);
    expect(await tokens.read(former)).toBeNull();
    expect(await createInboxTokens(['the secret', 'former']).read(former)).toEqual(pass);
  });

  it('shows a page when it ends', async () => {
    expect(decodeJwt(await tokens.make(pass))).toMatchObject({ aud: 'herald-inbox', exp: pass.expiresAt / 1000 });
  });

  it('is short enough for any recipient, and too long a text is not looked at', async () => {
    const recipient = '\u0001'.repeat(256);
    expect(await tokens.read(await tokens.make({ ...pass, recipient }))).toEqual({ ...pass, recipient });
    expect(await tokens.read('x'.repeat(100_000))).toBeNull();
  });

  it('is worth nothing when any of its letters is another', async () => {
    const token = await tokens.make(pass);
    const [head = '', payload = '', signature = ''] = token.split('.');
    const changed = payload
      .split('')
      .map((letter, i) =>
        [head, payload.slice(0, i) + (letter === 'A' ? 'B' : 'A') + payload.slice(i + 1), signature].join('.'),
      );
    for (const forged of [...changed, `${head}.${payload}.`, `${head}.${payload}`, '', '..'])
      expect(await tokens.read(forged)).toBeNull();
  });

  it('is none without a signature, under another secret, by another algorithm or for another audience', async () => {
    const claims = decodeJwt(await tokens.make(pass));
    const another = new SignJWT({ ...claims }).setProtectedHeader({ alg: 'HS256' });
    expect(await tokens.read(new UnsecuredJWT({ ...claims }).encode())).toBeNull();
    expect(await tokens.read(await another.sign(new TextEncoder().encode('the secret'.padEnd(32))))).toBeNull();
    expect(await tokens.read(await createInboxTokens(['another']).make(pass))).toBeNull();
  });
});
