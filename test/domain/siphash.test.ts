// SipHash-2-4 against the vectors of its authors, as far as their messages are whole UTF-16 units.

import { describe, expect, it } from '@jest/globals';

import { derivedKey, sipHash, sipKeyOf } from '../../src/domain/siphash.ts';

/** Of 0x00 0x01 0x02 ... to that length under the key 0x00 to 0x0f; the bytes of the hash, the lowest first (vectors_sip64 of the reference). */
const vectors: readonly (readonly [number, string])[] = [
  [0, '310e0edd47db6f72'],
  [2, '5a4fa9d909806c0d'],
  [4, 'b7877127e09427cf'],
  [6, 'cee3fe586e46c9cb'],
  [8, '6224939a79f5f593'],
  [10, 'f3b9dd94c5bb5d7a'],
  [14, 'eef27a8e90ca23f7'],
  [16, 'db9bc2577fcc2a3f'],
  [62, '575ff28e60381be5'],
];
// The words of a key are written with their highest byte first.
const key = sipKeyOf('03020100070605040b0a09080f0e0d0c');

describe('SipHash-2-4', () => {
  it.each(vectors)('of %d bytes is what its authors say', (length, expected) => {
    const bytes = Buffer.from(Array.from({ length }, (_, i) => i));
    const { high, low } = sipHash(key, bytes.toString('utf16le'));
    const hash = Buffer.alloc(8);
    hash.writeInt32LE(low, 0);
    hash.writeInt32LE(high, 4);
    expect(hash.toString('hex')).toBe(expected);
  });

  it('takes every text as it is, lone surrogates too, and none for another', () => {
    const texts = ['', '\0', '\0\0', 'a', 'a\0', 'abcd', 'abcd\0', '\ud800', '\udc00', '\ufffd', '\ud83d\ude00'];
    const hashes = texts.map((text) => JSON.stringify(sipHash(key, text)));
    expect(new Set(hashes).size).toBe(texts.length);
  });

  it('has keys of their own for what is derived, and refuses what is none', () => {
    const keys = ['', 'a', 'b', '1a'].map((text) => derivedKey(key, text).join());
    expect(new Set([...keys, key.join()]).size).toBe(5);
    for (const none of ['', '0'.repeat(31), 'g'.repeat(32)]) expect(() => sipKeyOf(none)).toThrow('hexadecimal');
  });
});
