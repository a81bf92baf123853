// Whom a cancel is seen for, however many another tenant has asked for: on the embedded store.

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import type { NotificationId, TenantId } from '../../src/domain/ids.ts';
import type { Ownership } from '../../src/ports/read-model-store.ts';
import type { TimersDocument } from '../../src/projections/timers/document.ts';
import { timersCollection } from '../../src/projections/timers/document.ts';
import { timersReadModel } from '../../src/projections/timers/index.ts';
import { cancelsAsked, roundsEnded } from '../../src/projections/timers/queries.ts';
import type { Engines } from './engines.ts';
import { openEngines } from './engines.ts';

let engines: Engines;
let owner: Ownership;

beforeEach(async () => {
  engines = await openEngines();
  await engines.store.prepare(timersReadModel.definition);
  owner = await engines.store.own('timers', 0, { generation: 1 });
});
afterEach(() => engines.close());

const idOf = (n: number) => `ntf_${String(n).padStart(6, '0')}` as NotificationId;

async function put(
  from: number,
  count: number,
  cancelAsked: 1 | null,
  more: Partial<TimersDocument> = {},
): Promise<void> {
  const writes = Array.from({ length: count }, (_, i) => {
    const document: TimersDocument = {
      notificationId: idOf(from + i),
      tenantId: 'tnt_1' as TenantId,
      partition: 0,
      requestedAt: 0,
      channel: 'EMAIL',
      priority: 'BULK',
      recipient: 'ada@example.com',
      nextDueAt: null,
      decided: null,
      cancelAsked,
      doneAt: 1,
      updatedAt: 1,
      begun: true,
      endedRound: 0,
      cancels: cancelAsked === 1 ? [1] : [],
      fired: [],
      timers: {},
      ...more,
    };
    return { collection: timersCollection.name, id: document.notificationId, document };
  });
  owner = await engines.store.transact(owner, new Map(), writes);
}

const askedOf = async (waiting: readonly number[]) =>
  (await cancelsAsked(engines.store, 0, waiting.map(idOf))).map(({ notificationId }) => notificationId).sort();

it('all that are asked are told while they are few', async () => {
  await put(1, 500, 1);
  expect(await askedOf([])).toHaveLength(500);
});

it('of many those of what waits are told, behind whatever others there are', async () => {
  await put(1, 12_000, 1);
  await put(12_001, 1_200, null);
  await put(13_201, 1, 1);
  expect(await askedOf([13_201, ...Array.from({ length: 1_200 }, (_, i) => 12_001 + i), 7, 99_999])).toEqual(
    [7, 13_201].map(idOf),
  );
});

it('what is due is over where its round has ended, or its attempt for good; of what waits still nothing is known', async () => {
  await put(1, 1, null, { endedRound: 2 });
  await put(2, 1, null, { endedRound: 2, endedAttempt: 5 });
  await put(3, 1, null, { endedRound: 1 });
  await put(4, 1, null, { endedRound: 2, doneAt: null, nextDueAt: 9 });
  const due = (n: number, round: number, attempt: number) => ({ notificationId: idOf(n), round, attempt });
  const over = [due(1, 2, 5), due(1, 1, 1), due(2, 2, 5)];
  const open = [due(1, 3, 6), due(2, 2, 6), due(3, 2, 5), due(4, 2, 5), due(99, 1, 1)];
  expect(await roundsEnded(engines.store, [...over, ...open])).toEqual(over);
});
