// The embedded engines in a folder of their own, as the composition root connects them, in one thread.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { SqliteEventLog } from '../../src/adapters/sqlite/event-log/event-log.ts';
import { openEventLog } from '../../src/adapters/sqlite/event-log/event-log.ts';
import { openReadModelStore } from '../../src/adapters/sqlite/read-models/store.ts';
import { createClock } from '../../src/adapters/node/clock.ts';
import { createCodec } from '../../src/codec/index.ts';
import type { DomainEvent } from '../../src/domain/events.ts';
import { allTopics, defaultPartitioning } from '../../src/domain/topics.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Position } from '../../src/ports/event-log.ts';
import type { Logger } from '../../src/ports/logger.ts';
import type { Metrics } from '../../src/ports/metrics.ts';
import { readModels } from '../../src/projections/index.ts';
import { projectorGroup } from '../../src/projections/projector.ts';

export type Store = ReturnType<typeof openReadModelStore>;

export interface Engines {
  readonly log: SqliteEventLog;
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly folder: string;
  /** By name of the counter. */
  readonly counted: ReadonlyMap<string, number>;
  /** Closes both and opens them again, as a restart does. */
  reopen(): Promise<Engines>;
  close(): Promise<void>;
}

export async function openEngines(clock: Clock = createClock()): Promise<Engines> {
  return openIn(await mkdtemp(join(tmpdir(), 'herald-projections-')), clock);
}

/** Appends all and waits until each is durable. */
export async function appendAll(log: SqliteEventLog, events: readonly DomainEvent[]): Promise<Position[]> {
  const results = await Promise.all(events.map((event) => log.append(event)));
  return results.map((result) => {
    if (result.kind !== 'durable') throw new Error(`not appended: ${result.reason}`);
    return result.position;
  });
}

async function openIn(folder: string, clock: Clock): Promise<Engines> {
  const logger = silentLogger();
  const { metrics, counted } = countingMetrics();
  const groups = readModels.map(({ definition, topics }) => ({ group: projectorGroup(definition.name), topics }));
  const shape = { partitioning: defaultPartitioning, topics: allTopics, groups };
  const log = openEventLog({ path: join(folder, 'log.db'), codec: createCodec(), clock, logger, ...shape });
  const store = openReadModelStore({ path: join(folder, 'views.db'), clock: createClock(), logger });
  const closeBoth = async (): Promise<void> => {
    await log.close();
    await store.close();
  };
  return {
    log,
    store,
    clock,
    logger,
    metrics,
    folder,
    counted,
    async reopen() {
      await closeBoth();
      return openIn(folder, clock);
    },
    async close() {
      await closeBoth();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function silentLogger(): Logger {
  const silent = (): void => undefined;
  return { debug: silent, info: silent, warn: silent, error: silent };
}

function countingMetrics(): { metrics: Metrics; counted: Map<string, number> } {
  const counted = new Map<string, number>();
  return {
    counted,
    metrics: {
      increment: (name, _labels, by = 1) => void counted.set(name, (counted.get(name) ?? 0) + by),
      observe: () => undefined,
      gauge: () => undefined,
      gauges: () => undefined,
    },
  };
}
