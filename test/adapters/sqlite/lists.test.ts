// Indexes with a list of texts on SQLite: the places of their documents.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createClock } from '../../../src/adapters/node/clock.ts';
import { placeOf } from '../../../src/adapters/sqlite/read-models/list-places.ts';
import { openReadModelStore } from '../../../src/adapters/sqlite/read-models/store.ts';
import type { FieldValue, Page, Query, Write } from '../../../src/ports/read-model-store.ts';
import { letters } from '../../contracts/read-model-store.ts';
import { silentLogger as logger } from './silent-logger.ts';

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'herald-views-'));
  path = join(dir, 'views.db');
});
afterEach(() => rmSync(dir, { recursive: true }));

describe('SQLite: the places of a list', () => {
  it('tell documents of the same number apart, thousands of them, written, moved and gone in any order', async () => {
    const store = openReadModelStore({ path, clock: createClock(), logger });
    await store.prepare(letters);
    let owner = await store.own('letters', 0, { generation: 1 });
    const count = 4000;
    const idOf = (i: number) => `letter-${i}`;
    // Some have the same place to begin with.
    const firstPlaces = new Set(Array.from({ length: count }, (_, i) => placeOf(7, idOf(i), 0)));
    expect(firstPlaces.size).toBeLessThan(count);
    const put = (i: number, at: number | null): Write => ({
      collection: 'letters',
      id: idOf(i),
      document: at === null ? null : { tenant: 'a', at, status: 'new', tag: null, text: '', labels: ['red'] },
    });
    const write = async (...writes: Write[]) => void (owner = await store.transact(owner, new Map(), writes));
    const numbers = Array.from({ length: count }, (_, i) => i);
    await write(...numbers.map((i) => put(i, 7)));
    // Moved away and back, twice in one batch, and every tenth is gone.
    await write(...numbers.map((i) => put(i, i % 3 === 0 ? 8 : 7)));
    await write(...numbers.map((i) => put(i, 9)), ...numbers.map((i) => put(i, i % 10 === 0 ? null : 7)));
    const left = numbers.filter((i) => i % 10 !== 0).map(idOf);
    for (const direction of ['ascending', 'descending'] as const) {
      const found: string[] = [];
      let after: readonly FieldValue[] | null = null;
      do {
        const order = { fields: ['at'], direction };
        const query: Query = { collection: 'letters', equals: { labels: 'red' }, order, limit: 700 };
        const page: Page<object> = await store.find(after === null ? query : { ...query, after });
        found.push(...page.documents.map(({ id }) => id));
        after = page.next;
      } while (after !== null);
      expect(found).toHaveLength(left.length);
      expect(found.toSorted()).toEqual(left.toSorted());
    }
    expect(await store.count({ collection: 'letters', equals: { labels: 'red' } }, 5000)).toEqual({
      count: left.length,
      exact: true,
    });
    const db = new DatabaseSync(path, { readOnly: true });
    const places = db.prepare('SELECT count(*) AS n FROM letters_v1_letters_by_labels_at_list_places').get();
    expect(places).toEqual({ n: left.length });
    db.close();
    await store.close();
  });

  it('are whole numbers of 42 bits', async () => {
    const store = openReadModelStore({ path, clock: createClock(), logger });
    await store.prepare(letters);
    const owner = await store.own('letters', 0, { generation: 1 });
    for (const at of [0.5, 2 ** 42, -(2 ** 42) - 1]) {
      const document = { tenant: 'a', at, status: 'new', tag: null, text: '', labels: ['red'] };
      const refused = store.transact(owner, new Map(), [{ collection: 'letters', id: '1', document }]);
      await expect(refused).rejects.toThrow(TypeError);
    }
    await store.close();
  });
});
