// What every process has from its first moment on, whatever it does: a clock, a logger, metrics, turns on its thread.

import { createClock } from '../adapters/node/clock.ts';
import { createLogger } from '../adapters/node/logger.ts';
import { createMetrics } from '../adapters/node/metrics.ts';
import { createThreadTurns } from '../adapters/node/thread-turns.ts';
import type { Config } from './config.ts';

export type Process = ReturnType<typeof createProcess>;

export function createProcess(config: Config) {
  const metrics = createMetrics();
  const turns = createThreadTurns(metrics);
  return { clock: createClock(), logger: createLogger({ level: config.LOG_LEVEL }), metrics, turns };
}
