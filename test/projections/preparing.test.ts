// Read models are made without indexes where a long log is to be folded into them and nobody is answered from their store, and nowhere else.

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import type { Topic } from '../../src/domain/topics.ts';
import { noteWhenCaughtUp } from '../../src/projections/catching-up.ts';
import { readModels } from '../../src/projections/index.ts';
import { prepareReadModels } from '../../src/projections/preparing.ts';
import { until } from '../support/until.ts';
import type { Engines } from './engines.ts';
import { openEngines } from './engines.ts';

let engines: Engines;

beforeEach(async () => {
  engines = await openEngines();
});

afterEach(() => engines.close());

/** The log as it is, with so many events in a topic that has none. */
const logOf = (events: number) => ({
  async ends(topic: Topic) {
    const ends = await engines.log.ends(topic);
    return topic === 'notifications.deliveries' ? ends.map((_, i) => (i === 3 ? events : 0)) : ends;
  },
});
const unindexed = async () => {
  const names: string[] = [];
  for (const { definition } of readModels)
    if (!(await engines.store.isIndexed(definition.name))) names.push(definition.name);
  return names;
};

it('of a long log, all but the timers, which are looked for while they are folded', async () => {
  await prepareReadModels({ log: logOf(10_001), store: engines.store });
  expect(await unindexed()).toEqual(['notifications_2', 'inbox_2', 'search_2']);
});

it('not of a short one: its queries are answered from the start on', async () => {
  await prepareReadModels({ log: logOf(10_000), store: engines.store });
  expect(await unindexed()).toEqual([]);
});

it('not beside one that has caught up: what is live would wait for an index that is made at once', async () => {
  const [first] = readModels;
  if (first === undefined) throw new Error('there are read models');
  await engines.store.prepare(first.definition);
  await engines.store.noteCaughtUp(first.definition.name);
  await prepareReadModels({ log: logOf(10_001), store: engines.store });
  expect(await unindexed()).toEqual([]);
});

it('where the indexes cannot be made that is said, tried again, and the read model is not whole before', async () => {
  const { log, clock, store } = engines;
  const [readModel] = readModels;
  if (readModel === undefined) throw new Error('there are read models');
  const { name } = readModel.definition;
  await store.prepare(readModel.definition, 'once filled');
  const said: unknown[] = [];
  let isFull = true;
  const note = noteWhenCaughtUp({
    log,
    readModel,
    signal: new AbortController().signal,
    clock: { ...clock, sleep: () => clock.sleep(1) },
    logger: { ...engines.logger, warn: (message, fields) => void said.push([message, fields]) },
    store: {
      ...store,
      noteCaughtUp: async (of) => (isFull ? Promise.reject(new Error('the disk is full')) : store.noteCaughtUp(of)),
    },
  });
  await until(() => said.length > 1);
  expect(said[0]).toEqual([
    'a read model that is folded is not whole yet: tried again',
    { readModel: name, err: new Error('the disk is full') },
  ]);
  expect([await store.hasCaughtUp(name), await store.isIndexed(name)]).toEqual([false, false]);
  isFull = false;
  await note;
  expect([await store.hasCaughtUp(name), await store.isIndexed(name)]).toEqual([true, true]);
});
