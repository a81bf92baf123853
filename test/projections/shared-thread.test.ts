// Projectors of several read models on one thread: a number with little to fold waits neither for others' large batches nor, while little happens, for a beat.

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import type { DomainEvent } from '../../src/domain/events.ts';
import { inboxReadModel } from '../../src/projections/inbox/index.ts';
import type { InboxItemDocument } from '../../src/projections/inbox/documents.ts';
import { itemsCollection } from '../../src/projections/inbox/documents.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import { runProjector } from '../../src/projections/projector.ts';
import type { ReadModel } from '../../src/projections/read-model.ts';
import { searchReadModel } from '../../src/projections/search/index.ts';
import { createTurns } from '../../src/projections/turns.ts';
import { until } from '../support/until.ts';
import type { Engines } from './engines.ts';
import { appendAll, openEngines } from './engines.ts';
import type { Plan } from './histories.ts';
import { lifeOf, notificationIdFor } from './histories.ts';

/** Those that must not lag. */
const prompt: readonly ReadModel[] = [notificationsReadModel, inboxReadModel];

let engines: Engines;

beforeEach(async () => {
  engines = await openEngines();
});

afterEach(() => engines.close());

it('of large batches one is folded at a time, however many numbers and read models have them', async () => {
  const numbers = [1, 2, 3, 4];
  const notifications = numbers.flatMap((partition) =>
    Array.from({ length: 5 }, (_, i) => inAppOf(10 * partition + i, partition, 'x'.repeat(195 * 1024))),
  );
  for (const events of notifications) await appendAll(engines.log, events);
  let [underWay, most, written] = [0, 0, 0];
  const transact: Engines['store']['transact'] = async (owner, offsets, writes) => {
    const isLarge = JSON.stringify(writes).length > 100 * 1024;
    if (isLarge) most = Math.max(most, ++underWay);
    try {
      return await engines.store.transact(owner, offsets, writes);
    } finally {
      if (isLarge) [underWay, written] = [underWay - 1, written + 1];
    }
  };
  const stop = await foldBy({ ...engines, store: { ...engines.store, transact } }, [...prompt, searchReadModel]);
  const isFolded = async () => (await shown(notifications.length * 10)) >= notifications.length;
  await until(isFolded, { what: 'all items to be shown' });
  await stop();
  expect(written).toBeGreaterThanOrEqual(notifications.length);
  expect(most).toBe(1);
});

it('what follows at once on a quiet thread waits for no beat', async () => {
  const rests: number[] = [];
  const sleep: Engines['clock']['sleep'] = (ms, signal) => {
    rests.push(ms);
    return engines.clock.sleep(ms, signal);
  };
  const stop = await foldBy({ ...engines, clock: { ...engines.clock, sleep } }, prompt);
  for (let i = 1; i <= 3; i++) {
    // Each event is folded before the next is there, as the outcome of a delivery follows its request.
    for (const event of inAppOf(i, 1, 'hi')) {
      const [position] = await appendAll(engines.log, [event]);
      const isFolded = async () => {
        const folded = await engines.store.positions(inboxReadModel.definition.name, 1);
        return (folded.get(position!.topic) ?? 0) > position!.offset;
      };
      await until(isFolded, { everyMs: 1, what: 'the event to be folded' });
    }
  }
  expect(await shown(10)).toBe(3);
  expect(rests).toEqual([]);
  await stop();
});

/** Resolves with the call that stops them. */
async function foldBy(deps: Engines, readModels: readonly ReadModel[]): Promise<() => Promise<void>> {
  const turns = createTurns(deps.clock);
  const running = await Promise.all(readModels.map((readModel) => runProjector({ ...deps, turns, readModel })));
  return async () => {
    await Promise.all(running.map((one) => one.stop()));
  };
}

const delivered: Plan = {
  tenant: 0,
  channel: 'IN_APP',
  priority: 'HIGH',
  recipient: 0,
  template: false,
  requestedAfterMs: 0,
  isScheduled: false,
  isCancelled: false,
  steps: ['succeeded'],
  isRetriedByHand: false,
  isRead: false,
};

function inAppOf(n: number, partition: number, body: string): DomainEvent[] {
  return lifeOf(delivered, n).map((event) => ({
    ...event,
    partition,
    ...(event.type === 'NotificationRequested' ? { request: { ...event.request, body } } : {}),
  }));
}

/** How many of the first so many notifications are in an inbox. */
async function shown(count: number): Promise<number> {
  const ids = Array.from({ length: count }, (_, i) => notificationIdFor(i + 1));
  const items = await engines.store.get<InboxItemDocument>(itemsCollection.name, ids);
  return [...items.values()].filter(({ listedAt }) => listedAt !== null).length;
}
