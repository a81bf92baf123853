// The machine's own time, for tests whose subject only reads it.

import { randomBytes } from 'node:crypto';

import { uuidV7Bytes } from '../../src/domain/ids.ts';
import type { Clock } from '../../src/ports/clock.ts';

export const wallClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  random: () => Math.random(),
  randomBytes: (length) => randomBytes(length),
  uuidV7: () => uuidV7Bytes(Date.now(), randomBytes(10)),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};
