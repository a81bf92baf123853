// The secret box of the node adapters: the contract, and the envelope that it writes.

import { describe, expect, it } from '@jest/globals';

import { createSecretBox } from '../../../src/adapters/node/secret-box.ts';
import { secretBoxContract } from '../../contracts/secret-box.ts';

secretBoxContract('AES-256-GCM', createSecretBox);

describe('a sealed secret', () => {
  it('says its version and which secret sealed it, then 12 bytes of nonce, the text and 16 of tag', () => {
    const [version, keyId, body, ...rest] = createSecretBox('one').seal('plain', 'c').split('.');
    expect([version, rest]).toEqual(['v1', []]);
    expect(keyId).toMatch(/^[0-9a-f]{8}$/);
    expect(createSecretBox('one').seal('other', 'c').split('.')[1]).toBe(keyId);
    expect(createSecretBox('two').seal('plain', 'c').split('.')[1]).not.toBe(keyId);
    expect(Buffer.from(body ?? '', 'base64url')).toHaveLength(12 + 'plain'.length + 16);
  });

  it('of an earlier day still opens: the derivation and the envelope are forever', () => {
    const sealed = 'v1.5c9590fd.BOXvtHMbVDOTgf4W8wChkek6DsO9eRCAvaZ8mJfn1C10yg';
    expect(createSecretBox('an encryption secret').open(sealed, 'tnt_a:EMAIL')).toBe('re_123');
  });
});
