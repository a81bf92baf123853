// How far a read model is: at the end where nothing that it wants is left, and whoever asks reads little where something is.

import { beforeEach, expect, it } from '@jest/globals';

import type { EventType } from '../../src/domain/events.ts';
import { deliveriesTopic as topic } from '../../src/domain/topics.ts';
import type { EventLog, LogEntry } from '../../src/ports/event-log.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import { createReach } from '../../src/projections/reach.ts';
import type { ReadModel } from '../../src/projections/read-model.ts';

const place = { topic, partition: 0 };
const rare: EventType = 'TenantErased';
const wantsRare: ReadModel = { ...notificationsReadModel, types: new Set([rare]) };
const wantsAll: ReadModel = { ...notificationsReadModel };
delete (wantsAll as { types?: unknown }).types;

let asked: Parameters<EventLog['read']>[0][];
let handedOut: number;
let rareAt: number;
const log: Pick<EventLog, 'read'> = {
  async *read(range) {
    asked.push(range);
    for (let offset = range.from; offset < range.to; offset++) {
      handedOut++;
      const type: EventType = offset === rareAt ? rare : 'AttemptSucceeded';
      yield { topic, partition: 0, offset, event: { type } } as LogEntry;
    }
  },
};

beforeEach(() => {
  [asked, handedOut, rareAt] = [[], 0, -1];
});

it('where the next event is wanted one event is read, few are asked for, and not again at the same position', async () => {
  const reach = createReach({ log, readModel: wantsAll });
  expect(await reach.reached(place, 100, 5_000)).toBe(100);
  expect(await reach.reached(place, 100, 6_000)).toBe(100);
  expect(handedOut).toBe(1);
  expect(asked).toEqual([{ ...place, from: 100, to: 108, aheadBytes: 8192 }]);
});

it('where nothing is wanted all of it is looked through once, and what comes later alone', async () => {
  const reach = createReach({ log, readModel: wantsRare });
  expect(await reach.reached(place, 100, 5_000)).toBe(5_000);
  expect(await reach.reached(place, 100, 5_004)).toBe(5_004);
  expect(handedOut).toBe(4_904);
});

it('what is wanted far behind is found', async () => {
  rareAt = 4_000;
  const reach = createReach({ log, readModel: wantsRare });
  expect(await reach.reached(place, 100, 5_000)).toBe(100);
  expect(await reach.reached(place, 4_001, 5_000)).toBe(5_000);
});
