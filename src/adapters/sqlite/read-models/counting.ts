// Counts rows of an index, and of those the ones that a filter lets through: these stand in the table, so they are looked at in turns.

import type { CountQuery, FieldValue } from '../../../ports/read-model-store.ts';
import type { Looking } from './looks.ts';
import { countPieceSql, countSql } from './queries.ts';
import type { Table } from './tables.ts';

/** Some 5 us each; those of an index alone are counted in one piece, 10,000 in a ms. */
const rowsPerPiece = 500;

export async function countRows(
  looking: Looking,
  table: Table,
  query: CountQuery,
  cap: number,
): Promise<{ readonly count: number; readonly exact: boolean }> {
  const { looked, passed } = await rowsOf(looking, table, query, cap);
  return { count: Math.min(passed, cap), exact: looked <= cap };
}

interface Counted {
  /** At most one more than the cap. */
  readonly looked: number;
  readonly passed: number;
}

async function rowsOf({ connect, turns }: Looking, table: Table, query: CountQuery, cap: number): Promise<Counted> {
  let [looked, passed] = [0, 0];
  let after: readonly FieldValue[] | null = null;
  while (looked <= cap) {
    if (turns.isOver()) await turns.next();
    const piece = countPieceSql(table, query, after, Math.min(rowsPerPiece, cap + 1 - looked));
    if (piece === null) {
      const { text, values } = countSql(table, query, cap);
      const [row] = turns.piece(() => connect().rows(text, values));
      return { looked: Number(row?.[0] ?? 0), passed: Number(row?.[1] ?? 0) };
    }
    const rows = turns.piece(() => connect().rows(piece.text, piece.values));
    for (const row of rows) passed += Number(row.at(-1));
    looked += rows.length;
    after = rows.at(-1)?.slice(0, -1) ?? null;
    if (rows.length < piece.rows) break;
  }
  return { looked, passed };
}
