// A read model that replaces another: who answers for it while it is filled, how the two change over, and what is left of the former one.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createClock } from '../../src/adapters/node/clock.ts';
import type { DomainError } from '../../src/domain/errors.ts';
import type { Topic } from '../../src/domain/topics.ts';
import type { LogEntry } from '../../src/ports/event-log.ts';
import type { Document, ReadModelReader, Write } from '../../src/ports/read-model-store.ts';
import { noteWhenCaughtUp } from '../../src/projections/catching-up.ts';
import type { FillingStates } from '../../src/projections/filling.ts';
import { inboxReadModel } from '../../src/projections/inbox/index.ts';
import { notificationsReadModel as former } from '../../src/projections/notifications/index.ts';
import type { RunningProjector } from '../../src/projections/projector.ts';
import { runProjector } from '../../src/projections/projector.ts';
import type { FoldReader, ReadModel } from '../../src/projections/read-model.ts';
import { runReplacing } from '../../src/projections/replacement.ts';
import { createServingReader } from '../../src/projections/serving-reader.ts';
import { until } from '../support/until.ts';
import type { Engines } from './engines.ts';
import { appendAll, openEngines } from './engines.ts';
import type { Plan } from './histories.ts';
import { lifeOf, notificationIdFor } from './histories.ts';

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
const later = (name: string) => `${name}_b`;
const records = later('notifications_2');
const furtherIndex = {
  collection: records,
  equals: { errorCode: '550' },
  order: { fields: ['listedAt'], direction: 'ascending' },
  limit: 1,
} as const;

/** The records with a field more, an index and a collection more; folded once `mayFold` has resolved. */
function replacing(mayFold: Promise<void>): ReadModel {
  const { collections } = former.definition;
  const renamed = collections.map((collection) => ({ ...collection, name: later(collection.name) }));
  const [first] = renamed;
  if (first === undefined) throw new Error('the records have a collection');
  const further = { ...first, indexes: [...first.indexes, { fields: ['errorCode', 'listedAt'] }] };
  return {
    ...former,
    definition: {
      name: later(former.definition.name),
      collections: [further, ...renamed.slice(1), { name: 'further', fields: {}, indexes: [] }],
      secretOf: former.definition.name,
    },
    replaces: {
      readModel: former,
      collections: Object.fromEntries(collections.map(({ name }) => [later(name), name])),
    },
    async fold(entries, reader) {
      await mayFold;
      const get = <D extends Document>(collection: string, ids: readonly string[]) =>
        reader.get<D>(later(collection), ids);
      const writes = await former.fold(entries, { ...reader, get } satisfies FoldReader);
      return writes.map((write): Write => ({
        ...write,
        collection: later(write.collection),
        document: write.document === null ? null : { ...write.document, foldedAnew: true },
      }));
    },
  };
}

describe('a read model that is filled beside the one that it replaces', () => {
  let engines: Engines;
  let isFollowedBy: number;
  let running: RunningProjector[];
  const filling: FillingStates = new Map();

  beforeEach(async () => {
    [engines, running, isFollowedBy] = [await openEngines(), [], 0];
    await append(1, 20);
    const stopping = new AbortController();
    const noted = noteWhenCaughtUp({ ...engines, readModel: former, signal: stopping.signal });
    const projector = await runProjector({ ...engines, readModel: former });
    await noted;
    await projector.stop();
  });

  afterEach(async () => {
    for (const one of running) await one.stop();
    await engines.close();
  });

  const append = (from: number, count: number) =>
    appendAll(engines.log, Array.from({ length: count }, (_, i) => lifeOf(delivered, from + i)).flat());
  const readerOf = (readModel: ReadModel) =>
    createServingReader({ ...engines, reader: engines.store, readModels: [readModel, inboxReadModel] });
  const start = async (readModel: ReadModel): Promise<RunningProjector> => {
    // What rests for long is asked again soon.
    const sleep: Engines['clock']['sleep'] = (ms, signal) => engines.clock.sleep(Math.min(ms, 100), signal);
    const isFollowed = async () => isFollowedBy > 0;
    const deps = { ...engines, clock: { ...engines.clock, sleep }, readModel, filling, formerKeptMs: 100, isFollowed };
    const one = await runReplacing(deps, former);
    running.push(one);
    return one;
  };
  const shown = async (reader: ReadModelReader, number: number) =>
    (await reader.get<{ foldedAnew?: true }>(records, [notificationIdFor(number)])).get(notificationIdFor(number));

  it('is asked by its name and answered for by the other, up to date, until it has caught up; then the other goes', async () => {
    const mayFold = Promise.withResolvers<void>();
    const readModel = replacing(mayFold.promise);
    isFollowedBy = 1;
    await start(readModel);
    const reader = readerOf(readModel);
    expect(await shown(reader, 20)).toMatchObject({ status: 'DELIVERED' });
    expect(await reader.hasCaughtUp(later('notifications_2'))).toBe(true);
    expect(await reader.secret(later('notifications_2'))).toBe(await engines.store.secret('notifications_2'));
    await append(21, 5);
    await until(async () => (await shown(reader, 25)) !== undefined);
    await until(() => filling.get(later('notifications_2'))?.total === 50);
    expect(filling.get(later('notifications_2'))?.done).toBe(0);
    for (const ask of [() => reader.find(furtherIndex), () => reader.get('further', ['1'])])
      await expect(ask()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' } satisfies Partial<DomainError>);
    expect((await shown(reader, 25))?.foldedAnew).toBeUndefined();

    mayFold.resolve();
    await until(async () => (await shown(reader, 25))?.foldedAnew);
    expect((await reader.find(furtherIndex)).documents).toEqual([]);
    expect(filling.size).toBe(0);
    expect(await engines.store.hasCaughtUp('notifications_2')).toBe(true);
    isFollowedBy = 0;
    await until(async () => !(await engines.store.hasCaughtUp('notifications_2')));
    await until(async () => (await engines.store.removeSome('notifications_2')) === 'done');
    expect((await shown(reader, 1))?.foldedAnew).toBe(true);
  });

  it('goes on where it was stopped, and is in use at once where it was in use before', async () => {
    const mayFold = Promise.withResolvers<void>();
    const first = await start(replacing(mayFold.promise));
    const stopped = first.stop();
    mayFold.resolve();
    await stopped;
    running = [];
    expect(await engines.store.hasCaughtUp(later('notifications_2'))).toBe(false);
    engines = await engines.reopen();
    const second = await start(replacing(Promise.resolve()));
    await until(() => engines.store.hasCaughtUp(later('notifications_2')));
    await second.stop();
    running = [];
    engines = await engines.reopen();
    const never = replacing(new Promise(() => undefined));
    expect((await shown(readerOf(never), 20))?.foldedAnew).toBe(true);
  });

  it('answers for itself where there is nothing that it could replace', async () => {
    await until(async () => (await engines.store.removeSome('notifications_2')) === 'done');
    const readModel = replacing(Promise.resolve());
    await start(readModel);
    const reader = readerOf(readModel);
    await until(async () => (await shown(reader, 20))?.foldedAnew);
    await until(() => reader.hasCaughtUp(later('notifications_2')));
  });
});

describe('changing over', () => {
  const topic: Topic = 'notifications.deliveries';
  const name = later('notifications_2');

  it('waits for what was asked of the former one and until the other has what that had; nobody is refused', async () => {
    const clock = createClock();
    const state = { isCaughtUp: false, folded: 3 };
    const listeners = new Set<() => void>();
    const slow = Promise.withResolvers<ReadonlyMap<string, Document>>();
    const asked: string[] = [];
    const reader = {
      hasCaughtUp: async (of: string) => of === 'notifications_2' || state.isCaughtUp,
      positions: async (of: string) => new Map([[topic, of === name ? state.folded : 5]]),
      ahead: async () => null,
      onChange: (_of: string, listener: () => void) => {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
      get: (collection: string, [id]: readonly string[]) => {
        asked.push(`${collection} ${id}`);
        return id === 'slow' ? slow.promise : Promise.resolve(new Map<string, Document>());
      },
    } as unknown as ReadModelReader;
    const log = { partitioning: { partitions: 1, shards: 1 }, read: () => whatIsWanted(() => state.folded) };
    const serving = createServingReader({ log, reader, readModels: [replacing(Promise.resolve())], clock });
    const first = serving.get(records, ['slow']);
    await until(() => asked.length === 1);
    state.isCaughtUp = true;
    await clock.sleep(600);
    const second = serving.get(records, ['second']);
    await clock.sleep(50);
    slow.resolve(new Map());
    await first;
    await until(() => listeners.size > 0);
    expect(asked).toEqual(['notifications_2 slow']);
    state.folded = 5;
    for (const listener of listeners) listener();
    await second;
    expect(asked).toEqual(['notifications_2 slow', `${records} second`]);
  });
});

/** Whatever lies behind the stored position is wanted: nothing was trimmed. */
async function* whatIsWanted(folded: () => number) {
  yield { event: null, offset: folded() } as LogEntry;
}
