// Which declared index serves a query: none is chosen that would have SQLite sort or look at other rows.

import type { CountQuery, Query } from '../../../ports/read-model-store.ts';
import { NoFittingIndexError } from '../../../ports/read-model-store.ts';
import type { Table, TableIndex } from './tables.ts';

/** Its fields are exactly the equality fields, in whatever order, then the order fields as they stand. @throws NoFittingIndexError */
export function indexForOrder(table: Table, query: Query): TableIndex {
  const equality = Object.keys(query.equals);
  const order = query.order.fields;
  const fits = (index: TableIndex) =>
    index.fields.length === equality.length + order.length &&
    equality.every((field) => index.fields.indexOf(field) < equality.length && index.fields.includes(field)) &&
    (!index.isList || equality.length > 0) &&
    order.every((field, i) => index.fields[equality.length + i] === field);
  return denseFirst(table, fits) ?? noIndex(table, query.equals, order);
}

/** It begins with the equality fields, in whatever order, then the range's. @throws NoFittingIndexError */
export function indexForCount(table: Table, query: CountQuery): TableIndex {
  const equality = Object.keys(query.equals);
  const fits = (index: TableIndex) =>
    equality.every((field) => index.fields.indexOf(field) < equality.length && index.fields.includes(field)) &&
    (!index.isList || equality.length > 0) &&
    (query.range === undefined || index.fields[equality.length] === query.range.field);
  return denseFirst(table, fits) ?? noIndex(table, query.equals, query.range === undefined ? [] : [query.range.field]);
}

function denseFirst(table: Table, fits: (index: TableIndex) => boolean): TableIndex | undefined {
  const fitting = table.indexes.filter(fits);
  return fitting.find(({ sparse }) => !sparse) ?? fitting[0];
}

function noIndex(table: Table, equals: Query['equals'], order: readonly string[]): never {
  const wanted = `equality on (${Object.keys(equals).join(', ')}), then (${order.join(', ')})`;
  throw new NoFittingIndexError(`${table.collection} declares no index for ${wanted}`);
}
