// However many of a tenant wait, few of them look; what is there ends all that wait for it, and another tenant waits for none of them.

import { expect, it } from '@jest/globals';

import type { Awaited } from '../../src/api/waits.ts';
import { createWaits } from '../../src/api/waits.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { inboxTopic } from '../../src/domain/topics.ts';
import type { ReadModelReader } from '../../src/ports/read-model-store.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import { createManualClock } from '../adapters/memory/manual-clock.ts';
import { until } from '../support/until.ts';

const { name } = notificationsReadModel.definition;
const acme = 'tnt_acme' as TenantId;
const other = 'tnt_other' as TenantId;
const topic = 'notifications.in-app.default';
const atOnceMax = 4;
const waitMs = 2000;

/** Waits over a read model that changes when the test says so; looks of a tenant are counted. */
function world() {
  const clock = createManualClock();
  const listeners = new Set<() => void>();
  const asked: string[] = [];
  const reader = {
    positions: async (readModel: string) => {
      asked.push(readModel);
      return new Map([[topic, 3]]);
    },
    ahead: async () => null,
    onChange(_: string, listener: () => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  } as Partial<ReadModelReader> as ReadModelReader;
  const waits = createWaits({ reader, clock });
  const there = new Set<string>();
  const looks = new Map<string, number>([
    [acme, 0],
    [other, 0],
  ]);
  const waitFor = (tenantId: TenantId, what: string, awaited: Awaited = 'claimed'): Promise<boolean> =>
    waits.until({ tenantId, awaited }, name, waitMs, async () => {
      looks.set(tenantId, (looks.get(tenantId) ?? 0) + 1);
      return there.has(what);
    });
  const begin = (count: number, tenantId: TenantId, what: (i: number) => string): Promise<boolean>[] =>
    Array.from({ length: count }, (_, i) => waitFor(tenantId, what(i)));
  /** Resolves when all who looked for it sleep again, or are gone. */
  const change = async (): Promise<void> => {
    for (const listener of listeners) listener();
    await settled();
  };
  const settled = () => new Promise((resolve) => void setImmediate(resolve));
  return {
    clock,
    listeners,
    asked,
    waits,
    there,
    looks: (of: TenantId) => looks.get(of),
    waitFor,
    begin,
    change,
    settled,
  };
}

it('two hundred for what never comes look four at a change, and each once more at its end', async () => {
  const { clock, listeners, looks, begin, change, settled } = world();
  const waiting = begin(200, acme, () => 'nothing');
  await settled();
  expect(looks(acme)).toBe(200);
  for (let changes = 1; changes <= 100; changes++) {
    await change();
    expect(looks(acme)).toBe(200 + changes * atOnceMax);
  }
  clock.advance(waitMs);
  expect(await Promise.all(waiting)).toEqual(waiting.map(() => false));
  expect(looks(acme)).toBe(400 + 100 * atOnceMax);
  expect(listeners.size).toBe(0);
});

it('beside them what another tenant waits for is seen at the change that brings it', async () => {
  const { there, looks, begin, change, settled } = world();
  void begin(200, acme, () => 'nothing');
  const waiting = begin(3, other, (i) => `its ${i}`);
  await settled();
  for (const i of [0, 1, 2]) {
    there.add(`its ${i}`);
    await change();
    expect(await waiting[i]).toBe(true);
  }
  // The first looks, those at each change, and of one more after each that has left others.
  expect(looks(other)).toBe(3 + (3 + 1) + (2 + 1) + 1);
});

it('fifty for what one change brings are over with it, by a look each', async () => {
  const { there, looks, begin, change, settled, listeners } = world();
  const waiting = begin(50, acme, (i) => `own ${i}`);
  await settled();
  for (let i = 0; i < 50; i++) there.add(`own ${i}`);
  await change();
  expect(await Promise.all(waiting)).toEqual(waiting.map(() => true));
  expect(looks(acme)).toBe(50 + 50);
  expect(listeners.size).toBe(0);
});

it('who has looked in vain stands behind the others: what is there is seen in spite of what never comes', async () => {
  const { there, begin, change, settled } = world();
  void begin(12, acme, () => 'nothing');
  const [waiting] = begin(1, acme, () => 'own');
  await settled();
  there.add('own');
  for (let changes = 0; changes < 4; changes++) await change();
  expect(await waiting).toBe(true);
});

it('what the service knows to be written is seen at the change that brings it, however many wait for what callers claim', async () => {
  const { there, waitFor, begin, change, settled } = world();
  void begin(200, acme, () => 'made up');
  const waiting = waitFor(acme, 'own', 'written');
  await settled();
  there.add('own');
  await change();
  expect(await waiting).toBe(true);
});

it('who was passed over by the last change sees what it brought when its time is up', async () => {
  const { clock, there, begin, change, settled } = world();
  void begin(4, acme, () => 'nothing');
  const [waiting] = begin(1, acme, () => 'own');
  await settled();
  there.add('own');
  await change();
  clock.advance(waitMs);
  expect(await waiting).toBe(true);
});

it('for positions as well; a read model that does not follow the topic is not asked', async () => {
  const { asked, waits, clock, change, settled } = world();
  const wait = (offset: number, of = topic) =>
    waits.forPosition(notificationsReadModel, { tenantId: acme, topic: of, partition: 0, offset }, waitMs, 'claimed');
  expect([await wait(2), await wait(7, inboxTopic)]).toEqual([true, true]);
  expect(asked).toHaveLength(1);
  const far = Array.from({ length: 200 }, () => wait(999_999));
  await settled();
  for (let changes = 0; changes < 10; changes++) await change();
  expect(asked).toHaveLength(1 + 200 + 10 * atOnceMax);
  clock.advance(waitMs);
  expect(await Promise.all(far)).toEqual(far.map(() => false));
});

it('four of a tenant look at once; a look that finds no place within a second is not made, and nobody else waits for one', async () => {
  const clock = createManualClock();
  const reader = { onChange: () => () => {} } as Partial<ReadModelReader> as ReadModelReader;
  const waits = createWaits({ reader, clock });
  const gate = Promise.withResolvers<boolean>();
  const running = new Map<TenantId, number>();
  const look = (tenantId: TenantId) => () => {
    running.set(tenantId, (running.get(tenantId) ?? 0) + 1);
    return gate.promise;
  };
  const all = [acme, other].map((tenantId) =>
    Array.from({ length: 9 }, () => waits.until({ tenantId, awaited: 'claimed' }, name, waitMs, look(tenantId))),
  );
  await until(() => running.get(other) === atOnceMax);
  expect(running.get(acme)).toBe(atOnceMax);
  clock.advance(1001);
  gate.resolve(false);
  await until(() => clock.sleepers() === all.flat().length, { what: 'all to wait for a change' });
  expect([running.get(acme), running.get(other)]).toEqual([atOnceMax, atOnceMax]);
  clock.advance(waitMs);
  expect(await Promise.all(all.flat())).toEqual(all.flat().map(() => false));
});
