// A read model that is rebuilt while it serves: what was wrong is right after it and is told, what was right is the same, and who comes late swaps nothing.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { noteWhenCaughtUp } from '../../src/projections/catching-up.ts';
import type { FillingStates } from '../../src/projections/filling.ts';
import { swapLevel } from '../../src/projections/level-swap.ts';
import { runLiveRebuilds } from '../../src/projections/live-rebuild.ts';
import { notificationsReadModel as readModel } from '../../src/projections/notifications/index.ts';
import type { RunningProjector } from '../../src/projections/projector.ts';
import { runProjector } from '../../src/projections/projector.ts';
import type { TenantErased } from '../../src/domain/events.ts';
import { eventIdFrom } from '../../src/domain/ids.ts';
import { until } from '../support/until.ts';
import type { Engines } from './engines.ts';
import { appendAll, openEngines } from './engines.ts';
import type { Plan } from './histories.ts';
import { lifeOf, notificationIdFor, tenants } from './histories.ts';

const delivered: Plan = {
  tenant: 0,
  channel: 'EMAIL',
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
const { definition } = readModel;
const { name } = definition;
const records = 'notifications_2';

describe('a rebuild while the read model serves', () => {
  let engines: Engines;
  let running: RunningProjector[];
  const filling: FillingStates = new Map();

  beforeEach(async () => {
    engines = await openEngines();
    await append(1, 20);
    const noted = noteWhenCaughtUp({ ...engines, readModel, signal: new AbortController().signal });
    const projector = await runProjector({ ...engines, readModel });
    await noted;
    await projector.stop();
    running = [];
  });

  afterEach(async () => {
    for (const one of running) await one.stop();
    await engines.close();
  });

  const append = (from: number, count: number) =>
    appendAll(engines.log, Array.from({ length: count }, (_, i) => lifeOf(delivered, from + i)).flat());
  const start = async (): Promise<void> => {
    // What rests for long is asked again soon.
    const sleep: Engines['clock']['sleep'] = (ms, signal) => engines.clock.sleep(Math.min(ms, 50), signal);
    const clock = { ...engines.clock, sleep };
    running.push(await runProjector({ ...engines, readModel }));
    running.push(runLiveRebuilds({ ...engines, clock, readModel, filling, oldKeptMs: 100 }));
  };
  const shown = async (number: number) => {
    const id = notificationIdFor(number);
    return (await engines.store.get<{ status: string }>(records, [id])).get(id);
  };
  const rebuilt = async (): Promise<void> => {
    await (await engines.store.beginRebuild(definition)).close();
    let number = 100;
    const isOver = async () => {
      await append(number++, 1);
      return (await engines.store.nextVersion(definition)) === null;
    };
    await until(isOver, { timeoutMs: 60_000, what: 'the rebuild to be over' });
    await until(async () => (await shown(number - 1))?.status === 'DELIVERED', { what: 'the last to be folded' });
    for (let i = 100; i < number; i++) expect(await shown(i)).toMatchObject({ status: 'DELIVERED' });
  };
  /** By whoever has no business there. */
  const spoil = async (number: number): Promise<void> => {
    const document = await shown(number);
    const owner = await engines.store.own(name, 0, { generation: 1000 });
    await engines.store.transact(owner, new Map(), [
      { collection: records, id: notificationIdFor(number), document: { ...document, status: 'FAILED' } },
    ]);
  };

  it('mends what was wrong, says which fields were, and counts them', async () => {
    await spoil(7);
    await start();
    expect(await shown(7)).toMatchObject({ status: 'FAILED' });
    await rebuilt();
    expect(await shown(7)).toMatchObject({ status: 'DELIVERED' });
    expect(await engines.store.lastComparison(name)).toMatchObject({
      differing: 1,
      fields: [[`${records}.status`, 1]],
      examples: [`${records}: status`],
    });
    expect(engines.counted.get('herald_rebuild_differences_total')).toBe(1);
    expect(filling.size).toBe(0);
  }, 120_000);

  it('of what was right finds no difference, however much comes meanwhile', async () => {
    await start();
    await rebuilt();
    const comparison = await engines.store.lastComparison(name);
    expect(comparison).toMatchObject({ differing: 0, fields: [], examples: [] });
    expect(comparison?.compared).toBeGreaterThan(20);
    expect(engines.counted.get('herald_rebuild_differences_total')).toBe(0);
  }, 120_000);

  it('says nothing of who is erased meanwhile: what is read anew is less by then than what was folded', async () => {
    const tenantId = tenants[0]!;
    const erased: TenantErased = {
      type: 'TenantErased',
      eventId: eventIdFrom('erased', tenantId),
      occurredAt: Date.now(),
      tenantId,
      partition: 0,
      traceparent: null,
      actor: null,
    };
    await appendAll(engines.log, [erased]);
    await until(() => engines.log.isTenantErased(tenantId));
    await (await engines.store.beginRebuild(definition)).close();
    await start();
    await until(async () => (await engines.store.nextVersion(definition)) === null, { timeoutMs: 60_000 });
    expect(await shown(1)).toBeUndefined();
    const comparison = await engines.store.lastComparison(name);
    expect(comparison).toMatchObject({ differing: 0, fields: [] });
    expect(comparison?.compared).toBeGreaterThan(0);
  }, 120_000);

  it('comes level once both are held, at the same offsets, and is done once', async () => {
    await (await engines.store.beginRebuild(definition)).close();
    const version = (await engines.store.nextVersion(definition)) ?? NaN;
    const offsets = (of: Pick<Engines['store'], 'positions'>) =>
      Promise.all(
        Array.from({ length: 12 }, async (_, partition) => Object.fromEntries(await of.positions(name, partition))),
      );
    let calls = 0;
    const whenLevel = async (next: Pick<Engines['store'], 'positions'>): Promise<void> => {
      calls++;
      expect(await offsets(next)).toEqual(await offsets(engines.store));
    };
    const swap = () => swapLevel({ ...engines, readModel }, { version, tries: 1, whenLevel });
    expect(await swap()).toBe('swapped');
    expect(await swap()).toBe('not now');
    expect(calls).toBe(1);
    await start();
    await append(21, 1);
    await until(async () => (await shown(21))?.status === 'DELIVERED');
  });

  it('waits while what serves has folded some before their turn, and holds nothing up', async () => {
    await (await engines.store.beginRebuild(definition)).close();
    const version = (await engines.store.nextVersion(definition)) ?? NaN;
    const owner = await engines.store.own(name, 3, { generation: 100 });
    const ahead = { offsets: new Map([[readModel.topics[0]!, 900]]), behind: new Set([tenants[0]!]) };
    const before = await engines.store.transact(owner, new Map(), [], ahead);
    const swap = () => swapLevel({ ...engines, readModel }, { version, tries: 1, whenLevel: () => Promise.resolve() });
    expect(await swap()).toBe('ahead');
    await engines.store.transact(before, new Map(), [], null);
    expect(await swap()).toBe('swapped');
  });

  it('that fails once both are held lets both go on', async () => {
    await (await engines.store.beginRebuild(definition)).close();
    const version = (await engines.store.nextVersion(definition)) ?? NaN;
    const whenLevel = () => Promise.reject(new Error('refused by the test'));
    await expect(swapLevel({ ...engines, readModel }, { version, tries: 1, whenLevel })).rejects.toThrow('refused');
    await start();
    await append(21, 1);
    await until(async () => (await shown(21))?.status === 'DELIVERED');
    await until(async () => (await engines.store.nextVersion(definition)) === null, { timeoutMs: 60_000 });
  }, 120_000);

  it('whose process was killed while both were held goes on in another one', async () => {
    await (await engines.store.beginRebuild(definition)).close();
    const version = (await engines.store.nextVersion(definition)) ?? NaN;
    expect(await engines.store.hold(definition, version)).not.toBeNull();
    await append(21, 1);
    await start();
    await until(async () => (await shown(21))?.status === 'DELIVERED');
    await until(async () => (await engines.store.nextVersion(definition)) === null, { timeoutMs: 60_000 });
  }, 120_000);
});
