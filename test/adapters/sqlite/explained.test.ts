// What the lists of notifications cost on SQLite: every combination of filters, its queries explained over filled read models and its rows counted.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { createClock } from '../../../src/adapters/node/clock.ts';
import type { Sql } from '../../../src/adapters/sqlite/read-models/queries.ts';
import { boundarySql, countSql, findSql } from '../../../src/adapters/sqlite/read-models/queries.ts';
import { openReadModelStore } from '../../../src/adapters/sqlite/read-models/store.ts';
import { loadVersions } from '../../../src/adapters/sqlite/read-models/view.ts';
import type { CountQuery, FieldValue, Query, ReadModelStore } from '../../../src/ports/read-model-store.ts';
import { rowsPerPageMax } from '../../../src/ports/read-model-store.ts';
import type { NotificationFilter } from '../../../src/projections/notifications/filter.ts';
import { countedTotalMax } from '../../../src/projections/notifications/filter.ts';
import { listNotifications } from '../../../src/projections/notifications/queries.ts';
import { code, failureClass, fillAllButTimers, tenant } from '../../support/filled-read-models.ts';
import { outcomeFilters, recordFilters, searchFilters } from '../../support/notification-filters.ts';
import { silentLogger as logger } from './silent-logger.ts';

/** What one list asked the store for. */
interface Asked {
  readonly finds: Query[];
  readonly counts: { readonly query: CountQuery; readonly cap: number }[];
  /** Documents by id. */
  ids: number;
}

describe('SQLite: a list of notifications', () => {
  const dir = mkdtempSync(join(tmpdir(), 'herald-explained-'));
  const path = join(dir, 'views.db');
  const store = openReadModelStore({ path, clock: createClock(), logger });
  let db: DatabaseSync;
  beforeAll(async () => {
    await fillAllButTimers(store);
    db = new DatabaseSync(path, { readOnly: true });
  }, 60_000);
  afterAll(async () => {
    db.close();
    await store.close();
    rmSync(dir, { recursive: true });
  });

  const tableOf = (collection: string) => {
    const tables = loadVersions(db, 'current').flatMap((model) => model.tables);
    const table = tables.find((of) => of.collection === collection);
    if (table === undefined) throw new Error(`there is no ${collection}`);
    return table;
  };
  const asked = async (filter: NotificationFilter, limit: number, after: readonly FieldValue[] | null) => {
    const by: Asked = { finds: [], counts: [], ids: 0 };
    const place = { limit, ...(after === null ? {} : { after }) };
    const { next } = await listNotifications(recording(store, by), tenant, filter, place);
    return { by, next };
  };

  it('is read from documents that are packed, nearly all of them, as the inbox and the search are', () => {
    const packed = loadVersions(db, 'current').flatMap(({ tables }) =>
      tables.filter(({ packing }) => packing !== null),
    );
    expect(packed.map(({ collection }) => collection)).toEqual([
      'inbox_items',
      'inbox_contents',
      'notifications_2',
      'searchable_2',
    ]);
    for (const { name } of packed) {
      const row = db.prepare(`SELECT avg(document LIKE '[%') AS share FROM ${name}`).get();
      expect(Number(row?.['share'])).toBeGreaterThan(0.9);
    }
  });

  it('by every combination of filters stays within its rows, page after page, by indexes alone', async () => {
    const filters = [...recordFilters(), ...outcomeFilters(), ...searchFilters()];
    expect(filters).toHaveLength(2 ** 8 + 2 ** 7 + 2 * 63 + 6 * 8 + 7 * 16);
    const plans = new Set<string>();
    const dear: unknown[] = [];
    let pages = 0;
    for (const filter of filters) {
      let after: readonly FieldValue[] | null = null;
      for (const limit of [20, 100]) {
        const { by, next }: Awaited<ReturnType<typeof asked>> = await asked(filter, limit, after);
        pages++;
        for (const sql of sqlOf(by)) plans.add(planOf(db, sql));
        // The totals come from cells of the statistics: a find each for minutes, hours and days.
        const listed = by.finds.filter(({ collection }) => collection !== 'statistics_2');
        const cells = by.finds.length - listed.length;
        const rows = listed.reduce((sum, query) => sum + rowsLookedAt(db, tableOf(query.collection), query), 0);
        // Each look reads one row more, which tells whether there is another.
        const isCheap = rows <= rowsPerPageMax + listed.length && by.ids <= rowsPerPageMax && cells <= 5;
        if (!isCheap || by.counts.some(({ cap }) => cap > countedTotalMax))
          dear.push({ filter, rows, ids: by.ids, cells });
        after = next;
        if (after === null) break;
      }
    }
    expect(pages).toBeGreaterThan(filters.length * 1.2);
    expect(dear).toEqual([]);
    expect(plans.size).toBeGreaterThan(10);
    for (const plan of plans) {
      expect(plan).toMatch(/SEARCH|VIRTUAL TABLE INDEX \d+:M1/);
      // What an inner query hands on row by row, and the rows of a word, from one place to another.
      const handedOn = /SCAN [fw]\b|SCAN \w+_list VIRTUAL TABLE INDEX \d+:M1\S*/g;
      expect(plan.replaceAll(handedOn, '')).not.toMatch(/SCAN|TEMP B-TREE|MATERIALIZE/);
    }

    function sqlOf({ finds, counts }: Asked): Sql[] {
      return [
        ...finds.flatMap((query) => [
          findSql(tableOf(query.collection), query, query.limit),
          boundarySql(tableOf(query.collection), query),
        ]),
        ...counts.map(({ query, cap }) => countSql(tableOf(query.collection), query, cap)),
      ];
    }
  }, 120_000);

  it('of what failed is counted in a channel by an index alone, whatever may still come of it', async () => {
    for (const cause of [{ errorCode: code }, { errorClass: failureClass }]) {
      const { by } = await asked({ ...cause, channel: 'EMAIL' }, 20, null);
      const [counted] = by.counts;
      if (counted === undefined) throw new Error('a list counts');
      const table = tableOf('notifications_2');
      expect(planOf(db, countSql(table, counted.query, counted.cap))).toContain('COVERING INDEX');
      expect(by.finds.map((query) => rowsLookedAt(db, table, query))).toEqual([21]);
    }
  });

  it('goes on by a key from far outside of its time without looking at what lies between', async () => {
    const { by } = await asked({ to: 1 }, 20, [Date.UTC(2030, 0), 'notif_x']);
    const [query] = by.finds;
    if (query === undefined) throw new Error('a list finds');
    expect(rowsLookedAt(db, tableOf('notifications_2'), query)).toBe(0);
  });
});

function recording(store: ReadModelStore, by: Asked): ReadModelStore {
  return {
    ...store,
    find(query) {
      by.finds.push(query);
      return store.find(query);
    },
    count(query, cap) {
      by.counts.push({ query, cap });
      return store.count(query, cap);
    },
    get(collection, ids) {
      by.ids += ids.length;
      return store.get(collection, ids);
    },
  };
}

function planOf(db: DatabaseSync, { text, values }: Sql): string {
  const rows = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values);
  return rows.map((row) => String(row['detail'])).join('; ');
}

/** Rows of the index until the page was full, as SQLite steps through them: it calls a function for each. */
function rowsLookedAt(db: DatabaseSync, table: Parameters<typeof findSql>[0], query: Query): number {
  let rows = 0;
  db.function('looked', { deterministic: false }, () => {
    rows++;
    return 1;
  });
  const { text, values } = findSql(table, query, query.limit);
  // In the innermost WHERE, after the terms by which the index is sought.
  db.prepare(text.replace(/ ORDER BY/, ' AND looked() ORDER BY')).all(...values);
  return rows;
}
