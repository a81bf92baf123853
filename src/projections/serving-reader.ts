// Who answers for a read model that replaces another: the former one until this one has caught up, then this one. What asks names this one alone.
//
//   former ──this one has caught up──> changing over ──> this one
//                                        nobody is answered until what was asked of the former one is, and this one has all that that had
//
// So no answer of a process knows less than one before it, and a change over costs a query some ms, once.

import type { Topic } from '../domain/topics.ts';
import { unavailable } from '../domain/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import { furthest } from '../ports/folded-ahead.ts';
import { NoFittingIndexError } from '../ports/read-model-store.ts';
import { createReach } from './reach.ts';
import type { ReadModel, Replaced } from './read-model.ts';
import { waitUntil } from './wait.ts';

export interface ServingDependencies {
  readonly log: Pick<EventLog, 'partitioning' | 'read'>;
  /** Each read model by its own name. */
  readonly reader: ReadModelReader;
  readonly readModels: readonly ReadModel[];
  readonly clock: Clock;
}

/** The same reader; what is asked of a read model that replaces another is answered by the one that serves. */
export function createServingReader(deps: ServingDependencies): ReadModelReader {
  const { reader, readModels } = deps;
  const byName = new Map<string, ServedReadModel>();
  const byCollection = new Map<string, ServedReadModel>();
  for (const readModel of readModels) {
    if (readModel.replaces === undefined) continue;
    const served = createServed(deps, readModel, readModel.replaces);
    byName.set(readModel.definition.name, served);
    for (const { name } of readModel.definition.collections) byCollection.set(name, served);
  }
  const inCollection = <T>(collection: string, ask: (collection: string) => Promise<T>): Promise<T> =>
    byCollection.get(collection)?.inCollection(collection, ask) ?? ask(collection);
  const byServing = <T>(readModel: string, ask: (readModel: string) => Promise<T>): Promise<T> =>
    byName.get(readModel)?.byName(ask) ?? ask(readModel);

  return {
    get: (collection, ...rest) => inCollection(collection, (name) => reader.get(name, ...rest)),
    find: (query) => inCollection(query.collection, (collection) => reader.find({ ...query, collection })),
    findRanges: (query) => inCollection(query.collection, (collection) => reader.findRanges({ ...query, collection })),
    count: (query, cap) => inCollection(query.collection, (collection) => reader.count({ ...query, collection }, cap)),
    positions: (readModel, partition) => byServing(readModel, (name) => reader.positions(name, partition)),
    ahead: (readModel, partition) => byServing(readModel, (name) => reader.ahead(name, partition)),
    hasCaughtUp: (readModel) => byServing(readModel, (name) => reader.hasCaughtUp(name)),
    isIndexed: (readModel) => byServing(readModel, (name) => reader.isIndexed(name)),
    secret: (readModel) => byServing(readModel, (name) => reader.secret(name)),
    onChange(readModel, listener) {
      const names = [readModel, ...(byName.get(readModel)?.formerNames ?? [])];
      const removals = names.map((name) => reader.onChange(name, listener));
      return () => {
        for (const remove of removals) remove();
      };
    },
    ready: () => reader.ready(),
  };
}

interface ServedReadModel {
  readonly formerNames: readonly string[];
  /** Asks with the name of the one that serves. */
  byName<T>(ask: (readModel: string) => Promise<T>): Promise<T>;
  inCollection<T>(collection: string, ask: (collection: string) => Promise<T>): Promise<T>;
}

/** How often the store is asked whether the read model has caught up, and only while somebody asks something. */
const lookEveryMs = 500;
/** Then the change over is given up until the next look. Queries take 4.5 s at most, and what is caught up is half a second behind at most. */
const changeOverMaxMs = 5_000;
const retryAfterSeconds = 5;

type Serving = 'unknown' | 'former' | 'itself';

function createServed(
  deps: ServingDependencies,
  readModel: ReadModel,
  { readModel: former, collections }: Replaced,
): ServedReadModel {
  const { reader, clock } = deps;
  const { name } = readModel.definition;
  const { name: formerName } = former.definition;
  const asked = createAsked();
  let serving: Serving = 'unknown';
  let lookedAt = -Infinity;
  let looking: Promise<void> | null = null;

  const look = async (): Promise<void> => {
    lookedAt = clock.monotonic();
    if (await reader.hasCaughtUp(name)) {
      if (serving !== 'former' || (await isFollowed())) serving = 'itself';
    } else serving = (await reader.hasCaughtUp(formerName)) ? 'former' : 'unknown';
  };
  /** Whether this one has all that was answered by the former one. */
  const isFollowed = async (): Promise<boolean> => {
    const until = clock.monotonic() + changeOverMaxMs;
    if (!(await asked.none(clock, changeOverMaxMs))) return false;
    const reached = await reachedBy(deps, readModel, formerName);
    return waitUntil({ reader, clock }, name, Math.max(0, until - clock.monotonic()), reached);
  };
  const looked = async (): Promise<void> => {
    if (looking === null && clock.monotonic() - lookedAt < lookEveryMs) return;
    looking ??= look().finally(() => (looking = null));
    await looking;
  };
  /** Asks the one that serves; once more where that was removed meanwhile, since this process stood still for so long. */
  const ask = async <T>(ofItself: () => Promise<T>, ofFormer: () => Promise<T>): Promise<T> => {
    if (serving === 'itself') return ofItself();
    await looked();
    if (serving !== 'former') return ofItself();
    try {
      return await asked.during(ofFormer);
    } catch (error) {
      if (!(await reader.hasCaughtUp(name))) throw error;
      serving = 'itself';
      return ofItself();
    }
  };
  return {
    formerNames: [formerName],
    byName: (askOf) =>
      ask(
        () => askOf(name),
        () => askOf(formerName),
      ),
    inCollection: (collection, askOf) =>
      ask(
        () => askOf(collection),
        () => inFormer(collections[collection], name, askOf),
      ),
  };
}

/** What the former one can't answer nobody could ask of it: it comes with this one. */
async function inFormer<T>(
  collection: string | undefined,
  readModel: string,
  askOf: (collection: string) => Promise<T>,
): Promise<T> {
  if (collection === undefined) throw notYet(readModel);
  try {
    return await askOf(collection);
  } catch (error) {
    throw error instanceof NoFittingIndexError ? notYet(readModel) : error;
  }
}

function notYet(readModel: string): Error {
  return unavailable(
    `The read model ${readModel} is folded from the log's beginning, and the one before it can't answer this. Try again when it is done.`,
    retryAfterSeconds,
  );
}

/** How many questions are under way. */
function createAsked() {
  let count = 0;
  let wake = new AbortController();
  return {
    async during<T>(ask: () => Promise<T>): Promise<T> {
      count++;
      try {
        return await ask();
      } finally {
        if (--count === 0) wake.abort();
      }
    },
    /** False when some are still under way after so long. */
    async none(clock: Clock, maxMs: number): Promise<boolean> {
      wake = new AbortController();
      if (count > 0) await clock.sleep(maxMs, wake.signal);
      return count === 0;
    },
  };
}

/** A question to be asked again and again: whether the read model has folded what the former one has by now. */
async function reachedBy(
  { log, reader }: ServingDependencies,
  readModel: ReadModel,
  formerName: string,
): Promise<() => Promise<boolean>> {
  const { name } = readModel.definition;
  const reach = createReach({ log, readModel });
  const numbers = Array.from({ length: log.partitioning.partitions }, (_, partition) => partition);
  const wanted = await Promise.all(numbers.map((partition) => furthestOf(reader, formerName, partition)));
  const hasReached = async (topic: Topic, partition: number, end: number, stored: number): Promise<boolean> =>
    (await reach.reached({ topic, partition }, stored, end)) >= end;
  return async () => {
    for (const [partition, ends] of wanted.entries()) {
      const stored = await reader.positions(name, partition);
      for (const [topic, end] of ends) {
        if (!readModel.topics.includes(topic)) continue;
        if (!(await hasReached(topic, partition, end, stored.get(topic) ?? 0))) return false;
      }
    }
    return true;
  };
}

/** Where it stands, or where those stand who are folded before their turn. */
async function furthestOf(
  reader: ReadModelReader,
  readModel: string,
  partition: number,
): Promise<ReadonlyMap<Topic, number>> {
  const [position, ahead] = [await reader.positions(readModel, partition), await reader.ahead(readModel, partition)];
  return ahead === null ? position : furthest(position, ahead);
}
