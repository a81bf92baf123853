// The machine's clocks and its randomness.

import { randomFillSync } from 'node:crypto';

import { uuidV7Bytes } from '../../domain/ids.ts';
import type { Clock } from '../../ports/clock.ts';

/** Random bytes are drawn 4 KiB at a time: a draw costs about a microsecond however short it is. */
const poolBytes = 4096;
const uuidRandomBytes = 10;
/** The longest that a timer of Node holds; a longer wait ends then, so callers check the time. */
const sleepMaxMs = 2 ** 31 - 1;

export function createClock(): Clock {
  const pool = new Uint8Array(poolBytes);
  const uuid = new Uint8Array(16);
  let used = poolBytes;

  /** Where in the pool they begin: valid until the next call. */
  const draw = (length: number): number => {
    if (used + length > poolBytes) {
      randomFillSync(pool);
      used = 0;
    }
    used += length;
    return used - length;
  };

  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    random: () => Math.random(),
    randomBytes(length) {
      if (length > poolBytes) return randomFillSync(new Uint8Array(length));
      const at = draw(length);
      const bytes = pool.slice(at, at + length);
      // What was handed out may become a secret: it isn't kept here.
      pool.fill(0, at, at + length);
      return bytes;
    },
    uuidV7: () => uuidV7Bytes(Date.now(), pool, draw(uuidRandomBytes), uuid),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) return resolve();
        // Not by `node:timers/promises`: an abort makes an error with a stack there, for each of many that are asleep.
        const end = () => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', end);
          resolve();
        };
        const timer = setTimeout(end, Math.min(Math.max(ms, 0), sleepMaxMs));
        signal?.addEventListener('abort', end);
      }),
  };
}
