// Queries to SQL: the declared index that fits, a seek in it by key, and never more rows looked at than a page may
// cost.
//
//   no filter:  SELECT ... FROM t INDEXED BY i WHERE <equals, range, after> ORDER BY ... LIMIT n
//   filtered:   the same over at most rowsPerPageMax rows, and of those the ones that the filter lets through
//
// Rows whose first order field is null are in no order and not found by it; INDEXED BY makes SQLite refuse rather
// than scan.

import type { SQLInputValue } from 'node:sqlite';

import type { CountQuery, FieldValue, Query } from '../../../ports/read-model-store.ts';
import { isFieldRange, NoFittingIndexError, rowsPerPageMax, wantedValues } from '../../../ports/read-model-store.ts';
import { indexForCount, indexForOrder } from './fitting-index.ts';
import { boundaryInListSql, countedInListSql, findInListSql } from './list-queries.ts';
import type { Table, TableIndex } from './tables.ts';
import { quoted, sparseTerms, wantedColumns } from './tables.ts';

export interface Sql {
  readonly text: string;
  readonly values: SQLInputValue[];
}

/**
 * Rows of (document or the fields wanted instead..., order fields..., id), one more than `limit` when there are more.
 * @param rowsMax that are looked at where there is a filter
 * @throws NoFittingIndexError
 */
export function findSql(table: Table, query: Query, limit: number, rowsMax = rowsPerPageMax): Sql {
  const index = indexForOrder(table, query);
  const filter = filterOf(table, query.filter);
  const wanted = wantedColumns(table, query.fields);
  checkRange(table, query);
  if (index.isList) return findInListSql(table, index, query, { limit, rowsMax, wanted, filter });
  const seek = seekOf(table, index, query);
  const keys = [...query.order.fields.map(quoted), 'id'];
  if (filter === null) {
    const text = `SELECT ${[...wanted, ...keys].join(', ')} ${seek.text} LIMIT ?`;
    return { text, values: [...seek.values, limit + 1] };
  }
  const looked = [...new Set(['rowid AS _row', ...keys, ...filter.fields.map(quoted)])].join(', ');
  // CROSS JOIN holds the order of the inner rows and reads only those documents that pass.
  const text = `SELECT ${[...wanted.map((column) => `d.${column}`), ...keys.map((key) => `w.${key}`)].join(', ')}
    FROM (SELECT ${looked} ${seek.text} LIMIT ?) AS w CROSS JOIN ${table.name} AS d ON d.rowid = w._row
    WHERE ${filter.text} LIMIT ?`;
  return { text, values: [...seek.values, rowsMax, ...filter.values, limit + 1] };
}

/** The key of the last row that a filtered page, or a piece of one, may look at, and one row more when there is one. */
export function boundarySql(table: Table, query: Query, rowsMax = rowsPerPageMax): Sql {
  const index = indexForOrder(table, query);
  if (index.isList) return boundaryInListSql(table, index, query, rowsMax);
  const seek = seekOf(table, index, query);
  const keys = [...query.order.fields.map(quoted), 'id'];
  return { text: `SELECT ${keys.join(', ')} ${seek.text} LIMIT 2 OFFSET ?`, values: [...seek.values, rowsMax - 1] };
}

/**
 * Some of the rows to be counted, in the order of their index: the key to go on from, then 1 for those that pass the filter. Null where they aren't counted
 * in pieces: without a filter the index alone is read, and rows that are in no order can't be gone on from.
 */
export function countPieceSql(
  table: Table,
  query: CountQuery,
  after: readonly FieldValue[] | null,
  rows: number,
): (Sql & { readonly rows: number }) | null {
  const index = indexForCount(table, query);
  const filter = filterOf(table, query.filter);
  if (filter === null || index.isList || !isBound(query.range?.from)) return null;
  const fields = index.fields.slice(Object.keys(query.equals).length);
  const seek = seekOf(table, index, {
    ...query,
    order: { fields, direction: 'ascending' },
    limit: rows,
    ...(after === null ? {} : { after }),
  });
  const keys = [...fields.map(quoted), 'id'];
  const looked = [...new Set([...keys, ...filter.fields.map(quoted)])].join(', ');
  const text = `SELECT ${keys.map((key) => `w.${key}`).join(', ')}, ${filter.text} FROM (SELECT ${looked} ${seek.text} LIMIT ?) AS w`;
  return { text, values: [...filter.values, ...seek.values, rows], rows };
}

/**
 * One row: how many were looked at (at most `cap` + 1), how many of those pass the filter. @throws
 * NoFittingIndexError
 */
export function countSql(table: Table, query: CountQuery, cap: number): Sql {
  const index = indexForCount(table, query);
  const filter = filterOf(table, query.filter);
  const inner = index.isList
    ? countedInListSql(table, index, query, { cap, isFiltered: filter !== null })
    : countedSql(table, index, query, cap);
  const passed = filter === null ? 'count(*)' : `count(*) FILTER (WHERE ${filter.text})`;
  // The filter stands before the rows in the text, so do its values.
  const values = [...(filter?.values ?? []), ...inner.values];
  return { text: `SELECT count(*), ${passed} FROM (${inner.text}) AS w`, values };
}

function countedSql(table: Table, index: TableIndex, query: CountQuery, cap: number): Sql {
  const bounds = query.range === undefined ? { texts: [], values: [] } : rangeTerms(query.range);
  const where = [...equalityTerms(query), ...sparseTerms(index), ...bounds.texts];
  const fields = Object.keys(query.filter ?? {});
  const columns = fields.length === 0 ? '1' : fields.map(quoted).join(', ');
  const text = `SELECT ${columns} ${fromIndex(table, index, where)} LIMIT ${cap + 1}`;
  return { text, values: [...equalityValues(query), ...bounds.values] };
}

/** FROM, WHERE and ORDER BY of a query, without its filter. */
function seekOf(table: Table, index: TableIndex, query: Query): Sql {
  const where = [...equalityTerms(query), ...sparseTerms(index)];
  const values = equalityValues(query);
  const bounds = boundTerms(table, query);
  where.push(...bounds.texts);
  values.push(...bounds.values);
  const direction = query.order.direction === 'ascending' ? 'ASC' : 'DESC';
  const order = [...query.order.fields.map(quoted), 'id'].map((key) => `${key} ${direction}`).join(', ');
  return { text: `${fromIndex(table, index, where)} ORDER BY ${order}`, values };
}

function fromIndex(table: Table, index: TableIndex, where: readonly string[]): string {
  const condition = where.length === 0 ? '' : ` WHERE ${where.join(' AND ')}`;
  return `FROM ${table.name} INDEXED BY ${quoted(index.name)}${condition}`;
}

interface Terms {
  readonly texts: string[];
  readonly values: SQLInputValue[];
}

function checkRange({ collection }: Table, { range, order }: Query): void {
  if (range !== undefined && range.field !== order.fields[0])
    throw new NoFittingIndexError(`${collection}: a range on ${range.field} needs it as the first order field`);
}

/**
 * The range and the key to go on from. Where both bound the same side the nearer one does: the other would be checked row by row, and a key from another
 * list can be a million rows away from the range.
 */
function boundTerms(table: Table, query: Query): Terms {
  const [first] = query.order.fields;
  const { range, after } = query;
  const ascending = query.order.direction === 'ascending';
  const texts: string[] = [];
  const values: SQLInputValue[] = [];
  const keys = [...query.order.fields.map(quoted), 'id'];
  if (after !== undefined && (after.length !== keys.length || after.includes(null)))
    throw new Error('the key to go on from has another shape');
  const seeks = after !== undefined && !isBehind(after[0] ?? null, ascending ? range?.from : range?.to, ascending);
  if (after !== undefined && seeks) {
    texts.push(`(${keys.join(', ')}) ${ascending ? '>' : '<'} (${keys.map(() => '?').join(', ')})`);
    values.push(...after);
  }
  if (first === undefined) return { texts, values };
  const seeksUp = seeks && ascending;
  const seeksDown = seeks && !ascending;
  if (isBound(range?.from) && !seeksUp) {
    texts.push(`${quoted(first)} >= ?`);
    values.push(range.from);
  } else if (!seeksUp) {
    texts.push(`${quoted(first)} >= ${leastOf(table, first)}`);
  }
  if (isBound(range?.to) && !seeksDown) {
    texts.push(`${quoted(first)} < ?`);
    values.push(range.to);
  }
  return { texts, values };
}

/** Whether the range's end lies between the key to go on from and the rows. */
function isBehind(key: FieldValue, end: FieldValue | undefined, ascending: boolean): boolean {
  if (!isBound(end) || key === null) return false;
  const order =
    typeof key === 'string' && typeof end === 'string'
      ? Buffer.compare(Buffer.from(key), Buffer.from(end))
      : Number(key) - Number(end);
  return ascending ? order < 0 : order >= 0;
}

function rangeTerms(range: NonNullable<Query['range']>): Terms {
  const texts: string[] = [];
  const values: SQLInputValue[] = [];
  if (isBound(range.from)) {
    texts.push(`${quoted(range.field)} >= ?`);
    values.push(range.from);
  }
  if (isBound(range.to)) {
    texts.push(`${quoted(range.field)} < ?`);
    values.push(range.to);
  }
  return { texts, values };
}

function isBound(value: FieldValue | undefined): value is string | number {
  return value !== undefined && value !== null;
}

/** The least value of a column that isn't null: nulls sort before it, so the seek ends there. */
function leastOf(table: Table, field: string): string {
  return table.columns.find(({ name }) => name === field)?.type === 'text' ? "''" : '-9e999';
}

function equalityTerms(query: CountQuery): string[] {
  return Object.entries(query.equals).map(([field, value]) => `${quoted(field)} ${value === null ? 'IS NULL' : '= ?'}`);
}

function equalityValues(query: CountQuery): SQLInputValue[] {
  return Object.values(query.equals).filter((value) => value !== null);
}

function filterOf(table: Table, filter: Query['filter']): (Sql & { readonly fields: readonly string[] }) | null {
  const entries = Object.entries(filter ?? {});
  if (entries.length === 0) return null;
  const texts: string[] = [];
  const values: SQLInputValue[] = [];
  for (const [field, wanted] of entries) {
    if (!table.columns.some(({ name }) => name === field)) {
      throw new NoFittingIndexError(`${table.collection} doesn't declare ${field}, which a filter names`);
    }
    const column = `w.${quoted(field)}`;
    if (isFieldRange(wanted)) {
      const bounds = rangeTerms({ field, ...wanted });
      texts.push(`${column} IS NOT NULL`, ...bounds.texts.map((term) => `w.${term}`));
      values.push(...bounds.values);
      continue;
    }
    const some = wantedValues(wanted);
    const present = some.filter((value) => value !== null);
    const among = `${column} IN (${present.map(() => '?').join(', ')})`;
    texts.push(some.includes(null) ? `(${column} IS NULL OR ${among})` : among);
    values.push(...present);
  }
  return { fields: entries.map(([field]) => field), text: texts.join(' AND '), values };
}
