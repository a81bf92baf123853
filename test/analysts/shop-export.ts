// The made-up shop's log, and its three tables as Parquet in a folder each: `export/events`, `export/notifications`, `export/attempts`.

import { join } from 'node:path';

import { createClock } from '../../src/adapters/node/clock.ts';
import { openEventLog } from '../../src/adapters/sqlite/event-log/event-log.ts';
import { createCodec } from '../../src/codec/index.ts';
import type { DomainEvent } from '../../src/domain/events.ts';
import { allTopics, defaultPartitioning } from '../../src/domain/topics.ts';
import { tableNames } from '../../src/export/columns.ts';
import { exportToFolder } from '../../src/export/export.ts';
import { shopEvents } from './history.ts';

/** Appended together, at the time of the last of them. */
const appendMs = 3_600_000;

/** @param folder an empty one */
export async function exportShop(folder: string, ofShop: readonly DomainEvent[] = shopEvents()): Promise<void> {
  let nowMs = 0;
  const clock = { ...createClock(), now: () => nowMs };
  const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
  const shape = { partitioning: defaultPartitioning, topics: allTopics, groups: [] };
  const log = openEventLog({ ...shape, path: join(folder, 'log.db'), codec: createCodec(), clock, logger });
  const ofHours = Map.groupBy(ofShop, ({ occurredAt }) => Math.floor(occurredAt / appendMs));
  for (const [hour, events] of ofHours) {
    nowMs = (hour + 1) * appendMs - 1;
    for (const some of inHundreds(events)) await log.appendAll(some);
  }
  for (const table of tableNames)
    await exportToFolder({
      log: { ...log, id: log.history.id },
      clock,
      folder: join(folder, 'export', table),
      table,
      format: 'parquet',
      split: 'none',
      filter: { tenant: null, channels: null, types: null },
      from: null,
      to: null,
      since: null,
      roundRows: 250_000,
      onProgress: nothing,
    });
  await log.close();
}

function inHundreds(events: readonly DomainEvent[]): readonly (readonly DomainEvent[])[] {
  return Array.from({ length: Math.ceil(events.length / 100) }, (_, i) => events.slice(i * 100, (i + 1) * 100));
}

function nothing(): void {}
