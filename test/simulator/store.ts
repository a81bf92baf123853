// Read models as MongoDB keeps them, in memory: documents as JSON text, a position for each number, one transaction that begins with it, under the owner's epoch.

import { StaleOwnerError } from '../../src/ports/event-log.ts';
import type { FoldedAhead } from '../../src/ports/folded-ahead.ts';
import { foldedAheadText } from '../../src/ports/folded-ahead.ts';
import type {
  Document,
  FieldFilter,
  FieldRange,
  FieldValue,
  Ownership,
  Page,
  Query,
  Write,
} from '../../src/ports/read-model-store.ts';
import { HeldError, isFieldRange, NewerOwnerError, wantedValues } from '../../src/ports/read-model-store.ts';
import type { NextVersionStore } from '../../src/ports/read-model-rebuild.ts';
import type { Topic } from '../../src/domain/topics.ts';
import type { Random } from '../chaos/random.ts';
import type { Machine } from './machine.ts';
import type { OfNext, Versions } from './versions.ts';
import { mayMove, nameIn } from './versions.ts';
import type { VirtualTime } from './virtual-time.ts';

/** What all processes share. */
export interface StoredReadModels {
  readonly collections: Map<string, Map<string, StoredDocument>>;
  readonly positions: Map<string, StoredPosition>;
  /** By read model: the one that is filled beside the one in use. */
  readonly versions: Map<string, Versions>;
  /** By read model: who wants to be told that it has moved. */
  readonly listeners: Map<string, Set<() => void>>;
  /** Told of each document that is stored, and of each that goes; null: nobody is. */
  readonly onWrite: ((collection: string, id: string, text: string | null) => void) | null;
}

/** As text, and as that reads; nobody changes what it was given. */
export interface StoredDocument {
  readonly text: string;
  /** Read when it is first asked for: most documents are replaced before. */
  readonly row: Row;
}

export interface StoredPosition {
  epoch: number;
  generation: number;
  sequence: number;
  offsets: ReadonlyMap<Topic, number>;
  ahead: FoldedAhead | null;
  /** Nobody may come to own it: its version is held. */
  isFenced?: boolean;
}

export interface StoreFaults {
  /** Until then, one in so many calls fails; a transaction before it was applied, or after it. */
  failsUntil: number;
  failOneIn: number;
}

/** Until a change is heard of. */
const changeMs = 2;

interface SimulatedOwnership extends Ownership {
  readonly sequence: number;
}

export function createSimulatedStore(by: {
  readonly machine: Machine;
  readonly stored: StoredReadModels;
  readonly time: VirtualTime;
  readonly random: Random;
  readonly faults: StoreFaults;
  /** null: the versions in use. */
  readonly ofNext: OfNext | null;
}): NextVersionStore {
  const { machine, stored, random, ofNext } = by;
  const { collections, positions } = stored;
  /** By number: a transaction whose end isn't known, and what it was to leave. */
  const unsettled = new Map<string, { readonly epoch: number; readonly sequence: number; readonly text: string }>();

  const fails = (): boolean => isAway(by);
  const ask = <T>(serve: () => T): Promise<T> =>
    machine.ask(() => {
      throwIfAway(by);
      return serve();
    });
  const collectionOf = (of: string): Map<string, StoredDocument> => {
    const name = nameIn(ofNext, of);
    const known = collections.get(name);
    if (known !== undefined) return known;
    const made = new Map<string, StoredDocument>();
    collections.set(name, made);
    return made;
  };
  const keyOf = (readModel: string, partition: number) => keyOfNumber(nameIn(ofNext, readModel), partition);
  /** Of a next version that isn't it any more, or is another's, nothing is made or moved. */
  const isOver = (): boolean => ofNext !== null && !mayMove(stored, ofNext);
  const positionOf = (key: string): StoredPosition => {
    const known = positions.get(key);
    if (known !== undefined) return known;
    const made: StoredPosition = { epoch: 0, generation: -1, sequence: 0, offsets: new Map(), ahead: null };
    positions.set(key, made);
    return made;
  };
  const holds = (position: StoredPosition, { epoch, sequence }: SimulatedOwnership): boolean =>
    position.epoch === epoch && position.sequence === sequence;

  async function transact(
    owner: SimulatedOwnership,
    offsets: ReadonlyMap<Topic, number>,
    writes: readonly Write[],
    ahead = owner.ahead,
  ) {
    const { readModel, partition, epoch, sequence } = owner;
    const key = keyOf(readModel, partition);
    const moved = new Map([...owner.offsets, ...offsets]);
    const text = JSON.stringify([[...moved], ahead === null ? null : foldedAheadText(ahead)]);
    const next: SimulatedOwnership = { ...owner, offsets: moved, ahead, sequence: sequence + 1 };
    const before = unsettled.get(key);
    if (before?.epoch === epoch) {
      if (before.sequence !== sequence || before.text !== text) throw stale(owner);
      const isApplied = await ask(() => holds(positionOf(key), next));
      unsettled.delete(key);
      if (isApplied) return next;
    }
    const documents = writes.map(({ collection, id, document }) => ({
      collection,
      id,
      stored: storedOf(id, document),
    }));
    try {
      await machine.ask(() => {
        const failure = fails() ? random.between(1, 2) : 0;
        if (failure === 1) throw away();
        const position = positionOf(key);
        if (isOver() || !holds(position, owner)) throw stale(owner);
        [position.sequence, position.offsets, position.ahead] = [sequence + 1, moved, ahead];
        for (const { collection, id, stored: document } of documents) {
          if (document === null) collectionOf(collection).delete(id);
          else collectionOf(collection).set(id, document);
          if (ofNext === null) stored.onWrite?.(collection, id, document?.text ?? null);
        }
        if (ofNext === null) for (const tell of stored.listeners.get(readModel) ?? []) tell();
        if (failure === 2) throw away();
      });
      return next;
    } catch (err) {
      if (!(err instanceof StaleOwnerError)) unsettled.set(key, { epoch, sequence, text });
      throw err;
    }
  }

  return {
    // As on MongoDB.
    pace: { eventsMax: 500, fewMs: 200, manyMs: 300, unrestedMax: 6, inThread: false },
    prepare: () => Promise.resolve(),
    noteCaughtUp: () => Promise.resolve(),
    removeSome: () => Promise.reject(new Error('nothing is removed here')),
    hasCaughtUp: () => Promise.resolve(true),
    isIndexed: () => Promise.resolve(true),
    secret: () => Promise.resolve('0123456789abcdef0123456789abcdef'),
    onChange(readModel, listener) {
      const listeners = stored.listeners.get(readModel) ?? new Set();
      stored.listeners.set(readModel, listeners);
      const tell = () => void machine.clock.sleep(changeMs).then(listener);
      listeners.add(tell);
      return () => void listeners.delete(tell);
    },
    ready: () => Promise.resolve(true),
    close: () => Promise.resolve(),
    positions: (readModel, partition) => ask(() => positionOf(keyOf(readModel, partition)).offsets),
    ahead: (readModel, partition) => ask(() => positionOf(keyOf(readModel, partition)).ahead),
    own: (readModel, partition, claimed) =>
      ask((): SimulatedOwnership => {
        if (isOver()) throw new HeldError(readModel);
        const position = positionOf(keyOf(readModel, partition));
        if (position.isFenced === true) throw new HeldError(readModel);
        if (position.generation > claimed.generation && position.generation !== claimed.after)
          throw new NewerOwnerError(readModel, partition, claimed, position.generation);
        position.epoch++;
        position.generation = claimed.generation;
        const { epoch, offsets, ahead, sequence } = position;
        return { readModel, partition, epoch, offsets, ahead, sequence };
      }),
    transact: (owner, offsets, writes, ahead) => transact(owner as SimulatedOwnership, offsets, writes, ahead),
    get: <D extends Document>(collection: string, ids: readonly string[]) =>
      ask(() => {
        const found = new Map<string, D>();
        for (const id of ids) {
          const document = collectionOf(collection).get(id);
          if (document !== undefined) found.set(id, document.row as unknown as D);
        }
        return found;
      }),
    find: <D extends Document>(query: Query) => ask(() => found<D>(collectionOf(query.collection), query)),
    scan: (collection, { after, limit }) =>
      ask(() =>
        [...collectionOf(collection)]
          .filter(([id]) => after === null || id > after)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .slice(0, limit)
          .map(([id, { text }]) => ({ id, text })),
      ),
    size: (collection) => ask(() => collectionOf(collection).size),
    findRanges: () => Promise.reject(new Error('nobody finds ranges here')),
    count: () => Promise.reject(new Error('nobody counts here')),
  };
}

interface Away {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly faults: StoreFaults;
}

function isAway({ time, random, faults }: Away): boolean {
  return time.now < faults.failsUntil && random.between(1, faults.failOneIn) === 1;
}

const away = () => new Error('the store is away');

export function throwIfAway(of: Away): void {
  if (isAway(of)) throw away();
}

export function keyOfNumber(readModel: string, partition: number): string {
  return `${readModel}:${partition}`;
}

function stale({ readModel, partition, epoch }: Ownership): StaleOwnerError {
  return new StaleOwnerError(`number ${partition} of ${readModel} was taken over from the owner of epoch ${epoch}`);
}

type Row = Readonly<Record<string, FieldValue>> & { readonly id: string };

function storedOf(id: string, document: Document | null): StoredDocument | null {
  if (document === null) return null;
  const text = JSON.stringify(document);
  let row: Row | null = null;
  return {
    text,
    get row() {
      return (row ??= { ...(JSON.parse(text) as Row), id });
    },
  };
}

function found<D extends Document>(collection: ReadonlyMap<string, StoredDocument>, query: Query): Page<D> {
  const { equals, filter = {}, range, order, after, limit } = query;
  const way = order.direction === 'ascending' ? 1 : -1;
  const keyOf = (row: Row) => [...order.fields.map((field) => row[field] ?? null), row.id];
  const rows = [...collection.values()]
    .map(({ row }) => row)
    .filter((row) => Object.entries(equals).every(([field, value]) => row[field] === value))
    .filter((row) =>
      [...order.fields, ...(range === undefined ? [] : [range.field])].every((field) => row[field] !== null),
    )
    .filter((row) => range === undefined || isWithin(row[range.field] ?? null, range))
    .filter((row) => Object.entries(filter).every(([field, wanted]) => isWanted(row[field] ?? null, wanted)))
    .filter((row) => after === undefined || way * compare(keyOf(row), after) > 0)
    .sort((a, b) => way * compare(keyOf(a), keyOf(b)));
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    documents: page as unknown as readonly (D & { readonly id: string })[],
    next: rows.length > limit && last !== undefined ? keyOf(last) : null,
  };
}

function isWanted(value: FieldValue, wanted: FieldFilter): boolean {
  return isFieldRange(wanted) ? isWithin(value, wanted) : wantedValues(wanted).includes(value);
}

function isWithin(value: FieldValue, { from, to }: FieldRange): boolean {
  return (from == null || compareValues(value, from) >= 0) && (to == null || compareValues(value, to) < 0);
}

function compare(a: readonly FieldValue[], b: readonly FieldValue[]): number {
  for (const [i, value] of a.entries()) {
    const order = compareValues(value, b[i] ?? null);
    if (order !== 0) return order;
  }
  return 0;
}

function compareValues(a: FieldValue, b: FieldValue): number {
  if (a === b) return 0;
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a) < String(b) ? -1 : 1;
}
