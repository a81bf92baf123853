// Queries to MongoDB: the declared index that fits, a seek between two keys of it, and never more rows looked at than a page may cost.
//
//   find(filter).hint(index).min(key).max(key).sort(index).limit(n)
//
// Two keys bound every page exactly, whatever range and key to go on from were asked: nothing is merged or sorted, and a row that isn't on the page isn't looked at.
// They name the rows without a filter, also those of a sparse index: a filter, if only of indexed fields, would have MongoDB fetch every document.
// Rows whose first order field is null are in no order and not found by it.

import { type Document, MaxKey, MinKey } from 'mongodb';

import type { CountQuery, FieldValue, Query, RangesQuery } from '../../../ports/read-model-store.ts';
import { isFieldRange, NoFittingIndexError, wantedValues } from '../../../ports/read-model-store.ts';
import { leastOf, type StoredCollection, type StoredIndex } from './stored-collection.ts';

/** A query that the server hasn't answered by then is ended there; they take milliseconds. */
export const queryMs = 4000;

type KeyPart = FieldValue | MinKey | MaxKey;
type Key = readonly KeyPart[];

export interface FindPlan {
  readonly index: string;
  /** [min, max): values of the index's fields, then the id. */
  readonly min: Document;
  readonly max: Document;
  readonly sort: Record<string, 1 | -1>;
  /** Empty: every row between the keys is on the page. */
  readonly filter: Document;
}

export interface RangesPlan {
  readonly index: string;
  readonly filter: Document;
}

export interface CountPlan {
  readonly index: string;
  readonly pipeline: readonly Document[];
}

/** Null when nothing can be found. @throws NoFittingIndexError */
export function planFind(collection: StoredCollection, query: Query): FindPlan | null {
  const index = indexForOrder(collection, query);
  const bounds = boundsOf(collection, index, query);
  const filter = filterOf(collection, query.filter);
  if (findsNothing(index, query) || compareKeys(bounds.min, bounds.max) >= 0) return null;
  const keys = [...index.fields, '_id'];
  const direction = query.order.direction === 'ascending' ? 1 : -1;
  // A list has several values, by which MongoDB would sort for itself; between the two keys it is always the same one.
  const sorted = index.isList ? [...query.order.fields, '_id'] : keys;
  return {
    index: index.name,
    min: keyDocument(keys, bounds.min),
    max: keyDocument(keys, bounds.max),
    sort: Object.fromEntries(sorted.map((key) => [key, direction])),
    filter,
  };
}

/** The same page, ended by the last row that it may look at. */
export function endedAt(plan: FindPlan, query: Query, last: readonly FieldValue[]): FindPlan {
  const keys = Object.keys(plan.min);
  const equality = Object.keys(plan.min).slice(0, Object.keys(query.equals).length);
  const key = [...equality.map((field) => query.equals[field] ?? null), ...last];
  return query.order.direction === 'ascending'
    ? { ...plan, max: keyDocument(keys, afterKey(key)) }
    : { ...plan, min: keyDocument(keys, key) };
}

/** A seek for each range: its terms are exactly the index's. Null when nothing can be found. @throws NoFittingIndexError */
export function planRanges(collection: StoredCollection, { ranges }: RangesQuery): RangesPlan | null {
  const plans = ranges.map(({ equals, range: { field, from, to } }) => {
    const query = { collection: collection.collection, equals };
    const index = indexForOrder(collection, { ...query, order: { fields: [field] } });
    // Without an end it would be of those without a value as well.
    const range = { field, from: isBound(from) ? from : leastOf(collection, field), ...(isBound(to) ? { to } : {}) };
    return { index, match: matchOf(collection, index, { ...query, range }), isEmpty: findsNothing(index, query) };
  });
  const names = new Set(plans.map(({ index }) => index.name));
  if (names.size > 1)
    throw new NoFittingIndexError(`${collection.collection}: one index doesn't have all of the ranges`);
  const matches = plans.filter(({ isEmpty }) => !isEmpty).map(({ match }) => match);
  const [index] = names;
  return index === undefined || matches.length === 0 ? null : { index, filter: { $or: matches } };
}

/** One document: how many rows were looked at (at most `cap` + 1), how many of those pass the filter. @throws NoFittingIndexError */
export function planCount(collection: StoredCollection, query: CountQuery, cap: number): CountPlan | null {
  const index = indexForCount(collection, query);
  const filter = filterOf(collection, query.filter);
  if (findsNothing(index, query)) return null;
  const match = matchOf(collection, index, query);
  const passes = Object.entries(filter).flatMap(([field, terms]) => passing(`$${field}`, terms));
  const passed = passes.length === 0 ? { $sum: 1 } : { $sum: { $cond: [{ $and: passes }, 1, 0] } };
  const group = { _id: null, looked: { $sum: 1 }, passed };
  return { index: index.name, pipeline: [{ $match: match }, { $limit: cap + 1 }, { $group: group }] };
}

function matchOf(collection: StoredCollection, index: StoredIndex, { equals, range }: CountQuery): Document {
  const match: Document = { ...sparseTerms(collection, index, equals), ...equals };
  if (range !== undefined && (isBound(range.from) || isBound(range.to))) {
    match[range.field] = {
      ...(isBound(range.from) ? { $gte: range.from } : {}),
      ...(isBound(range.to) ? { $lt: range.to } : {}),
    };
  }
  return match;
}

/** The terms of a filter as expressions; a range isn't of null, which is less than all values. */
function passing(field: string, terms: FilterTerms): Document[] {
  if ('$in' in terms) return [{ $in: [{ $ifNull: [field, null] }, { $literal: terms.$in }] }];
  return Object.entries(terms).map(([operator, value]) => ({ [operator]: [field, { $literal: value }] }));
}

function boundsOf(collection: StoredCollection, index: StoredIndex, query: Query): { min: Key; max: Key } {
  const { range, after, order } = query;
  const [first] = order.fields;
  if (range !== undefined && range.field !== first) {
    throw new NoFittingIndexError(
      `${collection.collection}: a range on ${range.field} needs it as the first order field`,
    );
  }
  const equality = index.fields.slice(0, index.fields.length - order.fields.length);
  const prefix = equality.map((field) => query.equals[field] ?? null);
  const rest = order.fields.map(() => new MinKey());
  const from = isBound(range?.from) ? range.from : first === undefined ? new MinKey() : leastOf(collection, first);
  const to = isBound(range?.to) ? range.to : new MaxKey();
  const min: Key = [...prefix, from, ...rest];
  const max: Key = [...prefix, to, ...rest];
  if (after === undefined) return { min, max };
  if (after.length !== order.fields.length + 1 || after.includes(null)) {
    throw new Error('the key to go on from has another shape');
  }
  const seen = [...prefix, ...after];
  return order.direction === 'ascending' ? { min: greater(min, afterKey(seen)), max } : { min, max: lesser(max, seen) };
}

/** The first key after this one: no text lies between an id and the id with a zero character more. */
function afterKey(key: readonly FieldValue[]): Key {
  return [...key.slice(0, -1), `${key.at(-1) ?? ''}\0`];
}

function keyDocument(fields: readonly string[], key: Key): Document {
  return Object.fromEntries(fields.map((field, i) => [field, key[i]]));
}

function greater(a: Key, b: Key): Key {
  return compareKeys(a, b) >= 0 ? a : b;
}

function lesser(a: Key, b: Key): Key {
  return compareKeys(a, b) <= 0 ? a : b;
}

/** In the order of an index: null, numbers, texts by their bytes. */
function compareKeys(a: Key, b: Key): number {
  for (const [i, left] of a.entries()) {
    const right = b[i] ?? null;
    const order = rankOf(left) - rankOf(right) || compareValues(left, right);
    if (order !== 0) return order;
  }
  return 0;
}

function rankOf(part: KeyPart): number {
  if (part instanceof MinKey) return 0;
  if (part instanceof MaxKey) return 4;
  if (part === null) return 1;
  return typeof part === 'number' ? 2 : 3;
}

function compareValues(a: KeyPart, b: KeyPart): number {
  if (typeof a === 'number' && typeof b === 'number') return a < b ? -1 : Number(a > b);
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return 0;
}

function isBound(value: FieldValue | undefined): value is string | number {
  return value !== undefined && value !== null;
}

/** A sparse index holds no null. */
function findsNothing(index: StoredIndex, query: CountQuery): boolean {
  return index.sparse && Object.values(query.equals).includes(null);
}

/** What the rows of a sparse index fulfil, and what a query without keys must say for MongoDB to use it. */
function sparseTerms(
  collection: StoredCollection,
  index: StoredIndex,
  equals: Query['equals'],
): Record<string, FieldValue | { $gte: string | number }> {
  if (!index.sparse) return {};
  return Object.fromEntries(
    index.fields.map((field) => [field, equals[field] ?? { $gte: leastOf(collection, field) }]),
  );
}

type FilterTerms =
  | { readonly $in: readonly FieldValue[] }
  | { readonly $gte: string | number; readonly $lt?: string | number };

function filterOf(collection: StoredCollection, filter: Query['filter']): Record<string, FilterTerms> {
  const entries = Object.entries(filter ?? {});
  return Object.fromEntries(
    entries.map(([field, wanted]): [string, FilterTerms] => {
      if (collection.fields[field] === undefined || collection.fields[field] === 'texts') {
        throw new NoFittingIndexError(`${collection.collection} doesn't declare ${field}, which a filter names`);
      }
      if (!isFieldRange(wanted)) return [field, { $in: wantedValues(wanted) }];
      const { from, to } = wanted;
      const least = isBound(from) ? from : leastOf(collection, field);
      return [field, { $gte: least, ...(isBound(to) ? { $lt: to } : {}) }];
    }),
  );
}

/** Its fields are exactly the equality fields, in whatever order, then the order fields as they stand. */
function indexForOrder(
  collection: StoredCollection,
  query: Pick<Query, 'equals'> & { readonly order: Pick<Query['order'], 'fields'> },
): StoredIndex {
  const order = query.order.fields;
  const fits = (index: StoredIndex) =>
    index.fields.length === Object.keys(query.equals).length + order.length &&
    beginsWith(index, query.equals) &&
    (!index.isList || Object.keys(query.equals).length > 0) &&
    order.every((field, i) => index.fields[index.fields.length - order.length + i] === field);
  return denseFirst(collection, fits) ?? noIndex(collection, query.equals, order);
}

/** It begins with the equality fields, in whatever order, then the range's. */
function indexForCount(collection: StoredCollection, query: CountQuery): StoredIndex {
  const { equals, range } = query;
  const fits = (index: StoredIndex) =>
    beginsWith(index, equals) &&
    (!index.isList || Object.keys(equals).length > 0) &&
    (range === undefined || index.fields[Object.keys(equals).length] === range.field);
  return denseFirst(collection, fits) ?? noIndex(collection, equals, range === undefined ? [] : [range.field]);
}

function beginsWith(index: StoredIndex, equals: Query['equals']): boolean {
  const equality = Object.keys(equals);
  return equality.every((field) => index.fields.slice(0, equality.length).includes(field));
}

function denseFirst(collection: StoredCollection, fits: (index: StoredIndex) => boolean): StoredIndex | undefined {
  const fitting = collection.indexes.filter(fits);
  return fitting.find(({ sparse }) => !sparse) ?? fitting[0];
}

function noIndex(collection: StoredCollection, equals: Query['equals'], order: readonly string[]): never {
  const wanted = `equality on (${Object.keys(equals).join(', ')}), then (${order.join(', ')})`;
  throw new NoFittingIndexError(`${collection.collection} declares no index for ${wanted}`);
}
