// Whom a cancel is seen for, however many another tenant has asked for: on the embedded store.

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import type { NotificationId, TenantId } from '../../src/domain/ids.ts';
import type { Ownership } from '../../src/ports/read-model-store.ts';
import type { TimersDocument } from '../../src/projections/timers/document.ts';
import { timersCollection } from '../../src/projections/timers/document.ts';
import { timersReadModel } from '../../src/projections/timers/index.ts';
import { cancelsAsked } from '../../src/projections/timers/queries.ts';
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

async function put(from: number, count: number, cancelAsked: 1 | null): Promise<void> {
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
