// The queries of the port over a database and a view of its versions; used by stores and readers.

import { type Db, MongoServerError } from 'mongodb';

import type { Clock } from '../../../ports/clock.ts';
import type {
  CountQuery,
  Document,
  FieldValue,
  Only,
  Page,
  Query,
  RangesQuery,
  ReadModelReader,
} from '../../../ports/read-model-store.ts';
import { NoFittingIndexError, rowsPerPageMax, skippedOf } from '../../../ports/read-model-store.ts';
import { documentsById } from './by-id.ts';
import { createPositionReads } from './position-reads.ts';
import { positionId } from './positions.ts';
import type { FindPlan } from './queries.ts';
import { endedAt, planCount, planFind, planRanges, queryMs } from './queries.ts';
import type { StoredCollection, StoredDocument } from './stored-collection.ts';
import { documentOf, fittingOf, isWhole, type Measured, projectionOf, sharedProjection } from './wanted.ts';
import { isUnindexed, retiredKeptMs, versionsOf, type View, viewMs } from './versions.ts';

export type Reading = Pick<
  ReadModelReader,
  'get' | 'find' | 'findRanges' | 'count' | 'positions' | 'ahead' | 'hasCaughtUp' | 'isIndexed' | 'secret'
>;

type Found<D extends Document> = D & { readonly id: string };

export function createReading(db: Db, view: View, clock: Clock): Reading {
  /** They never change. */
  const secrets = new Map<string, string>();
  const positionReads = createPositionReads(db);
  const asked = <T>(name: string, ask: (collection: StoredCollection) => Promise<T>) =>
    onCollection({ view, clock }, name, ask);
  return {
    get: <D extends Document>(collection: string, ids: readonly string[], only: Only = {}) =>
      asked(collection, (of) => documentsById<D>(db, of, ids, only)),
    find: <D extends Document>(query: Query) => asked(query.collection, (of) => findPage<D>(db, of, query)),
    findRanges: <D extends Document>(query: RangesQuery) =>
      asked(query.collection, (of) => rowsInRanges<D>(db, of, query)),
    count: (query, cap) => asked(query.collection, (of) => countRows(db, of, query, cap)),
    async positions(readModel, partition) {
      return positionReads.offsets(positionId(await view.model(readModel), partition));
    },
    async ahead(readModel, partition) {
      return positionReads.ahead(positionId(await view.model(readModel), partition));
    },
    async hasCaughtUp(readModel) {
      const found = await versionsOf(db).findOne(
        { _id: readModel },
        { projection: { catchingUp: 1, version: 1 }, maxTimeMS: queryMs },
      );
      return found !== null && found.version !== null && found.catchingUp !== true;
    },
    async isIndexed(readModel) {
      const projection = { catchingUp: 1, unindexed: 1 } as const;
      const found = await versionsOf(db).findOne({ _id: readModel }, { projection, maxTimeMS: queryMs });
      return found === null || !isUnindexed(found);
    },
    async secret(readModel) {
      const known = secrets.get(readModel);
      if (known !== undefined) return known;
      const projection = { secret: 1 } as const;
      const found = await versionsOf(db).findOne({ _id: readModel }, { projection, maxTimeMS: queryMs });
      if (found?.secret === undefined) throw new Error(`the read model ${readModel} isn't prepared`);
      secrets.set(readModel, found.secret);
      return found.secret;
    },
  };
}

/**
 * Asks the version in use. Asked again where an index was declared or taken away since the view was read, and where this process stood still for so long
 * that the version may have been swapped out and removed meanwhile.
 */
async function onCollection<T>(
  { view, clock }: { readonly view: View; readonly clock: Clock },
  name: string,
  ask: (collection: StoredCollection) => Promise<T>,
): Promise<T> {
  const startedAt = clock.monotonic();
  try {
    const answer = await ask(await view.collection(name));
    if (clock.monotonic() - startedAt < retiredKeptMs - viewMs) return answer;
  } catch (error) {
    if (!(error instanceof NoFittingIndexError || isMissingIndex(error))) throw error;
  }
  await view.refresh();
  return ask(await view.collection(name));
}

/** BadValue: the index of the hint isn't there. */
function isMissingIndex(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === 2;
}

async function findPage<D extends Document>(db: Db, collection: StoredCollection, asked: Query): Promise<Page<D>> {
  const limit = Math.min(asked.limit, rowsPerPageMax);
  if (!(limit >= 1)) throw new RangeError('a page has at least one row');
  const query = await behindSkipped(db, collection, asked);
  const plan = query === null ? null : planFind(collection, query);
  if (query === null || plan === null) return { documents: [], next: null };
  const isFiltered = Object.keys(plan.filter).length > 0;
  const end = isFiltered ? await lastRowOf(db, collection, plan, query, rowsPerPageMax) : null;
  const page = end === null ? plan : endedAt(plan, query, end);
  const look = { db, collection, plan: page, query };
  const { shown, isCut } = await (query.bytesMax === undefined || query.fields !== undefined
    ? rowsUpTo(look, limit)
    : rowsWithin(look, limit, query.bytesMax));
  const last = shown.at(-1);
  return {
    documents: shown.map((row) => foundOf<D>(row, query)),
    next: isCut && last !== undefined ? keyOf(query, last) : end,
  };
}

function foundOf<D extends Document>(row: StoredDocument, { fields }: Pick<Query, 'fields'>): Found<D> {
  const document = documentOf(row, fields);
  document['id'] = row._id;
  return document as Found<D>;
}

async function rowsInRanges<D extends Document>(
  db: Db,
  collection: StoredCollection,
  query: RangesQuery,
): Promise<Found<D>[] | null> {
  const plan = planRanges(collection, query);
  if (plan === null) return [];
  const limit = rowsPerPageMax + 1;
  const rows = await db
    .collection<StoredDocument>(collection.name)
    .find(plan.filter, { hint: plan.index, limit, batchSize: limit, maxTimeMS: queryMs })
    .project<StoredDocument>(projectionOf(collection, [], query.fields))
    .toArray();
  return rows.length > rowsPerPageMax ? null : rows.map((row) => foundOf<D>(row, query));
}

/** The query from the last row on that it passes over; null when there is none behind that. */
async function behindSkipped(db: Db, collection: StoredCollection, query: Query): Promise<Query | null> {
  const rows = skippedOf(query);
  if (rows === 0) return query;
  const plan = planFind(collection, query);
  const after = plan === null ? null : await lastRowOf(db, collection, plan, query, rows);
  return after === null ? null : { ...query, after };
}

interface Rows {
  readonly shown: readonly StoredDocument[];
  /** There are more of them. */
  readonly isCut: boolean;
}

interface Look {
  readonly db: Db;
  readonly collection: StoredCollection;
  readonly plan: FindPlan;
  readonly query: Query;
}

async function rowsUpTo(look: Look, limit: number): Promise<Rows> {
  const rows = await rowsOf(look, limit + 1);
  return { shown: rows.slice(0, limit), isCut: rows.length > limit };
}

/**
 * Their sizes, which the server counts, and with them the documents that are no longer than their share of the page. Mostly that is all of them; else what
 * fits is asked for once more: a batch of an answer is up to 16 MiB.
 */
async function rowsWithin(look: Look, limit: number, bytesMax: number): Promise<Rows> {
  const projection = sharedProjection(look.query.order.fields, Math.floor(bytesMax / limit));
  const rows = await cursorOf(look.db, look.collection, look.plan, limit + 1)
    .project<Measured>(projection)
    .toArray();
  if (rows.length === 0) return { shown: [], isCut: false };
  const fitting = fittingOf(
    rows.slice(0, limit).map(({ bytes }) => bytes),
    bytesMax,
  );
  const whole = rows.slice(0, fitting).filter(isWhole);
  const shown = whole.length === fitting ? whole : await rowsOf(look, fitting);
  // Fewer than were measured: the rest is gone meanwhile.
  return { shown, isCut: fitting < rows.length && shown.length === fitting };
}

function rowsOf({ db, collection, plan, query }: Look, limit: number): Promise<StoredDocument[]> {
  return cursorOf(db, collection, plan, limit)
    .project<StoredDocument>(projectionOf(collection, query.order.fields, query.fields))
    .toArray();
}

/** The key of the last of so many rows, whatever the filter; null when there are no more than that. Read from the index alone. */
async function lastRowOf(
  db: Db,
  collection: StoredCollection,
  plan: FindPlan,
  query: Query,
  rows: number,
): Promise<FieldValue[] | null> {
  const [last, further] = await cursorOf(db, collection, { ...plan, filter: {} }, 2)
    .skip(rows - 1)
    .project<StoredDocument>(projectionOf(collection, query.order.fields, []))
    .toArray();
  return last === undefined || further === undefined ? null : keyOf(query, last);
}

function cursorOf(db: Db, collection: StoredCollection, plan: FindPlan, limit: number) {
  const { min, max, sort, index: hint } = plan;
  return db
    .collection<StoredDocument>(collection.name)
    .find(plan.filter, { min, max, sort, hint, limit, batchSize: limit, maxTimeMS: queryMs });
}

function keyOf(query: Query, row: StoredDocument): FieldValue[] {
  // No order names a list.
  return [...query.order.fields.map((field) => (row[field] ?? null) as FieldValue), row._id];
}

async function countRows(db: Db, collection: StoredCollection, query: CountQuery, cap: number) {
  const plan = planCount(collection, query, cap);
  if (plan === null) return { count: 0, exact: true };
  const [row] = await db
    .collection(collection.name)
    .aggregate<{ looked: number; passed: number }>([...plan.pipeline], { hint: plan.index, maxTimeMS: queryMs })
    .toArray();
  const { looked, passed } = row ?? { looked: 0, passed: 0 };
  return { count: Math.min(passed, cap), exact: looked <= cap };
}
