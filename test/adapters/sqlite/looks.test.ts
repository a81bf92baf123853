// Looks into large collections let go of the thread after every few rows, and find what they would have found in one piece.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { createClock } from '../../../src/adapters/node/clock.ts';
import { openReadModelReader } from '../../../src/adapters/sqlite/read-models/reader.ts';
import { openReadModelStore } from '../../../src/adapters/sqlite/read-models/store.ts';
import type { Query, ReadModelReader } from '../../../src/ports/read-model-store.ts';
import type { ThreadTurns } from '../../../src/ports/thread-turns.ts';
import { wholeTurns } from '../../../src/ports/thread-turns.ts';
import { letters } from '../../contracts/read-model-store.ts';
import { silentLogger as logger } from './silent-logger.ts';

/** More than a page may look at. */
const count = 2500;
const idOf = (i: number) => `letter-${String(i).padStart(5, '0')}`;

/** Every piece is the last of its turn. */
function shortTurns(): ThreadTurns & { taken(): number } {
  let taken = 0;
  return {
    ...wholeTurns,
    isOver: () => true,
    async next() {
      taken++;
      await Promise.resolve();
    },
    taken: () => taken,
  };
}

let dir: string;
let whole: ReadModelReader & { close(): void };

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'herald-views-'));
  const path = join(dir, 'views.db');
  const store = openReadModelStore({ path, clock: createClock(), logger });
  await store.prepare(letters);
  const owner = await store.own('letters', 0, { generation: 1 });
  const writes = Array.from({ length: count }, (_, i) => {
    const document = {
      tenant: 'a',
      at: Math.floor(i / 3),
      status: i % 100 === 0 ? 'open' : 'done',
      body: 'x'.repeat(i),
    };
    return { collection: 'letters', id: idOf(i), document };
  });
  await store.transact(owner, new Map([['work', 1]]), writes);
  await store.close();
  whole = openReadModelReader({ path });
});
afterAll(() => {
  whole.close();
  rmSync(dir, { recursive: true });
});

const page: Query = {
  collection: 'letters',
  equals: { tenant: 'a' },
  order: { fields: ['at'], direction: 'descending' },
  limit: 100,
};

/** Answers in how many turns. */
async function sameInTurns(ask: (reader: ReadModelReader) => Promise<unknown>): Promise<number> {
  const turns = shortTurns();
  const reader = openReadModelReader({ path: join(dir, 'views.db'), turns });
  try {
    expect(await ask(reader)).toEqual(await ask(whole));
  } finally {
    reader.close();
  }
  return turns.taken();
}

describe('a look', () => {
  it.each(['ascending', 'descending'] as const)('at a page lets go after each document: %s', async (direction) => {
    const order = { fields: ['at'], direction };
    expect(await sameInTurns((reader) => reader.find({ ...page, order }))).toBeGreaterThanOrEqual(100);
    expect(await sameInTurns((reader) => reader.find({ ...page, order, bytesMax: 20_000 }))).toBeGreaterThan(5);
    await sameInTurns((reader) => reader.find({ ...page, order, after: [20, idOf(61)], limit: 7 }));
    await sameInTurns((reader) => reader.find({ ...page, order, range: { field: 'at', from: 3, to: 9 } }));
  });

  it.each([['open'], ['nowhere'], ['done']])('at a filtered page lets go after 128 rows: %s', async (status) => {
    for (const direction of ['ascending', 'descending'] as const) {
      for (const limit of [3, 12, 13, 200]) {
        const order = { fields: ['at'], direction };
        const query = { ...page, order, limit, filter: { status } };
        const turns = await sameInTurns((reader) => reader.find(query));
        expect(turns).toBeGreaterThanOrEqual(status === 'nowhere' ? Math.floor(2000 / 128) : 1);
        await sameInTurns((reader) => reader.find({ ...query, bytesMax: 3000 }));
      }
    }
  });

  it('at documents by their ids lets go after each', async () => {
    const ids = Array.from({ length: 60 }, (_, i) => (i % 7 === 0 ? `none-${i}` : idOf((i * 37) % count)));
    expect(await sameInTurns(async (reader) => [...(await reader.get('letters', ids))])).toBeGreaterThan(50);
    await sameInTurns(async (reader) => [...(await reader.get('letters', ids, { bytesMax: 9000 }))]);
    await sameInTurns(async (reader) => [...(await reader.get('letters', ids, { fields: ['at'] }))]);
  });

  it('that counts what passes a filter lets go after 500 rows', async () => {
    for (const cap of [1, 499, 500, 2000, 10_000]) {
      for (const range of [
        { field: 'at', from: 0 },
        { field: 'at', from: 10, to: 700 },
        { field: 'at', to: 700 },
      ]) {
        const query = { collection: 'letters', equals: { tenant: 'a' }, range, filter: { status: 'open' } };
        await sameInTurns((reader) => reader.count(query, cap));
      }
    }
    const all = { collection: 'letters', equals: { tenant: 'a' }, range: { field: 'at', from: 0 } };
    const turns = await sameInTurns((reader) => reader.count({ ...all, filter: { status: 'open' } }, 10_000));
    expect(turns).toBeGreaterThanOrEqual(count / 500);
  });
});
