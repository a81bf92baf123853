// What --verify and --since say of an export once its log has changed: retention has taken events, a recipient was erased, an older backup was put back.

import { readFile, writeFile } from 'node:fs/promises';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { openLogBeside } from '../../src/adapters/sqlite/event-log/beside.ts';
import { createCodec } from '../../src/codec/index.ts';
import type { DomainEvent, RecipientErased } from '../../src/domain/events.ts';
import { eventIdFrom, type EventId, type NotificationId } from '../../src/domain/ids.ts';
import { allTopics } from '../../src/domain/topics.ts';
import { tableNames } from '../../src/export/columns.ts';
import { formats } from '../../src/export/formats/index.ts';
import { splits } from '../../src/export/manifest.ts';
import { trimEventsMax } from '../../src/ports/event-log.ts';
import type { Engines } from '../projections/engines.ts';
import { appendAll, openEngines } from '../projections/engines.ts';
import type { Plan } from '../projections/histories.ts';
import { lifeOf, notificationIdFor, partition, tenants } from '../projections/histories.ts';
import type { Exporting } from './exporting.ts';
import { startExporting } from './exporting.ts';

const plan: Plan = {
  tenant: 0,
  channel: 'IN_APP',
  priority: 'HIGH',
  recipient: 0,
  template: false,
  requestedAfterMs: 0,
  isScheduled: false,
  isCancelled: false,
  steps: ['retry', 'succeeded'],
  isRetriedByHand: false,
  isRead: true,
};
const lives = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => lifeOf({ ...plan, tenant: i % 2 }, from + i)).flat();

let engines: Engines;
let exporting: Exporting;
let beside: ReturnType<typeof openLogBeside>;
let events: readonly DomainEvent[];

/** As the command reads it, over a connection of its own. */
beforeEach(async () => {
  engines = await openEngines();
  events = lives(1, 12);
  await appendAll(engines.log, events);
  beside = openLogBeside({ path: `${engines.folder}/log.db`, codec: createCodec() });
  exporting = await startExporting(beside);
});

afterEach(async () => {
  await exporting.remove();
  await beside.close();
  await engines.close();
});

/** Of each partition so many from its beginning, as retention does. */
async function trimmed(eventsMax: number): Promise<number> {
  let gone = 0;
  for (const topic of allTopics)
    for (const [number, end] of (await engines.log.ends(topic)).entries())
      gone += (await engines.log.trim({ topic, partition: number, from: 0, to: Math.min(end, eventsMax), kept: [] }))
        .events;
  return gone;
}

const erasure = (notificationIds: readonly NotificationId[], eventIds: readonly EventId[] = []): RecipientErased => ({
  type: 'RecipientErased',
  eventId: eventIdFrom('erased', notificationIds.join()),
  occurredAt: engines.clock.now(),
  tenantId: tenants[0] ?? ('' as never),
  traceparent: null,
  partition,
  actor: null,
  notificationIds,
  eventIds,
});

const complete = { wrong: [], deletedEvents: 0, erasedRows: 0, erasedTenants: 0 };

describe('an export, once retention has taken events from the log,', () => {
  it('is complete still, in every table, format and split, and says how many it can not count any more', async () => {
    const names: string[] = [];
    for (const table of tableNames)
      for (const format of formats)
        for (const split of splits) {
          const name = `${table}-${format}-${split}`;
          names.push(name);
          await exporting.export(name, { table, format, split });
          expect([name, await exporting.verified(name)]).toEqual([name, complete]);
        }
    const some = await trimmed(5);
    for (const name of names) {
      const { wrong, deletedEvents, erasedRows } = await exporting.verified(name);
      expect([name, wrong, erasedRows]).toEqual([name, [], 0]);
      expect(deletedEvents).toBeGreaterThan(0);
      if (name.startsWith('events')) expect(deletedEvents).toBe(some);
    }
    expect(some + (await trimmed(trimEventsMax))).toBe(events.length);
    for (const name of names) {
      expect([name, (await exporting.verified(name)).wrong]).toEqual([name, []]);
      expect((await exporting.verified(name)).deletedEvents).toBeGreaterThan(0);
    }
  });

  it('is not complete where the log has what it doesn’t say', async () => {
    await exporting.export('all', { table: 'notifications' });
    await trimmed(5);
    const path = exporting.path('all', 'manifest.json');
    const manifest = JSON.parse(await readFile(path, 'utf8')) as { rows: number; files: { rows: number }[] };
    const [file] = manifest.files;
    if (file === undefined) throw new Error('no file');
    file.rows = manifest.rows = 0;
    await writeFile(path, JSON.stringify(manifest));
    expect(await exporting.verify('all')).toEqual([expect.stringMatching(/^the log gives \d+ rows by now/)]);
  });

  it('is gone on from: what came since is in the next one, also where a partition has nothing left', async () => {
    for (const table of tableNames) await exporting.export(`before-${table}`, { table });
    await trimmed(trimEventsMax);
    for (const topic of allTopics) expect(await beside.ends(topic)).toEqual(await engines.log.ends(topic));
    const later = lives(100, 4);
    await appendAll(engines.log, later);
    for (const table of tableNames) await exporting.exportSince(`since-${table}`, `before-${table}`, { table });
    const ids = (name: string, column: string) =>
      [...new Set(exporting.rows(name).map((row) => String(row[column])))].toSorted();
    expect(ids('since-events', 'eventId')).toEqual(later.map(({ eventId }) => eventId).toSorted());
    expect(ids('since-notifications', 'id')).toEqual([100, 101, 102, 103].map(notificationIdFor).toSorted());
    for (const table of tableNames) expect(await exporting.verified(`since-${table}`)).toEqual(complete);
  });
});

describe('an export, once a recipient was erased,', () => {
  it('is complete and says how many of its rows are to be forgotten; one made anew holds none', async () => {
    for (const table of tableNames) await exporting.export(table, { table, split: 'tenant' });
    await appendAll(engines.log, [erasure([notificationIdFor(3)])]);
    const told = events.filter((event) =>
      event.type === 'InboxRead'
        ? event.notificationIds.includes(notificationIdFor(3))
        : 'notificationId' in event && event.notificationId === notificationIdFor(3),
    );
    expect(told.some(({ type }) => type === 'InboxRead')).toBe(true);
    expect(await exporting.verified('events')).toEqual({ ...complete, erasedRows: told.length });
    expect(await exporting.verified('notifications')).toEqual({ ...complete, erasedRows: 1 });
    expect(await exporting.verified('attempts')).toEqual({ ...complete, erasedRows: 2 });
    for (const table of tableNames) {
      await exporting.export(`${table}-anew`, { table, split: 'tenant' });
      expect(await exporting.verified(`${table}-anew`)).toEqual(complete);
    }
    const of = (row: Readonly<Record<string, unknown>>) => row['id'] === notificationIdFor(3);
    expect(exporting.rows('notifications-anew').find(of)).toMatchObject({ recipient: '', body: '', subject: null });
    expect(exporting.rows('notifications').find(of)?.['recipient']).not.toBe('');
  });

  it('says how many tenants were erased since, whose events nobody reads any more', async () => {
    await exporting.export('all');
    const tenantId = tenants[1] ?? ('' as never);
    const { notificationIds: _, eventIds: __, ...envelope } = erasure([]);
    await appendAll(engines.log, [
      { ...envelope, type: 'TenantErased', eventId: eventIdFrom('gone', tenantId), tenantId },
    ]);
    const { wrong, erasedTenants } = await exporting.verified('all');
    expect([wrong, erasedTenants]).toEqual([[], 1]);
  });

  it('that is gone on from holds nothing of it in what follows', async () => {
    await exporting.export('monday', { table: 'notifications' });
    await appendAll(engines.log, [erasure([notificationIdFor(3)]), ...lifeOf(plan, 3)]);
    await exporting.exportSince('tuesday', 'monday', { table: 'notifications' });
    expect(exporting.rows('tuesday')).toMatchObject([{ id: notificationIdFor(3), recipient: '', body: '' }]);
    expect(await exporting.verified('tuesday')).toEqual(complete);
  });

  it('that was begun by a version which does not say what it knew, says so by its time', async () => {
    await appendAll(engines.log, [erasure([notificationIdFor(1)])]);
    await engines.clock.sleep(3);
    const now = engines.clock.now();
    await exporting.export('all', { clock: { now: () => now } });
    const path = exporting.path('all', 'manifest.json');
    const { erasures: _, ...manifest } = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
    await writeFile(path, JSON.stringify(manifest));
    expect(await exporting.verified('all')).toEqual(complete);
    await engines.clock.sleep(3);
    await appendAll(engines.log, [erasure([notificationIdFor(2)])]);
    expect((await exporting.verified('all')).erasedRows).toBeGreaterThan(0);
  });
});

it('an export whose log was put back from a backup since is not complete', async () => {
  await exporting.export('all');
  const path = exporting.path('all', 'manifest.json');
  const manifest = JSON.parse(await readFile(path, 'utf8')) as { ranges: { to: number; events: number }[] };
  const range = manifest.ranges.find(({ events }) => events > 0);
  if (range === undefined) throw new Error('no events');
  range.to += 10;
  range.events += 10;
  await writeFile(path, JSON.stringify(manifest));
  expect(await exporting.verify('all')).toEqual([
    expect.stringMatching(/ends at \d+, and the export goes on to \d+: the log was put back from a backup since$/),
  ]);
});
