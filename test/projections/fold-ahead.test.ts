// One tenant fills a partition number, and another has a little behind it there: what that sees, whoever is killed, and that nothing is told twice.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { Topic } from '../../src/domain/topics.ts';
import { deliveriesTopic, workTopic } from '../../src/domain/topics.ts';
import type { EventLog } from '../../src/ports/event-log.ts';
import type { Ownership, ReadModelStore } from '../../src/ports/read-model-store.ts';
import { inboxReadModel } from '../../src/projections/inbox/index.ts';
import { listInbox } from '../../src/projections/inbox/queries.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import { getNotification, listNotifications } from '../../src/projections/notifications/queries.ts';
import { runProjector } from '../../src/projections/projector.ts';
import type { RunningProjector } from '../../src/projections/projector.ts';
import type { ReadModel } from '../../src/projections/read-model.ts';
import { rebuild } from '../../src/projections/rebuild.ts';
import { positionsOf, waitForPosition } from '../../src/projections/wait.ts';
import { until } from '../support/until.ts';
import type { Engines } from './engines.ts';
import { appendAll, openEngines } from './engines.ts';
import type { Plan } from './histories.ts';
import { lifeOf, notificationIdFor, partition, tenants } from './histories.ts';

const [busy, other] = [tenants[0]!, tenants[1]!];
/** Three batches of the busy one's requests and as many of its deliveries come before what the other has. */
const many = 1_500;
const few = 5;
const topic = workTopic('IN_APP', 'DEFAULT');

let engines: Engines;

beforeEach(async () => {
  engines = await openEngines();
  await appendAll(engines.log, [...lives(0, 1, many), ...lives(1, many + 1, few)]);
});

afterEach(() => engines.close());

describe.each([
  ['notifications', notificationsReadModel],
  ['inbox', inboxReadModel],
])('the projector of the %s, late on a number that one tenant fills', (_, readModel) => {
  it('folds the others before their turn, and all of it once when that has come', async () => {
    const seen = watched(engines.store);
    const projector = await run(readModel, seen.store);
    await until(() => seen.ownerWhenShown() !== null, { what: 'the other one to be seen' });
    const shown = seen.ownerWhenShown()!;
    // Its first request is behind all of the busy one's.
    expect(shown.offsets.get(topic) ?? 0).toBeLessThan(many);
    expect([...(shown.ahead?.behind ?? [])]).toEqual([busy]);
    await until(() => isFolded(readModel), { what: 'all to be folded' });
    await until(async () => (await engines.store.ahead(readModel.definition.name, partition)) === null);
    await projector.stop();
    await expectAll();
    expect(await comparisonOf(readModel)).toBe(true);
  });

  it('tells the others that it is folded, and the busy one that it is not', async () => {
    const seen = watched(engines.store, (owner) => owner.ahead !== null);
    const projector = await run(readModel, seen.store);
    await seen.isHeld;
    const { name } = readModel.definition;
    const at = { topic, partition, offset: many + few - 1 };
    await until(
      async () => (await positionsOf(engines.store, name, { tenantId: other, partition })).get(topic) === many + few,
    );
    const deps = { reader: engines.store, clock: engines.clock };
    expect(await waitForPosition(deps, readModel, { ...at, tenantId: other }, 0)).toBe(true);
    expect(await waitForPosition(deps, readModel, { ...at, tenantId: busy }, 0)).toBe(false);
    seen.letGo();
    expect(await waitForPosition(deps, readModel, { ...at, tenantId: busy }, 10_000)).toBe(true);
    await projector.stop();
  });

  it('goes on where it was killed, and is compared and rebuilt as it stands then', async () => {
    const seen = watched(engines.store, (owner) => owner.ahead?.offsets.get(topic) === many + few);
    const projector = await run(readModel, seen.store);
    await seen.isHeld;
    seen.fail();
    await projector.stop();
    engines = await engines.reopen();
    const { name } = readModel.definition;
    expect(await engines.store.ahead(name, partition)).toMatchObject({ behind: new Set([busy]) });
    expect((await engines.store.positions(name, partition)).get(topic) ?? 0).toBeLessThan(many);
    await expectOthers();
    expect(await comparisonOf(readModel)).toBe(true);
    await expectAll();
    const again = await run(readModel, engines.store);
    await until(() => isFolded(readModel));
    await again.stop();
    await expectAll();
  });

  it('passes over what can not be read meanwhile, says so, and goes on with its own', async () => {
    const said: string[] = [];
    const logger = { ...engines.logger, warn: (message: string) => void said.push(message) };
    const log: EventLog = {
      ...engines.log,
      survey: () => {
        throw new Error('the log can not be read');
      },
    };
    const projector = await runProjector({ ...engines, log, logger, readModel, keepsOthers: () => true });
    await until(() => isFolded(readModel));
    await projector.stop();
    expect(said).toContain('others can not be folded before their turn');
    await expectAll();
  });

  /** What the reader of this model sees of each tenant. */
  const countOf = async (tenantId: typeof busy): Promise<number> => {
    if (readModel === notificationsReadModel)
      return (await listNotifications(engines.store, tenantId, { status: 'DELIVERED' }, { limit: 1 })).total;
    return (await listInbox(engines.store, tenantId, recipientOf(), { limit: 1 })).unreadCount;
  };

  const expectAll = async () => {
    expect(await countOf(busy)).toBe(many);
    expect(await countOf(other)).toBe(few);
  };

  const expectOthers = async () => {
    expect(await countOf(busy)).toBeLessThan(many);
    expect(await countOf(other)).toBe(few);
  };
});

describe('what is folded before its turn, in pieces since its documents are large', () => {
  it('counts as folded with each piece, no sooner and no later', async () => {
    const { name } = notificationsReadModel.definition;
    const ids = Array.from({ length: few }, (_, i) => many + few + 1 + i);
    const events = ids.flatMap((id) => lifeOf({ ...delivered, tenant: 1 }, id));
    // Two of them fit into a piece.
    const requests = events.flatMap((event) =>
      event.type === 'NotificationRequested'
        ? [{ ...event, request: { ...event.request, body: 'x'.repeat(200_000) } }]
        : [],
    );
    await appendAll(engines.log, requests);
    const before = await run(notificationsReadModel, engines.store);
    await until(async () => (await engines.store.positions(name, partition)).get(topic) === many + 2 * few, {
      what: 'the requests to be folded',
    });
    await before.stop();
    await appendAll(engines.log, lives(0, many + 2 * few + 1, many));
    const deliveries = await appendAll(
      engines.log,
      events.filter(({ type }) => type === 'AttemptSucceeded'),
    );
    const seen: { readonly shown: number; readonly told: number }[] = [];
    const store: ReadModelStore = {
      ...engines.store,
      async transact(...of) {
        const next = await engines.store.transact(...of);
        const records = await Promise.all(
          ids.map((id) => getNotification(engines.store, other, notificationIdFor(id))),
        );
        const folded = (await positionsOf(engines.store, name, { tenantId: other, partition })).get(deliveriesTopic);
        seen.push({
          shown: records.filter((record) => record?.status === 'DELIVERED').length,
          told: deliveries.filter(({ offset }) => offset < (folded ?? 0)).length,
        });
        return next;
      },
    };
    const projector = await run(notificationsReadModel, store);
    await until(() => seen.at(-1)?.shown === few, { what: 'all to be shown' });
    await projector.stop();
    expect(seen.some(({ shown }) => shown > 0 && shown < few)).toBe(true);
    for (const { shown, told } of seen) expect(told).toBe(shown);
  });
});

function lives(tenant: number, from: number, count: number) {
  return Array.from({ length: count }, (_, i) => lifeOf({ ...delivered, tenant }, from + i)).flat();
}

const delivered: Plan = {
  tenant: 0,
  channel: 'IN_APP',
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

function recipientOf(): string {
  const [request] = lifeOf(delivered, 1);
  if (request?.type !== 'NotificationRequested') throw new Error('a life begins with its request');
  return request.recipient;
}

/** Every batch keeps others waiting. */
function run(readModel: ReadModel, store: ReadModelStore): Promise<RunningProjector> {
  return runProjector({ ...engines, store, readModel, keepsOthers: () => true });
}

/** Holds the transaction after the one that leaves an owner as it is wanted; absent: none. */
function watched(store: ReadModelStore, holdsAfter: (owner: Ownership) => boolean = () => false) {
  const held = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let shown: Ownership | null = null;
  let isToBeHeld = false;
  return {
    isHeld: held.promise,
    letGo: () => released.resolve(),
    fail: () => released.reject(new Error('killed')),
    ownerWhenShown: () => shown,
    store: {
      ...store,
      async transact(...of: Parameters<ReadModelStore['transact']>) {
        if (isToBeHeld) {
          held.resolve();
          await released.promise;
        }
        const next = await store.transact(...of);
        isToBeHeld ||= holdsAfter(next);
        if (shown === null && (await isSeen(store))) shown = next;
        return next;
      },
    },
  };
}

/** The other one's last, in whichever read model there is. */
async function isSeen(store: ReadModelStore): Promise<boolean> {
  const id = notificationIdFor(many + few);
  const record = await getNotification(store, other, id).catch(() => null);
  const items = await listInbox(store, other, recipientOf(), { limit: 1 }).catch(() => null);
  return record?.status === 'DELIVERED' || items?.unreadCount === few;
}

async function isFolded({ definition }: ReadModel): Promise<boolean> {
  const offsets = await engines.store.positions(definition.name, partition);
  return [topic, deliveriesTopic].every((of: Topic) => offsets.get(of) === many + few);
}

async function comparisonOf(readModel: ReadModel): Promise<boolean | null> {
  const [result] = await rebuild({ ...engines, readModels: [readModel], onProgress: () => undefined });
  return result?.comparison.equal ?? null;
}
