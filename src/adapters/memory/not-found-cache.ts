// What was looked for and isn't there, for a second: a flood of unknown keys asks the store once each.

import type { Clock } from '../../ports/clock.ts';
import { createBoundedCache } from './bounded-cache.ts';

const namesMax = 10_000;
const keptMs = 1000;

export interface NotFoundCache {
  has(name: string): boolean;
  add(name: string): void;
  delete(name: string): void;
  clear(): void;
}

export function createNotFoundCache(clock: Pick<Clock, 'monotonic'>): NotFoundCache {
  const until = createBoundedCache<number>({ weightMax: namesMax });
  return {
    has: (name) => clock.monotonic() < (until.get(name) ?? 0),
    add: (name) => until.set(name, clock.monotonic() + keptMs),
    delete: (name) => until.delete(name),
    clear: () => until.clear(),
  };
}
