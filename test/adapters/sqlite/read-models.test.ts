// The SQLite read-model store: the contract, and what is its own: no scan, ever, and changes that cross threads.

import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createClock } from '../../../src/adapters/node/clock.ts';
import { createChangeSignal } from '../../../src/adapters/sqlite/read-models/change-signal.ts';
import { boundarySql, countSql, findSql, type Sql } from '../../../src/adapters/sqlite/read-models/queries.ts';
import { openReadModelReader } from '../../../src/adapters/sqlite/read-models/reader.ts';
import { openReadModelStore } from '../../../src/adapters/sqlite/read-models/store.ts';
import { tableOf } from '../../../src/adapters/sqlite/read-models/tables.ts';
import type { Query } from '../../../src/ports/read-model-store.ts';
import { wholeTurns } from '../../../src/ports/thread-turns.ts';
import { letters, readModelStoreContract } from '../../contracts/read-model-store.ts';
import { until } from '../../support/until.ts';
import { silentLogger as logger } from './silent-logger.ts';

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'herald-views-'));
  path = join(dir, 'views.db');
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Every piece of a look in a turn of its own. */
const turns = { ...wholeTurns, isOver: () => true, next: () => Promise.resolve() };

for (const withSignal of [true, false]) {
  readModelStoreContract(withSignal ? 'SQLite, told of changes' : 'SQLite, looking for changes, in turns', async () => {
    const open = () => {
      const signal = createChangeSignal(['letters']);
      const store = openReadModelStore({
        path,
        clock: createClock(),
        logger,
        ...(withSignal ? { changes: signal.writer } : {}),
      });
      const reader = openReadModelReader({ path, ...(withSignal ? { changes: signal.reader } : { turns }) });
      const close = async () => {
        reader.close();
        await store.close();
        signal.writer.port.close();
      };
      return { store, reader, close };
    };
    let opened = open();
    return {
      get store() {
        return opened.store;
      },
      get reader() {
        return opened.reader;
      },
      async reopen() {
        await opened.close();
        opened = open();
        await opened.store.prepare(letters);
      },
      close: () => opened.close(),
    };
  });
}

/** In an index, or in the rows of a word. */
const seeks =
  /SEARCH \w+ USING (COVERING )?INDEX letters_v1_letters_by_|SCAN letters_v1_letters_by_labels_at_list VIRTUAL TABLE INDEX \d+:M1/;
/** What an inner query hands on row by row, and the rows of a word. */
const handedOn = /SCAN [fw]\b|SCAN \w+_list VIRTUAL TABLE INDEX \d+:M1\S*/g;

describe('SQLite: every query', () => {
  const [collection] = letters.collections;
  const table = tableOf('letters', 1, collection!);
  const base: Query = {
    collection: 'letters',
    equals: { tenant: 'a' },
    order: { fields: ['at'], direction: 'descending' },
    limit: 10,
  };
  const ranges: Partial<Query>[] = [{}, { range: { field: 'at', from: 1, to: 9 } }];
  const afters: Partial<Query>[] = [{}, { after: [5, 'x'] }];
  const filters: Partial<Query>[] = [{}, { filter: { status: ['new', 'read'], tag: null } }];
  const equalities = [
    { tenant: 'a' },
    { tenant: 'a', status: 'new' },
    { tenant: 'a', tag: 't' },
    {},
    { tenant: 'a', status: null },
    { labels: 'red' },
  ];
  const plans = async (sqls: readonly Sql[]): Promise<string[]> => {
    const store = openReadModelStore({ path, clock: createClock(), logger });
    await store.prepare(letters);
    const db = new DatabaseSync(path, { readOnly: true });
    const steps = sqls.map(({ text, values }) => {
      const rows = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values);
      return rows.map((row) => String(row['detail'])).join('; ');
    });
    db.close();
    await store.close();
    return steps;
  };

  it('of find seeks in an index by all that bounds it, scans no table and sorts nothing', async () => {
    const queries = equalities.flatMap((equals) =>
      (['ascending', 'descending'] as const).flatMap((direction) =>
        ranges.flatMap((range) =>
          afters.flatMap((after) =>
            filters.map((filter): Query => ({
              ...base,
              equals,
              order: { fields: ['at'], direction },
              ...range,
              ...after,
              ...filter,
            })),
          ),
        ),
      ),
    );
    const found = await plans(queries.flatMap((query) => [findSql(table, query, 10), boundarySql(table, query)]));
    expect(found).toHaveLength(2 * 6 * 2 * 2 * 2 * 2);
    for (const plan of found) {
      expect(plan).toMatch(seeks);
      // The rows of the inner query are handed on one by one: the only thing "scanned".
      expect(plan.replaceAll(handedOn, '')).not.toMatch(/SCAN|TEMP B-TREE|MATERIALIZE/);
    }
  });

  it('of find bounds the index by the key to go on from and by the other end of the range', async () => {
    const query = { ...base, range: { field: 'at', from: 1, to: 9 }, after: [5, 'x'] };
    const [descending] = await plans([findSql(table, query, 10)]);
    expect(descending).toContain('(tenant=? AND at>? AND (at,id)<(?,?))');
  });

  it('of find by a text of a list seeks in its rows by both of their bounds', async () => {
    const equals = { labels: 'red' };
    const bounded = { ...base, equals, range: { field: 'at', from: 1, to: 9 } };
    for (const query of [bounded, { ...bounded, after: [5, 'x'] }, { ...bounded, after: [99, 'x'] }]) {
      for (const direction of ['ascending', 'descending'] as const) {
        const order = { fields: ['at'], direction };
        const [plan = ''] = await plans([findSql(table, { ...query, order }, 10)]);
        expect(plan).toMatch(/SCAN letters_v1_letters_by_labels_at_list VIRTUAL TABLE INDEX \d+:M1(<>|><);/);
      }
    }
  });

  it('of find checks no row against an end of the range, also with a key from far outside of it', async () => {
    const range = { field: 'at', from: 1, to: 9 };
    for (const at of [-5, 1, 5, 9, 99]) {
      for (const direction of ['ascending', 'descending'] as const) {
        const query = { ...base, range, order: { fields: ['at'], direction }, after: [at, 'x'] };
        const sql = findSql(table, query, 10);
        const [plan = ''] = await plans([sql]);
        const asked = /WHERE (.*) ORDER BY/.exec(sql.text)?.[1]?.split(' AND ').length;
        const bounds = /INDEX letters_v1_letters_by_tenant_at \((.*)\)/.exec(plan)?.[1]?.split(' AND ').length;
        expect([at, direction, bounds]).toEqual([at, direction, asked]);
      }
    }
  });

  it('of count seeks in an index', async () => {
    const queries = [...equalities.slice(0, 3), { labels: 'red' }].flatMap((equals) =>
      ranges.flatMap((range) => filters.map((filter) => ({ ...range, ...filter, equals }))),
    );
    const found = await plans(queries.map((query) => countSql(table, { collection: 'letters', ...query }, 100)));
    for (const plan of found) {
      expect(plan).toMatch(seeks);
      expect(plan.replaceAll(handedOn, '')).not.toMatch(/SCAN|TEMP B-TREE/);
    }
  });
});

describe('SQLite: a reader in another thread than the writer', () => {
  it('is told of every change, however they fall between its looks', async () => {
    const signal = createChangeSignal(['letters']);
    const worker = new Worker(new URL('./writer-thread.ts', import.meta.url), {
      workerData: { path, changes: signal.writer, batches: 200 },
      transferList: [signal.writer.port],
    });
    const failure = new Promise<never>((_, reject) => worker.once('error', reject));
    const reader = openReadModelReader({ path, changes: signal.reader });
    let seen = 0;
    let calls = 0;
    const look = async () => {
      calls += 1;
      seen = (await reader.positions('letters', 0)).get('work') ?? 0;
    };
    reader.onChange('letters', () => void look());
    await Promise.race([until(() => seen === 200, { what: 'the last position' }), failure]);
    expect(calls).toBeLessThanOrEqual(200);
    reader.close();
    signal.reader.port.close();
    await worker.terminate();
  });

  it('finds all in the file once the writer has closed it, and nothing is left in the log of writes', async () => {
    const store = openReadModelStore({ path, clock: createClock(), logger });
    await store.prepare(letters);
    const reader = openReadModelReader({ path });
    const owner = await store.own('letters', 0, { generation: 1 });
    const letter = { collection: 'letters', id: 'one', document: { tenant: 'a', at: 1 } };
    await store.transact(owner, new Map([['work', 1]]), [letter]);
    expect((await reader.get('letters', ['one'])).size).toBe(1);
    await store.close();
    expect(statSync(`${path}-wal`).size).toBe(0);
    expect((await reader.get('letters', ['one'])).size).toBe(1);
    reader.close();
  });

  it('rejects until the writer has made the file, then finds it by itself', async () => {
    const reader = openReadModelReader({ path });
    expect(await reader.ready()).toBe(false);
    await expect(reader.positions('letters', 0)).rejects.toThrow();
    const store = openReadModelStore({ path, clock: createClock(), logger });
    expect(await reader.ready()).toBe(true);
    await expect(reader.positions('letters', 0)).rejects.toThrow("isn't prepared");
    await store.prepare(letters);
    expect((await reader.positions('letters', 0)).size).toBe(0);
    reader.close();
    await store.close();
  });
});
