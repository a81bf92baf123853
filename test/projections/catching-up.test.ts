// A read model that is folded from the log's beginning says so until it has caught up, and never again for ordinary lag.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createCatchUp, noteWhenCaughtUp } from '../../src/projections/catching-up.ts';
import { inboxReadModel } from '../../src/projections/inbox/index.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import { runProjector } from '../../src/projections/projector.ts';
import { until } from '../support/until.ts';
import type { Engines } from './engines.ts';
import { appendAll, openEngines } from './engines.ts';
import { lifeOf } from './histories.ts';

let engines: Engines;

beforeEach(async () => {
  engines = await openEngines();
});

afterEach(() => engines.close());

const catchUp = () => createCatchUp({ ...engines, reader: engines.store, readModel: notificationsReadModel });
const append = (from: number, count: number) =>
  appendAll(engines.log, Array.from({ length: count }, (_, i) => lifeOf(delivered, from + i)).flat());
const delivered = {
  tenant: 0,
  channel: 'EMAIL' as const,
  priority: 'HIGH' as const,
  recipient: 0,
  template: false,
  requestedAfterMs: 0,
  isScheduled: false,
  isCancelled: false,
  steps: ['succeeded' as const],
  isRetriedByHand: false,
  isRead: false,
};

async function trimAll(): Promise<void> {
  const { log } = engines;
  for (const topic of notificationsReadModel.topics)
    for (const [partition, to] of (await log.ends(topic)).entries())
      await log.trim({ topic, partition, from: 0, to, kept: [] });
}

async function noted(): Promise<void> {
  const stopping = new AbortController();
  const note = noteWhenCaughtUp({ ...engines, readModel: notificationsReadModel, signal: stopping.signal });
  const projector = await runProjector({ ...engines, readModel: notificationsReadModel });
  await note;
  await projector.stop();
}

describe('a read model that is new', () => {
  it('to a log with events says how far it is, and nothing once it has reached the end of then', async () => {
    await append(1, 10);
    await engines.store.prepare(notificationsReadModel.definition);
    const { progress } = catchUp();
    expect(await progress()).toEqual({ done: 0, total: 20 });
    // What comes later isn't waited for.
    await append(11, 5);
    expect(await progress()).toEqual({ done: 0, total: 20 });
    const projector = await runProjector({ ...engines, readModel: notificationsReadModel });
    await until(async () => (await progress()) === null);
    await projector.stop();
  });

  it('to a log whose last events, or all of them, retention has taken has caught up where nothing is left to fold', async () => {
    await append(1, 10);
    await trimAll();
    await engines.store.prepare(notificationsReadModel.definition);
    const { progress } = catchUp();
    const projector = await runProjector({ ...engines, readModel: notificationsReadModel });
    await until(async () => (await progress()) === null);
    await append(11, 1);
    expect(await progress()).toBeNull();
    await projector.stop();
  });

  it("has caught up by its projector's stop, however soon that comes after its last fold", async () => {
    await append(1, 10);
    await engines.store.prepare(notificationsReadModel.definition);
    const stopping = new AbortController();
    const untilStop = {
      ...engines.clock,
      sleep: () => new Promise<void>((wake) => stopping.signal.addEventListener('abort', () => wake())),
    };
    const of = { ...engines, clock: untilStop, readModel: notificationsReadModel, signal: stopping.signal };
    const note = noteWhenCaughtUp(of);
    const { progress } = catchUp();
    expect(await progress()).toEqual({ done: 0, total: 20 });
    const projector = await runProjector({ ...engines, readModel: notificationsReadModel });
    await until(async () => (await progress()) === null);
    await projector.stop();
    expect(await engines.store.hasCaughtUp('notifications_2')).toBe(false);
    stopping.abort();
    await note;
    expect(await engines.store.hasCaughtUp('notifications_2')).toBe(true);
  });

  it('is said to catch up with what was there when somebody began to look, and not with what came before it was first asked', async () => {
    await engines.store.prepare(notificationsReadModel.definition);
    const { begin, progress } = catchUp();
    await begin();
    await append(1, 1);
    expect([await progress(), await catchUp().progress()]).toEqual([null, { done: 0, total: 2 }]);
  });

  it('has to reach the end of the first look that succeeds, where the store was away at the beginning', async () => {
    await engines.store.prepare(notificationsReadModel.definition);
    await append(1, 1);
    let isAway = true;
    const hasCaughtUp: typeof engines.store.hasCaughtUp = (readModel) =>
      isAway ? Promise.reject(new Error('away')) : engines.store.hasCaughtUp(readModel);
    const reader = { ...engines.store, hasCaughtUp };
    const { begin, progress } = createCatchUp({ ...engines, reader, readModel: notificationsReadModel });
    await begin();
    await expect(progress()).rejects.toThrow('away');
    isAway = false;
    expect(await progress()).toEqual({ done: 0, total: 2 });
  });

  it('goes on catching up after a restart in the middle', async () => {
    await append(1, 10);
    await engines.store.prepare(notificationsReadModel.definition);
    const owner = await engines.store.own('notifications_2', 5, { generation: 1 });
    await engines.store.transact(owner, new Map([['notifications.deliveries', 3]]), []);
    engines = await engines.reopen();
    expect(await catchUp().progress()).toEqual({ done: 3, total: 20 });
  });

  it('to an empty log has caught up at once, whether somebody folds it or not', async () => {
    await engines.store.prepare(notificationsReadModel.definition);
    const { progress } = catchUp();
    expect(await progress()).toBeNull();
    await append(1, 3);
    expect(await progress()).toBeNull();
  });
});

describe('a new read model that wants some types alone', () => {
  it('has caught up when all that it wants is folded, though its position stays before the others', async () => {
    const readModel = inboxReadModel;
    await appendAll(engines.log, [
      ...lifeOf({ ...delivered, channel: 'IN_APP' }, 1),
      ...lifeOf({ ...delivered, steps: [] }, 2),
    ]);
    await append(3, 5);
    await engines.store.prepare(readModel.definition);
    const { progress } = createCatchUp({ ...engines, reader: engines.store, readModel });
    expect(await progress()).toMatchObject({ done: expect.any(Number) });
    const projector = await runProjector({ ...engines, readModel });
    await until(async () => (await progress()) === null);
    await projector.stop();
  });
});

describe('a read model that has caught up', () => {
  it('is not said to catch up again when it lags, in whichever process', async () => {
    await append(1, 10);
    await noted();
    await append(11, 10);
    expect(await catchUp().progress()).toBeNull();
    engines = await engines.reopen();
    expect(await catchUp().progress()).toBeNull();
  });
});
