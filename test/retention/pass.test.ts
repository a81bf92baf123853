// Passes over a log on the embedded engines, by a clock of their own: what a tenant's own retention ends, and what it leaves.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createClock } from '../../src/adapters/node/clock.ts';
import { heldCode } from '../../src/domain/delivery-outcome.ts';
import type { DomainEvent } from '../../src/domain/events.ts';
import type { BatchId, EventId, NotificationId } from '../../src/domain/ids.ts';
import { batchIdOf, notificationIdOf, uuidV7Bytes } from '../../src/domain/ids.ts';
import { clocksDifferMs } from '../../src/domain/lease.ts';
import { batchPartition, deliveriesTopic, partitionsOfTenant } from '../../src/domain/topics.ts';
import { trimEventsMax } from '../../src/ports/event-log.ts';
import { getBatch } from '../../src/projections/notifications/batches.ts';
import { inboxReadModel } from '../../src/projections/inbox/index.ts';
import type { NotificationDocument } from '../../src/projections/notifications/document.ts';
import { notificationsCollection } from '../../src/projections/notifications/document.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import { runProjector } from '../../src/projections/projector.ts';
import { createReach } from '../../src/projections/reach.ts';
import { passOver } from '../../src/retention/pass.ts';
import type { Engines } from '../projections/engines.ts';
import { appendAll, openEngines } from '../projections/engines.ts';
import type { Plan } from '../projections/histories.ts';
import { lifeOf, noon, partition, tenants } from '../projections/histories.ts';
import { until } from '../support/until.ts';

const hourMs = 3_600_000;
const [tenantId] = tenants as [(typeof tenants)[number]];
const delivered: Plan = {
  tenant: 0,
  channel: 'EMAIL',
  priority: 'DEFAULT',
  recipient: 0,
  template: false,
  requestedAfterMs: 0,
  isScheduled: false,
  isCancelled: false,
  steps: ['succeeded'],
  isRetriedByHand: false,
  isRead: false,
};

let engines: Engines;
let projector: Awaited<ReturnType<typeof runProjector>>;
let now: number;

beforeEach(async () => {
  now = noon;
  engines = await openEngines({ ...createClock(), now: () => now });
  projector = await runProjector({ ...engines, readModel: notificationsReadModel });
  await engines.store.noteCaughtUp(notificationsReadModel.definition.name);
});
afterEach(async () => {
  await projector.stop();
  await engines.close();
});

const recordsThere = async (ids: readonly NotificationId[]): Promise<string[]> => [
  ...(await engines.store.get<NotificationDocument>(notificationsCollection.name, ids)).keys(),
];

/** As the keeper does it where everybody else keeps all: as often as it takes, since the records come behind. */
const pass = async (
  keptMs: number,
  partitions: readonly number[] = [partition],
  horizon: number | null = null,
): Promise<void> => {
  const reach = createReach({ log: engines.log, readModel: notificationsReadModel });
  const own = { inTurn: <T>(work: () => Promise<T>) => work(), moved: () => undefined };
  const deps = { ...engines, ...own, reader: engines.store, reach };
  const { signal } = new AbortController();
  const of = { signal, horizon, statisticsHorizon: null, settled: new Map(), looked: new Map() };
  const tenantsOwn = new Map([[tenantId, now - keptMs]]);
  for (const number of partitions)
    await until(() => passOver(deps, { ...of, partition: number, tenants: tenantsOwn }), { what: 'the pass' });
};

/** Ids of test notifications are those of keys: of a day, and no more. */
const withoutKey = (events: readonly DomainEvent[]): { id: NotificationId; events: DomainEvent[] } => {
  const id = notificationIdOf(new Uint8Array([0, 0, 0, 0, 0, 1, ...new Uint8Array(10)]));
  return { id, events: events.map((event) => ({ ...event, notificationId: id }) as DomainEvent) };
};

it("a tenant's own retention leaves what came under an Idempotency-Key until the key is over", async () => {
  const keyed = lifeOf(delivered, 2);
  const other = withoutKey(lifeOf(delivered, 4));
  const [first] = keyed;
  const ids = [...(first !== undefined && 'notificationId' in first ? [first.notificationId] : []), other.id];
  await appendAll(engines.log, [...keyed, ...other.events]);
  await until(async () => (await recordsThere(ids)).length === 2, { what: 'both records' });
  now = noon + 2 * hourMs;
  await pass(hourMs);
  expect(await recordsThere(ids)).toEqual(ids.slice(0, 1));
  now = noon + 24 * hourMs + clocksDifferMs;
  await pass(hourMs);
  expect(await recordsThere(ids)).toEqual([]);
});

it("a tenant's own retention ends a batch with its last notification, in whichever number that is", async () => {
  const { partitioning } = engines.log;
  const home = partitionsOfTenant(tenantId, partitioning).find((number) => number !== partition) ?? 0;
  const [batchId, rejectedId] = batchesOf(home) as [BatchId, BatchId];
  const events = lifeOf({ ...delivered, steps: ['retry', 'succeeded'] }, 2).map((event) =>
    event.type === 'NotificationRequested' ? { ...event, request: { ...event.request, batchId } } : event,
  );
  const said = { eventId: 'batch-1' as EventId, occurredAt: noon, tenantId, traceparent: null, partition: home };
  await appendAll(engines.log, [
    ...events,
    { type: 'BatchAccepted', ...said, batchId, accepted: 1, rejected: 7 },
    { type: 'BatchAccepted', ...said, eventId: 'batch-2' as EventId, batchId: rejectedId, accepted: 0, rejected: 3 },
  ]);
  const batch = (id: BatchId) => getBatch(engines.store, tenantId, id, partitioning.partitions);
  await until(async () => (await batch(batchId))?.statusCounts.DELIVERED === 1, { what: 'the batch' });
  now = noon + 30 * hourMs;
  await pass(hourMs, [home]);
  expect([(await batch(batchId))?.rejected, await batch(rejectedId)]).toEqual([7, null]);
  await pass(hourMs, [partition]);
  await pass(hourMs, [home]);
  expect(await batch(batchId)).toBeNull();
});

it.each([
  ["a tenant's own", null],
  ["everybody's", 24 * hourMs],
])('%s retention leaves what a restored backup holds, for as long as it keeps anything', async (_, everybodysMs) => {
  // It waited for ten days, and is held since a restore.
  const heldAt = noon + 240 * hourMs;
  const { id, events } = withoutKey(lifeOf({ ...delivered, steps: ['final'] }, 2));
  await appendAll(
    engines.log,
    events.map((event): DomainEvent =>
      event.type === 'AttemptFailed' ? { ...event, occurredAt: heldAt, code: heldCode } : event,
    ),
  );
  await until(async () => (await recordsThere([id])).length === 1, { what: 'the record' });
  const after = async (ms: number) => {
    now = heldAt + ms;
    await pass(24 * hourMs, [partition], everybodysMs === null ? null : now - everybodysMs);
    return recordsThere([id]);
  };
  expect([await after(hourMs), await after(23 * hourMs), await after(25 * hourMs)]).toEqual([[id], [id], []]);
});

const said = (name: string) => ({
  eventId: name as EventId,
  occurredAt: noon,
  tenantId,
  traceparent: null,
  partition,
});

describe("an erased tenant's events", () => {
  // Of everybody's, inboxes are asked for what is left as well.
  beforeEach(() => engines.store.prepare(inboxReadModel.definition));

  const erase = async (): Promise<void> => {
    await appendAll(engines.log, [{ type: 'TenantErased', ...said('erased'), actor: null }]);
    await until(() => engines.log.isTenantErased(tenantId), { what: 'the erasure' });
  };
  /** Everybody's retention, of a day. */
  const passOfAll = async (): Promise<void> => {
    now = noon + 1000 * hourMs;
    await pass(24 * hourMs, [partition], now - 24 * hourMs);
  };
  const left = async (): Promise<number> => {
    const [starts, ends] = await Promise.all([engines.log.starts(deliveriesTopic), engines.log.ends(deliveriesTopic)]);
    return (ends[partition] ?? 0) - (starts[partition] ?? 0);
  };
  const ofOther = (): DomainEvent[] => lifeOf({ ...delivered, tenant: 1 }, 5).map((event) => ({ ...event, partition }));

  it.each([
    ['where they are the last of a partition', 1, []],
    ['where others are behind more of them than are trimmed at once', trimEventsMax, ofOther()],
  ])('end with retention as those of others do, %s', async (_, lives, others) => {
    await erase();
    const own = Array.from({ length: lives }, () => lifeOf(delivered, 2)).flat();
    await appendAll(engines.log, [...own, ...others]);
    expect(await left()).toBeGreaterThan(0);
    await passOfAll();
    expect(await left()).toBe(0);
  });

  it('stay until its erasure has named what the records have of them', async () => {
    const events = lifeOf(delivered, 2);
    const [id] = events.flatMap((event) => ('notificationId' in event ? [event.notificationId] : []));
    if (id === undefined) throw new Error('it has one');
    await appendAll(engines.log, events);
    await until(async () => (await recordsThere([id])).length === 1, { what: 'the record' });
    await erase();
    const before = await left();
    await passOfAll();
    expect([await left(), await recordsThere([id])]).toEqual([before, [id]]);
    const named = { notificationIds: [id], batchIds: [], endedDays: [] };
    await appendAll(engines.log, [{ type: 'TenantForgotten', ...said('forgotten'), ...named }]);
    await until(async () => (await recordsThere([id])).length === 0, { what: 'the record to go' });
    await passOfAll();
    expect(await left()).toBe(0);
  });
});

/** Some whose number is this one. */
const batchesOf = (number: number): BatchId[] =>
  Array.from({ length: 20 }, (_, n) => batchIdOf(uuidV7Bytes(noon, new Uint8Array(10).fill(n)))).filter(
    (id) => batchPartition(tenantId, id, engines.log.partitioning) === number,
  );
