// API keys: `nk_`, 32 random base62 characters (190 bits), and 6 that spell the CRC-32 of those 32, so that a typing
// error needs no look-up.

import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';

import { apiKeyPrefix as prefix } from '../../domain/tenant.ts';
import type { ApiKeys } from '../../ports/api-keys.ts';
import type { Clock } from '../../ports/clock.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const base = alphabet.length;
const randomLength = 32;
const checksumLength = 6;
const pattern = new RegExp(`^${prefix}[0-9A-Za-z]{${randomLength + checksumLength}}$`);
/** Bytes from here on are drawn again: 256 is no multiple of 62. */
const unbiasedBytes = Math.floor(256 / base) * base;

export function createApiKeys(clock: Pick<Clock, 'randomBytes'>): ApiKeys {
  return {
    generate() {
      const random = randomText(clock);
      return `${prefix}${random}${checksum(random)}`;
    },
    isWellFormed(apiKey) {
      if (!pattern.test(apiKey)) return false;
      const checksumAt = prefix.length + randomLength;
      return apiKey.slice(checksumAt) === checksum(apiKey.slice(prefix.length, checksumAt));
    },
    hash: (apiKey) => hash('sha256', apiKey, 'hex'),
  };
}

function randomText(clock: Pick<Clock, 'randomBytes'>): string {
  let text = '';
  while (text.length < randomLength) {
    for (const byte of clock.randomBytes(randomLength)) {
      if (byte < unbiasedBytes && text.length < randomLength) text += alphabet[byte % base];
    }
  }
  return text;
}

/** 62^6 > 2^32: six characters hold it, the most significant first. */
function checksum(random: string): string {
  let rest = crc32(random);
  let text = '';
  for (let i = 0; i < checksumLength; i++) {
    text = `${alphabet[rest % base]}${text}`;
    rest = Math.floor(rest / base);
  }
  return text;
}
