// Limits of one process: exact fixed windows in memory.

import { createFixedWindows } from '../../domain/fixed-windows.ts';
import type { RateLimiter } from '../../ports/rate-limiter.ts';

export function createMemoryRateLimiter(): RateLimiter {
  const windows = createFixedWindows();
  return {
    async take(key, limit, cost = 1) {
      return windows.take(key, limit, cost, performance.now());
    },
    async pace(key, limit) {
      return windows.pace(key, limit, performance.now());
    },
    async close() {
      // It holds nothing but memory.
    },
  };
}
