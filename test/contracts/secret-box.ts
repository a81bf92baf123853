// What every secret box promises; each adapter runs this suite.

import { describe, expect, it } from '@jest/globals';

import { type SecretBox, SecretBoxError } from '../../src/ports/secret-box.ts';
import fc from '../support/properties.ts';

export function secretBoxContract(
  name: string,
  makeBox: (secret: string, previousSecrets?: readonly string[]) => SecretBox,
): void {
  describe(`${name}: a secret box`, () => {
    const box = makeBox('a secret of some length');

    it('opens what it sealed, under the same context', () => {
      fc.assert(
        fc.property(fc.string({ unit: 'binary' }), fc.string(), (plain, context) => {
          expect(box.open(box.seal(plain, context), context)).toBe(plain);
        }),
      );
    });

    it('opens what another process sealed under the same secret', () => {
      expect(makeBox('a secret of some length').open(box.seal('plain', 'c'), 'c')).toBe('plain');
    });

    it('opens nothing under another context or another secret', () => {
      const sealed = box.seal('plain', 'tnt_a:EMAIL');
      expect(() => box.open(sealed, 'tnt_b:EMAIL')).toThrow(SecretBoxError);
      expect(() => makeBox('another secret').open(sealed, 'tnt_a:EMAIL')).toThrow(SecretBoxError);
    });

    it('opens what a former secret sealed, seals under the one in use, and says which of them it was', () => {
      const both = makeBox('the new secret', ['a secret of some length']);
      const old = box.seal('plain', 'c');
      const renewed = both.seal('plain', 'c');
      expect([both.open(old, 'c'), both.open(renewed, 'c')]).toEqual(['plain', 'plain']);
      expect([both.isCurrent(old), both.isCurrent(renewed)]).toEqual([false, true]);
      expect(makeBox('the new secret').open(renewed, 'c')).toBe('plain');
      expect(() => box.open(renewed, 'c')).toThrow(SecretBoxError);
    });

    it('opens nothing whose text says that another known secret sealed it', () => {
      const both = makeBox('the new secret', ['a secret of some length']);
      const [version, , body] = box.seal('plain', 'c').split('.');
      const keyId = both.seal('plain', 'c').split('.')[1];
      expect(() => both.open([version, keyId, body].join('.'), 'c')).toThrow(SecretBoxError);
    });

    it('opens nothing that was changed in a single character, cut or lengthened', () => {
      const sealed = box.seal('plain', 'c');
      const changed = Array.from(sealed, (character, i) => {
        const instead = character === 'A' ? 'k' : 'A';
        return `${sealed.slice(0, i)}${instead}${sealed.slice(i + 1)}`;
      });
      for (const other of [
        ...changed,
        sealed.slice(0, -1),
        sealed.slice(0, -8),
        `${sealed}AAAA`,
        `${sealed}.x`,
        '',
        'v1',
        'plain',
      ]) {
        expect(() => box.open(other, 'c')).toThrow(SecretBoxError);
      }
    });

    it('seals the same text differently each time, and shows nothing of it', () => {
      const sealed = Array.from({ length: 50 }, () => box.seal('re_1234567890', 'c'));
      expect(new Set(sealed).size).toBe(50);
      expect(sealed.join('')).not.toContain('re_123');
      expect(sealed.join('')).not.toContain(Buffer.from('re_1234567890').toString('base64url'));
    });

    it('names neither the text nor the secret in its errors', () => {
      const failure = () => makeBox('another secret').open(box.seal('plain text', 'c'), 'c');
      expect(failure).toThrow(/ENCRYPTION_SECRET/);
      expect(failure).not.toThrow(/plain text|another secret|some length/);
    });
  });
}
