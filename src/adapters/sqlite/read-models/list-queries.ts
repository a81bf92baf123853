// Queries by a text of a list to SQL: a seek in the rowids of its word, between two places, and from there to the documents.
//
//   SELECT ... FROM (SELECT rowid AS place FROM list WHERE list MATCH ? AND <places> ORDER BY rowid LIMIT n) AS f
//     CROSS JOIN places AS e ON e.place = f.place CROSS JOIN documents AS w ON w.id = e.id

import type { SQLInputValue } from 'node:sqlite';

import type { CountQuery, FieldValue, Query } from '../../../ports/read-model-store.ts';
import { matchOf } from './list-entries.ts';
import { firstPlace, lastPlace, placeOf, placesOf } from './list-places.ts';
import type { Sql } from './queries.ts';
import type { Table, TableIndex } from './tables.ts';
import { quoted } from './tables.ts';

export function findInListSql(table: Table, index: TableIndex, query: Query, of: FoundRows): Sql {
  const { limit, rowsMax, wanted, filter } = of;
  const seek = seekOf(index, query);
  const columns = [...wanted, ...query.order.fields.map(quoted), 'id'].map((column) => `w.${column}`);
  const found = `SELECT ${columns.join(', ')} ${documentsSql(table, index, `${seek.text} LIMIT ?`)}`;
  if (filter === null) return { text: found, values: [...seek.values, limit + 1] };
  return {
    text: `${found} WHERE ${filter.text} LIMIT ?`,
    values: [...seek.values, rowsMax, ...filter.values, limit + 1],
  };
}

interface FoundRows {
  readonly limit: number;
  /** That are looked at where there is a filter. */
  readonly rowsMax: number;
  /** Columns of the documents. */
  readonly wanted: readonly string[];
  readonly filter: Sql | null;
}

/** See boundarySql. */
export function boundaryInListSql(table: Table, index: TableIndex, query: Query, rowsMax: number): Sql {
  const seek = seekOf(index, query);
  const columns = [...query.order.fields.map(quoted), 'id'].map((column) => `w.${column}`);
  const last = documentsSql(table, index, `${seek.text} LIMIT 2 OFFSET ?`);
  return { text: `SELECT ${columns.join(', ')} ${last}`, values: [...seek.values, rowsMax - 1] };
}

/** The rows that are counted: columns of the documents where a filter names some. */
export function countedInListSql(table: Table, index: TableIndex, query: CountQuery, of: CountedRows): Sql {
  const { text, values } = rowsSql(index, query, between(query.range?.from, query.range?.to));
  const rows = `${text} LIMIT ${of.cap + 1}`;
  return { text: of.isFiltered ? `SELECT w.* ${documentsSql(table, index, rows)}` : rows, values };
}

interface CountedRows {
  readonly cap: number;
  readonly isFiltered: boolean;
}

function documentsSql(table: Table, index: TableIndex, rows: string): string {
  return `FROM (${rows}) AS f CROSS JOIN ${quoted(placesOf(index))} AS e ON e.place = f.place
    CROSS JOIN ${table.name} AS w ON w.id = e.id`;
}

function seekOf(index: TableIndex, query: Query): Sql {
  const { text, values } = rowsSql(index, query, boundsOf(index, query));
  return { text: `${text} ORDER BY rowid ${query.order.direction === 'ascending' ? 'ASC' : 'DESC'}`, values };
}

interface Bounds {
  readonly texts: readonly string[];
  readonly values: readonly SQLInputValue[];
}

function rowsSql(index: TableIndex, { equals }: CountQuery, bounds: Bounds): Sql {
  const [list = ''] = index.fields;
  const where = [`${quoted(index.name)} MATCH ?`, ...bounds.texts].join(' AND ');
  const values = [matchOf(equals[list] ?? null), ...bounds.values];
  return { text: `SELECT rowid AS place FROM ${quoted(index.name)} WHERE ${where}`, values };
}

function between(from: FieldValue = null, to: FieldValue = null): Bounds {
  return {
    texts: [...(from === null ? [] : ['rowid >= ?']), ...(to === null ? [] : ['rowid < ?'])],
    values: [from, to].flatMap((bound) => (bound === null ? [] : [firstPlace(Number(bound))])),
  };
}

/** Where the range and the key to go on from bound the same side the nearer one does: FTS5 seeks by one bound a side, and checks others row by row. */
function boundsOf(index: TableIndex, { after, range, order }: Query): Bounds {
  if (after === undefined) return between(range?.from, range?.to);
  const [number, id] = after;
  if (after.length !== 2 || typeof number !== 'number' || typeof id !== 'string')
    throw new Error('the key to go on from has another shape');
  const isAscending = order.direction === 'ascending';
  const end = isAscending ? range?.from : range?.to;
  const isBehind = typeof end === 'number' && (isAscending ? number < end : number >= end);
  if (isBehind) return between(range?.from, range?.to);
  const other = isAscending ? between(null, range?.to) : between(range?.from);
  // One that is gone was where it would be now.
  const place = `coalesce((SELECT place FROM ${quoted(placesOf(index))} WHERE place BETWEEN ? AND ? AND id = ?), ?)`;
  return {
    texts: [...other.texts, `rowid ${isAscending ? '>' : '<'} ${place}`],
    values: [...other.values, firstPlace(number), lastPlace(number), id, placeOf(number, id, 0)],
  };
}
