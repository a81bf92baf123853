// API keys: their spelling, their checksum, and randomness without a bias.

import { describe, expect, it } from '@jest/globals';

import { createApiKeys } from '../../../src/adapters/node/api-keys.ts';
import { createClock } from '../../../src/adapters/node/clock.ts';

describe('API keys', () => {
  const apiKeys = createApiKeys(createClock());
  const keys = Array.from({ length: 2000 }, () => apiKeys.generate());

  it('are nk_ and 38 characters of base62, well formed, and never the same', () => {
    for (const key of keys) {
      expect(key).toMatch(/^nk_[0-9A-Za-z]{38}$/);
      expect(apiKeys.isWellFormed(key)).toBe(true);
    }
    expect(new Set(keys).size).toBe(2000);
  });

  it('with a character changed, two swapped, one more or one less are malformed', () => {
    for (const key of keys.slice(0, 20)) {
      for (let i = 0; i < key.length; i++) {
        const changed = key.slice(0, i) + (key[i] === 'x' ? 'y' : 'x') + key.slice(i + 1);
        expect(apiKeys.isWellFormed(changed)).toBe(false);
        const swapped = key.slice(0, i) + (key[i + 1] ?? '') + (key[i] ?? '') + key.slice(i + 2);
        expect(swapped === key || !apiKeys.isWellFormed(swapped)).toBe(true);
      }
      for (const other of [`${key}0`, key.slice(0, -1), ` ${key}`, `${key}\n`, key.toUpperCase(), '']) {
        expect(apiKeys.isWellFormed(other)).toBe(false);
      }
    }
  });

  it('are spelled as ever: a key of an earlier day is still well formed', () => {
    expect(apiKeys.isWellFormed('nk_07ELSZgnu18FMTahov29GNUbipw3AHOV3cqvrR')).toBe(true);
  });

  it('use every character equally often', () => {
    const counts = new Map<string, number>();
    for (const key of keys)
      for (const character of key.slice(3, 35)) counts.set(character, (counts.get(character) ?? 0) + 1);
    // 64,000 draws of 62: 1032 each, standard deviation 32. Bytes taken modulo 62 would give eight characters 25 % more.
    expect(counts.size).toBe(62);
    for (const count of counts.values()) expect(Math.abs(count - 1032)).toBeLessThan(6 * 32);
  });

  it('are looked up by the SHA-256 of their text', () => {
    expect(apiKeys.hash('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
