// Gaps made on purpose in a real log and real read models: each is named, nothing else is, and what is taken up again is taken up once.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { DomainEvent } from '../../src/domain/events.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { eventIdFrom } from '../../src/domain/ids.ts';
import { channels, priorities } from '../../src/domain/events.ts';
import { retentionTopic, workTopic } from '../../src/domain/topics.ts';
import type { Claim } from '../../src/ports/event-log.ts';
import type { Document, ReadModelReader } from '../../src/ports/read-model-store.ts';
import { noteWhenCaughtUp } from '../../src/projections/catching-up.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import { runProjector } from '../../src/projections/projector.ts';
import type { FoldReader, ReadModel } from '../../src/projections/read-model.ts';
import { createServingReader } from '../../src/projections/serving-reader.ts';
import { timersReadModel } from '../../src/projections/timers/index.ts';
import type { Gap } from '../../src/reconcile/reconcile.ts';
import { reconcile } from '../../src/reconcile/reconcile.ts';
import { takeUpAgain } from '../../src/reconcile/repair.ts';
import { until } from '../support/until.ts';
import type { Engines } from '../projections/engines.ts';
import { appendAll, openEngines } from '../projections/engines.ts';
import type { Plan } from '../projections/histories.ts';
import { lifeOf, notificationIdFor, partition, tenants } from '../projections/histories.ts';

const topic = workTopic('EMAIL', 'HIGH');
const group = 'dispatcher-email';
const plan: Plan = {
  tenant: 0,
  channel: 'EMAIL',
  priority: 'HIGH',
  recipient: 0,
  template: false,
  requestedAfterMs: 0,
  isScheduled: false,
  isCancelled: false,
  steps: [],
  isRetriedByHand: false,
  isRead: false,
};

let engines: Engines;

beforeEach(async () => {
  engines = await openEngines();
});

afterEach(() => engines.close());

async function reconciled(
  more: { readonly youngerThanMs?: number; readonly openMax?: number; readonly reader?: ReadModelReader } = {},
) {
  const gaps: Gap[] = [];
  const { account } = await reconcile({
    ...engines,
    reader: engines.store,
    groupOf: (of) => `dispatcher-${of.split('.')[1] ?? ''}`,
    // What was appended in this very millisecond is old enough.
    clock: { ...engines.clock, now: () => engines.clock.now() + 1 },
    youngerThanMs: 0,
    onGap: async (gap) => void gaps.push(gap),
    onProgress: () => undefined,
    ...more,
  });
  return { gaps, named: gaps.map(({ kind, notificationId }) => `${kind} ${notificationId}`), ...account.total() };
}

/** As a dispatcher that has finished everything so far, whether it did or not. */
async function passOver(): Promise<void> {
  const topics = channels.flatMap((channel) => priorities.map((priority) => workTopic(channel, priority)));
  const claims: Claim[] = [];
  const consumer = await engines.log.consume({
    group,
    topics,
    owned: (claim) => void claims.push(claim),
    lost: () => undefined,
  });
  const claim = await until(() => claims.find((of) => of.partition === partition));
  const end = (await engines.log.ends(topic))[partition] ?? 0;
  await claim.commit([{ topic, offset: end, metadata: '' }]);
  await consumer.stop();
}

async function fold(): Promise<void> {
  const readModels = [notificationsReadModel, timersReadModel];
  const running = await Promise.all(readModels.map((readModel) => runProjector({ ...engines, readModel })));
  const ends = async (of: string) => (await engines.log.ends(of))[partition] ?? 0;
  for (const followed of [topic, 'notifications.deliveries', retentionTopic]) {
    await until(async () => {
      const positions = await engines.store.positions('notifications_2', partition);
      return (positions.get(followed) ?? 0) >= (await ends(followed));
    });
  }
  await Promise.all(running.map((one) => one.stop()));
}

describe('reconciling', () => {
  it('a whole history finds no gap, and counts what waits', async () => {
    await appendAll(engines.log, [
      ...lifeOf({ ...plan, steps: ['succeeded'] }, 1),
      ...lifeOf({ ...plan, steps: ['final'] }, 2),
    ]);
    await passOver();
    await appendAll(engines.log, lifeOf(plan, 3));
    await fold();
    expect(await reconciled()).toMatchObject({ named: [], accepted: 3, ended: 2, waiting: 1, lost: 0, unseen: 0 });
  });

  it('asks the read model that serves while another is filled beside it, however far that is', async () => {
    const before = (name: string) => `${name}_before`;
    const { definition } = notificationsReadModel;
    const collections = definition.collections.map((of) => ({ ...of, name: before(of.name) }));
    const former: ReadModel = {
      ...notificationsReadModel,
      definition: { name: before(definition.name), collections },
      async fold(entries, reader) {
        const get = <D extends Document>(collection: string, ids: readonly string[]) =>
          reader.get<D>(before(collection), ids);
        const writes = await notificationsReadModel.fold(entries, { ...reader, get } satisfies FoldReader);
        return writes.map((write) => ({ ...write, collection: before(write.collection) }));
      },
    };
    const names = Object.fromEntries(definition.collections.map(({ name }) => [name, before(name)]));
    const replacing: ReadModel = { ...notificationsReadModel, replaces: { readModel: former, collections: names } };
    await appendAll(
      engines.log,
      [1, 2].flatMap((number) => lifeOf({ ...plan, steps: ['succeeded'] }, number)),
    );
    await passOver();
    const caughtUp = noteWhenCaughtUp({ ...engines, readModel: former, signal: new AbortController().signal });
    const projector = await runProjector({ ...engines, readModel: former });
    await caughtUp;
    await projector.stop();
    const owner = await engines.store.own(former.definition.name, partition, { generation: 1000 });
    const missing = { collection: before('notifications_2'), id: notificationIdFor(1), document: null };
    await engines.store.transact(owner, new Map(), [missing]);
    // What is filled has both by now, and nobody has said that it is in use.
    await fold();
    const reader = createServingReader({ ...engines, reader: engines.store, readModels: [replacing] });
    expect(await reconciled({ reader })).toMatchObject({ named: [`unseen ${notificationIdFor(1)}`], ended: 2 });
    await engines.store.noteCaughtUp(definition.name);
    const afterwards = createServingReader({ ...engines, reader: engines.store, readModels: [replacing] });
    expect(await reconciled({ reader: afterwards })).toMatchObject({ named: [], ended: 2 });
  });

  it('takes what retention has ended for no gap, though the log still has some of it', async () => {
    const [, ...afterwards] = lifeOf({ ...plan, steps: ['succeeded'] }, 1);
    const life = lifeOf({ ...plan, steps: ['succeeded'] }, 2);
    const forgotten: DomainEvent = {
      type: 'NotificationsForgotten',
      eventId: eventIdFrom('forgotten', partition, 1),
      occurredAt: engines.clock.now(),
      tenantId: tenants[0] as TenantId,
      traceparent: null,
      partition,
      sequence: 1,
      follows: null,
      notificationIds: [notificationIdFor(1), notificationIdFor(2)],
      batchIds: [],
      kept: [],
      endedDays: [],
    };
    await appendAll(engines.log, [...afterwards, ...life, forgotten]);
    await passOver();
    await fold();
    expect(await reconciled()).toMatchObject({ named: [], accepted: 0, waiting: 0, lost: 0, unseen: 0 });
  });

  it('names what a dispatcher has passed over; taken up again it waits for its turn, and a second time changes nothing', async () => {
    const skipped = lifeOf(plan, 1);
    await appendAll(engines.log, [...skipped, ...lifeOf({ ...plan, steps: ['succeeded'] }, 2)]);
    await passOver();
    await fold();
    expect(await reconciled({ youngerThanMs: 60_000 })).toMatchObject({ named: [], waiting: 1 });
    const { gaps, named, lost } = await reconciled();
    expect([named, lost]).toEqual([[`lost ${notificationIdFor(1)}`], 1]);
    expect(gaps[0]?.why).toContain(`${group} has passed over ${topic}/${partition}@0`);

    for (const { since } of gaps) if (since !== null) await takeUpAgain({ log: engines.log, now: 5 }, since);
    const appended = await lastOf();
    expect(appended).toMatchObject({
      type: 'DeliveryDue',
      eventId: eventIdFrom('due', skipped[0]?.eventId ?? ''),
      notificationId: notificationIdFor(1),
      attempt: 1,
      firstAttempt: 1,
      request: { body: expect.any(String) },
    });
    expect(await reconciled()).toMatchObject({ named: [], waiting: 1, ended: 1, lost: 0 });
  });

  it('names a timer that is not there, and takes it up with the id that the scheduler would have given', async () => {
    const waiting = lifeOf({ ...plan, steps: ['retry'] }, 1).slice(0, 2);
    await appendAll(engines.log, waiting);
    await passOver();
    await fold();
    expect(await reconciled()).toMatchObject({ named: [], waiting: 1 });
    const owner = await engines.store.own('timers', partition, { generation: 100 });
    const gone = { collection: 'timers', id: notificationIdFor(1), document: null };
    await engines.store.transact(owner, new Map(), [gone]);
    const { gaps, named } = await reconciled();
    expect(named).toEqual([`lost ${notificationIdFor(1)}`]);
    for (const { since } of gaps) if (since !== null) await takeUpAgain({ log: engines.log, now: 5 }, since);
    expect(await lastOf()).toMatchObject({ eventId: eventIdFrom('due', waiting[0]?.eventId ?? ''), attempt: 2 });
    expect(await reconciled()).toMatchObject({ named: [], waiting: 1, lost: 0 });
  });

  it('names what a read model lacks of what it has folded, and not what it has still to fold', async () => {
    await appendAll(
      engines.log,
      [1, 2, 3].flatMap((number) => lifeOf({ ...plan, steps: ['succeeded'] }, number)),
    );
    await fold();
    await passOver();
    const owner = await engines.store.own('notifications_2', partition, { generation: 100 });
    const gone = { collection: 'notifications_2', id: notificationIdFor(2), document: null };
    await engines.store.transact(owner, new Map(), [gone]);
    await appendAll(engines.log, lifeOf({ ...plan, steps: ['succeeded'] }, 4));
    expect(await reconciled()).toMatchObject({ named: [`unseen ${notificationIdFor(2)}`], ended: 4, unseen: 1 });
  });

  it('says the same in several passes, where one would hold too many at once', async () => {
    const numbers = Array.from({ length: 40 }, (_, i) => i + 1);
    await appendAll(
      engines.log,
      numbers.flatMap((number) => lifeOf(plan, number)),
    );
    await appendAll(
      engines.log,
      numbers.slice(0, 20).flatMap((number) => lifeOf({ ...plan, steps: ['succeeded'] }, number)),
    );
    await passOver();
    await fold();
    const whole = await reconciled();
    expect(whole).toMatchObject({ accepted: 40, ended: 20, lost: 20 });
    const inPasses = await reconciled({ openMax: 12 });
    expect({ ...inPasses, gaps: [], named: inPasses.named.toSorted() }).toEqual({
      ...whole,
      gaps: [],
      named: whole.named.toSorted(),
    });
  });
});

async function lastOf(): Promise<DomainEvent | null> {
  const end = (await engines.log.ends(topic))[partition] ?? 0;
  for await (const { event } of engines.log.read({ topic, partition, from: end - 1, to: end })) return event;
  return null;
}
