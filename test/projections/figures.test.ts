// Statistics, failures, lists and records say the same, in every range and grouping, whatever came in which order and how often.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from '@jest/globals';

import { createClock } from '../../src/adapters/node/clock.ts';
import { openReadModelStore } from '../../src/adapters/sqlite/read-models/store.ts';
import { channels, priorities } from '../../src/domain/events.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import type { ListedNotification } from '../../src/projections/notifications/document.ts';
import { failures } from '../../src/projections/notifications/failures.ts';
import type { NotificationFilter } from '../../src/projections/notifications/filter.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import { listNotifications } from '../../src/projections/notifications/queries.ts';
import { resolutionMs, resolutions } from '../../src/projections/notifications/resolutions.ts';
import type { StatisticsRange } from '../../src/projections/notifications/statistics-range.ts';
import { widened } from '../../src/projections/notifications/statistics-range.ts';
import type { CountedOnly } from '../../src/projections/notifications/statistics.ts';
import { statistics } from '../../src/projections/notifications/statistics.ts';
import { offsetsAfter } from '../../src/projections/read-model.ts';
import { silentLogger as logger } from '../adapters/sqlite/silent-logger.ts';
import fc from '../support/properties.ts';
import { anyHistory, batches, interleaved, noon, partition, withRepeats } from './histories.ts';

type Store = ReturnType<typeof openReadModelStore>;

const folder = mkdtempSync(join(tmpdir(), 'herald-figures-'));
afterAll(() => rmSync(folder, { recursive: true }));

const tenant = 'tnt_a' as TenantId;

const { day, minute } = resolutionMs;
const anyTime = fc.integer({ min: noon - day, max: noon + 5 * day });
const anyRange: fc.Arbitrary<StatisticsRange> = fc
  .record({ ends: fc.tuple(anyTime, anyTime), step: fc.constantFrom(...resolutions) })
  .map(({ ends: [a, b], step }) => ({ from: Math.min(a, b), to: Math.max(a, b) + 1, step }));
const anyOnly: fc.Arbitrary<CountedOnly> = fc.record(
  {
    channel: fc.constantFrom(...channels),
    priority: fc.constantFrom(...priorities),
    provider: fc.constantFrom('p', 'q'),
  },
  { requiredKeys: [] },
);

describe('the figures', () => {
  it('are those of the records', async () => {
    let nth = 0;
    await fc.assert(
      fc.asyncProperty(anyHistory, fc.integer(), anyRange, anyOnly, async (history, seed, range, only) => {
        const store = openReadModelStore({ path: join(folder, `${++nth}.db`), clock: createClock(), logger });
        await store.prepare(notificationsReadModel.definition);
        let owner = await store.own(notificationsReadModel.definition.name, partition, { generation: 1 });
        for (const batch of batches(interleaved(withRepeats(history, seed), seed), seed))
          owner = await store.transact(owner, offsetsAfter(batch), await notificationsReadModel.fold(batch, store));
        const { records } = await listNotifications(store, tenant, {}, { limit: 100 });
        await agree(store, records, range, only);
        await store.close();
      }),
      { numRuns: 60 },
    );
  }, 60_000);
});

async function agree(store: Store, records: readonly ListedNotification[], range: StatisticsRange, only: CountedOnly) {
  const { from, to } = widened(range);
  const isWithin = (time: number) => time >= from && time < to;
  const isOf = (record: ListedNotification) =>
    (only.channel ?? record.channel) === record.channel &&
    (only.priority ?? record.priority) === record.priority &&
    (only.provider === undefined || only.provider === lastOutcome(record)?.provider);

  const requested = records.filter((record) => isWithin(record.requestedAt) && isOf(record));
  const told = await statistics(store, tenant, range, only);
  expect(withoutZeros(told.statusCounts)).toEqual(grouped(requested, ({ status }) => status));
  expect(withoutZeros(told.channelCounts)).toEqual(grouped(requested, ({ channel }) => channel));
  expect(withoutZeros(told.priorityCounts)).toEqual(grouped(requested, ({ priority }) => priority));
  expect(told.latency.p99 === null).toBe(requested.every(({ status }) => status !== 'DELIVERED'));
  expect(pointsOf(told.series.map(({ at, requested: count }) => ({ at, count })))).toEqual(
    grouped(requested, ({ requestedAt }) => startOf(range, requestedAt)),
  );

  const { priority: _, ...onlyFailed } = only;
  const failed = records.filter(
    (record) =>
      record.status === 'FAILED' &&
      isWithin(lastOutcome(record)?.occurredAt ?? 0) &&
      isOf({ ...record, priority: only.priority ?? record.priority }),
  );
  const found = await failures(store, tenant, range, onlyFailed);
  expect(found.total).toBe(failed.length);
  expect(pointsOf(found.series)).toEqual(
    grouped(failed, (record) => startOf(range, lastOutcome(record)?.occurredAt ?? 0)),
  );
  const byCause = Map.groupBy(failed, causeOf);
  expect(new Set(found.causes.map((cause) => `${cause.failureClass} ${cause.provider} ${cause.code}`))).toEqual(
    new Set(byCause.keys()),
  );
  for (const cause of found.causes) {
    const ofCause = byCause.get(`${cause.failureClass} ${cause.provider} ${cause.code}`) ?? [];
    const times = ofCause.map((record) => lastOutcome(record)?.occurredAt ?? 0).sort((a, b) => a - b);
    expect(cause).toMatchObject({ count: ofCause.length, firstAt: times[0], lastAt: times.at(-1) });
    expect(cause.examples).toHaveLength(Math.min(3, ofCause.length));
    expect(ofCause.map(({ id }) => id)).toEqual(expect.arrayContaining([...cause.examples]));
  }

  const failedFilter: NotificationFilter = { ...onlyFailed, failedFrom: from, failedTo: to };
  for (const filter of [
    failedFilter,
    { ...failedFilter, from: 0 },
    { ...failedFilter, failedFrom: from - minute / 2 },
  ]) {
    const list = await listNotifications(store, tenant, filter, { limit: 100 });
    expect(list.total).toBe(list.records.length);
    if (filter.failedFrom === from) expect(ids(list.records)).toEqual(ids(failed));
  }
}

function lastOutcome({ attempts }: ListedNotification) {
  return attempts.flatMap(({ outcome }) => (outcome === null ? [] : [outcome])).at(-1);
}

function causeOf(record: ListedNotification): string {
  const outcome = lastOutcome(record);
  if (outcome?.kind !== 'failed') throw new Error(`${record.id} has not failed`);
  return `${outcome.failureClass} ${outcome.provider} ${outcome.code}`;
}

function startOf({ step }: StatisticsRange, time: number): string {
  return String(time - (time % resolutionMs[step]));
}

function pointsOf(series: readonly { readonly at: number; readonly count: number }[]): Record<string, number> {
  return withoutZeros(Object.fromEntries(series.map(({ at, count }) => [String(at), count])));
}

function ids(records: readonly ListedNotification[]): string[] {
  return records.map(({ id }) => id).sort();
}

function grouped(
  records: readonly ListedNotification[],
  keyOf: (record: ListedNotification) => string,
): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(records, keyOf)].map(([key, of]) => [key, of.length]));
}

function withoutZeros(counts: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}
