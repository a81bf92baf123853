// Documents of a shape, packed into their rows: what is read is what was written, whatever it is, and what a version of before had stays as it was.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createClock } from '../../../src/adapters/node/clock.ts';
import { bytesAtMost, rowText } from '../../../src/adapters/sqlite/read-models/packing.ts';
import { openReadModelStore } from '../../../src/adapters/sqlite/read-models/store.ts';
import { tableOf } from '../../../src/adapters/sqlite/read-models/tables.ts';
import type { DocumentShape } from '../../../src/ports/document-shape.ts';
import type { CollectionDefinition, Document, ReadModelDefinition } from '../../../src/ports/read-model-store.ts';
import { documentBytesMax } from '../../../src/ports/read-model-store.ts';
import fc from '../../support/properties.ts';
import { silentLogger as logger } from './silent-logger.ts';

const shape: DocumentShape = {
  keys: ['id', 'tenant', 'at', 'text', 'one', 'many'],
  id: 'id',
  beside: ['tenant', 'at'],
  inside: {
    one: [{ keys: ['a', 'b'] }, { keys: ['a', 'b', 'c'] }],
    many: [{ keys: ['n', 'inner'], inside: { inner: [{ keys: ['x', 'y'] }] } }],
  },
};
const asTheyAre: CollectionDefinition = {
  name: 'parcels',
  fields: { tenant: 'text', at: 'number' },
  indexes: [{ fields: ['tenant', 'at'] }],
};
const withShape = { ...asTheyAre, shape };
const definitionWith = (...collections: CollectionDefinition[]): ReadModelDefinition => ({
  name: 'parcels',
  collections,
});

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'herald-packing-'));
  path = join(dir, 'views.db');
});
afterEach(() => rmSync(dir, { recursive: true }));

const open = () => openReadModelStore({ path, clock: createClock(), logger });
type Store = ReturnType<typeof open>;

const parcel = (of: Readonly<Record<string, unknown>> = {}): Document => ({
  id: '1',
  tenant: 'a',
  at: 1,
  text: 'é',
  one: null,
  many: [],
  ...of,
});

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

let offset = 0;
async function written(store: Store, documents: ReadonlyMap<string, Document>): Promise<void> {
  const owner = await store.own('parcels', 0, { generation: 0 });
  const writes = [...documents].map(([id, document]) => ({ collection: 'parcels', id, document }));
  await store.transact(owner, new Map([['work', ++offset]]), writes);
}

/** By id, as the rows hold them. */
function rows(table = 'parcels_v1_parcels'): Map<string, string> {
  const db = new DatabaseSync(path, { readOnly: true });
  const all = db.prepare(`SELECT id, document FROM ${table}`).all();
  db.close();
  return new Map(all.map((row) => [String(row['id']), String(row['document'])]));
}

describe('a document of a shape', () => {
  it('is stored without its keys and what stands beside it', async () => {
    const store = open();
    await store.prepare(definitionWith(withShape));
    const many = [
      { n: 1, inner: { x: 1, y: 2 } },
      { n: 2, inner: null },
      { n: 3, inner: { z: 1 } },
    ];
    await written(store, new Map([['1', parcel({ one: { a: 1, b: [2], c: '3' }, many })]]));
    expect(rows().get('1')).toBe('["é",[1,[2],"3"],[[[1,[1,2]],[2,null],[3,{"z":1}]]]]');
    await store.close();
  });

  it('is read as it was written, byte by byte, whatever is in it', async () => {
    const { packing } = tableOf('parcels', 1, withShape);
    const store = open();
    await store.prepare(definitionWith(withShape));
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\0', 'a\0b', '\ud800', '[', '{}'),
    );
    const number = fc.oneof(
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom(2 ** 53, -0, 1e300),
    );
    // What a column may be: whole numbers that JavaScript has.
    const column = fc.oneof(fc.integer(), fc.constantFrom(0.5, -0, 2 ** 52));
    const leaf = fc.oneof(text, number, fc.boolean(), fc.constant(null));
    const deep = fc.oneof(leaf, fc.array(leaf), fc.array(fc.array(leaf)), fc.jsonValue());
    const inner = fc.oneof(fc.record({ x: deep, y: deep }), fc.record({ y: deep, x: deep }), deep);
    const one = fc.oneof(fc.record({ a: deep, b: deep }), fc.record({ a: leaf, b: leaf, c: deep, d: leaf }), deep);
    const many = fc.oneof(
      fc.array(fc.record({ n: leaf, inner })),
      fc.array(fc.oneof(fc.record({ n: leaf }), deep)),
      deep,
    );
    const document = fc.record(
      {
        id: fc.oneof({ weight: 5, arbitrary: fc.constant('1') }, leaf),
        tenant: fc.option(text),
        at: fc.option(column),
        text: deep,
        one,
        many,
      },
      { requiredKeys: ['id', 'tenant', 'at', 'text'] },
    );
    await fc.assert(
      fc.asyncProperty(document, async (of) => {
        await written(store, new Map([['1', of]]));
        const [scanned] = await store.scan('parcels', { after: null, limit: 1, bytesMax: 1 });
        expect(scanned?.text).toBe(JSON.stringify(of));
        const got = (await store.get('parcels', ['1'])).get('1');
        expect(JSON.stringify(got)).toBe(JSON.stringify(of));
        const row = [rowText(packing, 'parcels', '1', of), of.tenant, of.at, '1'];
        expect(bytesAtMost(packing, row)).toBeGreaterThanOrEqual(Buffer.byteLength(JSON.stringify(of)));
      }),
      { numRuns: 500 },
    );
    await store.close();
  });

  it('counts in the bytes of a page as it was written, whether its row leaves that open or not', async () => {
    const store = open();
    await store.prepare(definitionWith(withShape));
    const documents = Array.from({ length: 40 }, (_, at) => {
      const many = Array.from({ length: at % 7 }, (_n, n) => ({ n, inner: { x: 'é'.repeat(n), y: null } }));
      return parcel({ id: `p${at + 10}`, at, text: 'x'.repeat((at * 37) % 300), many });
    });
    await written(store, new Map(documents.map((document, at) => [`p${at + 10}`, document])));
    const sizes = documents.map((document) => Buffer.byteLength(JSON.stringify(document)));
    const order = { fields: ['at'], direction: 'ascending' } as const;
    for (let bytesMax = 1; bytesMax < 12_000; bytesMax += 97) {
      const query = { collection: 'parcels', equals: { tenant: 'a' }, order, limit: 30, bytesMax };
      const fitting = sizes.findIndex((_, at) => sumOf(sizes.slice(0, at + 1)) > bytesMax);
      const { documents: found, next } = await store.find(query);
      const expected = Math.min(30, Math.max(1, fitting < 0 ? 40 : fitting));
      expect([found.length, next]).toEqual([expected, [expected - 1, `p${expected + 9}`]]);
    }
    await store.close();
  });

  it('has a list of equally long texts as one text, and is read as it was written, whatever is in it', async () => {
    const store = open();
    const texts: DocumentShape = { keys: ['at', 'words'], beside: ['at'], texts: { words: 2 } };
    await store.prepare(definitionWith({ ...asTheyAre, shape: texts }));
    await written(store, new Map([['1', { at: 1, words: ['ab', 'é"', '\ud83d\ud83d'] }]]));
    expect(rows().get('1')).toBe('["abé\\"\\ud83d\\ud83d"]');
    const word = fc.oneof(fc.constantFrom('\ud83d\ude00', 'a\ud83d', '\ude00b', '\0"'), fc.string({ maxLength: 3 }));
    const words = fc.oneof(fc.array(word), fc.array(fc.oneof(word, fc.constant(null))), word, fc.jsonValue());
    await fc.assert(
      fc.asyncProperty(words, async (of) => {
        await written(store, new Map([['1', { at: 1, words: of }]]));
        const [scanned] = await store.scan('parcels', { after: null, limit: 1, bytesMax: 1 });
        expect(scanned?.text).toBe(JSON.stringify({ at: 1, words: of }));
        expect(JSON.stringify((await store.get('parcels', ['1'])).get('1'))).toBe(scanned?.text);
      }),
      { numRuns: 300 },
    );
    await store.close();
  });

  it('is as large as it would be unpacked, for a page and for what a document may be', async () => {
    const store = open();
    await store.prepare(definitionWith(withShape));
    const bytes = Buffer.byteLength(JSON.stringify(parcel()));
    await written(store, new Map(['1', '2', '3'].map((id) => [id, parcel({ id })])));
    expect((await store.get('parcels', ['1', '2', '3'], { bytesMax: 2 * bytes })).size).toBe(2);
    expect((await store.get('parcels', ['1', '2', '3'], { bytesMax: 2 * bytes - 1 })).size).toBe(1);
    const largest = 'x'.repeat(documentBytesMax - bytes + 2);
    await written(store, new Map([['1', parcel({ text: largest })]]));
    const refused = written(store, new Map([['1', parcel({ text: `${largest}x` })]]));
    await expect(refused).rejects.toMatchObject({ name: 'DocumentTooLargeError', bytes: documentBytesMax + 1 });
    await store.close();
  });

  it('is found by a field that is declared later, packed or not', async () => {
    const store = open();
    await store.prepare(definitionWith(withShape));
    await written(
      store,
      new Map([
        ['1', parcel()],
        ['2', parcel({ id: '2', further: 1 })],
      ]),
    );
    const fields = { ...withShape.fields, text: 'text' } as const;
    await store.prepare(definitionWith({ ...withShape, fields, indexes: [{ fields: ['text', 'at'] }] }));
    const order = { fields: ['at'], direction: 'ascending' } as const;
    const found = await store.find({ collection: 'parcels', equals: { text: 'é' }, order, limit: 9 });
    expect(found.documents).toEqual([parcel(), parcel({ id: '2', further: 1 })]);
    await store.close();
  });

  it('keeps the fields beside it: without one of them nothing is prepared', async () => {
    const store = open();
    await store.prepare(definitionWith(withShape));
    const without = { ...withShape, fields: { at: 'number' }, indexes: [] } as const;
    await expect(store.prepare(definitionWith(without))).rejects.toThrow('parcels keeps tenant beside its documents');
    await store.close();
  });

  it.each<readonly [string, DocumentShape]>([
    ['beside its documents', { ...shape, beside: ['nowhere'] }],
    ["which its documents don't have", { ...shape, inside: { nowhere: [] } }],
    ['two shapes of as many keys', { ...shape, inside: { one: [{ keys: ['a', 'b'] }, { keys: ['c', 'd'] }] } }],
    ["which aren't a list of its documents", { ...shape, texts: { tenant: 3 } }],
    ["which aren't a list of its documents", { ...shape, texts: { text: 0 } }],
    ['a shape of one key', { ...shape, inside: { one: [{ keys: ['a'] }] } }],
  ])('has a shape that can be told apart: %s', (why, wrong) => {
    expect(() => tableOf('parcels', 1, { ...asTheyAre, shape: wrong })).toThrow(why);
  });
});

describe('a version of a read model', () => {
  it('that was begun before there was a shape stays as it is, and its rebuild is packed, equal and read as it was', async () => {
    const before = open();
    await before.prepare(definitionWith(asTheyAre));
    await written(before, new Map([['1', parcel()]]));
    await before.close();

    const store = open();
    const definition = definitionWith(withShape);
    await store.prepare(definition);
    await written(store, new Map([['2', parcel({ id: '2' })]]));
    expect([...rows().values()]).toEqual([parcel(), parcel({ id: '2' })].map((of) => JSON.stringify(of)));

    const next = await store.beginRebuild(definition);
    const owner = await next.own('parcels', 0, { generation: 0 });
    const documents = ['1', '2'].map((id) => ({ collection: 'parcels', id, document: parcel({ id }) }));
    await next.transact(owner, new Map([['work', offset]]), documents);
    expect(await store.compare(definition)).toMatchObject({ equal: true, documents: 2 });
    const wrong = await next.transact(await next.own('parcels', 0, { generation: 0 }), new Map(), [
      { collection: 'parcels', id: '2', document: parcel({ id: '2', at: 7 }) },
    ]);
    expect(await store.compare(definition)).toMatchObject({ equal: false, differing: ['parcels/2'] });
    await next.transact(wrong, new Map(), documents);
    await store.swap(definition);
    expect([...rows('parcels_v2_parcels').values()]).toEqual(['["é",null,[[]]]', '["é",null,[[]]]']);
    expect(await store.get('parcels', ['1', '2'])).toEqual(
      new Map([
        ['1', parcel()],
        ['2', parcel({ id: '2' })],
      ]),
    );
    await store.close();
  });

  it('that has packed documents is none to a release that cannot read them: its definition is not where that looks', async () => {
    const store = open();
    await store.prepare(definitionWith(withShape));
    await store.prepare({ name: 'plain', collections: [{ ...asTheyAre, name: 'plain' }] });
    await store.close();
    const db = new DatabaseSync(path, { readOnly: true });
    const texts = db.prepare('SELECT definition FROM read_models ORDER BY name').all();
    db.close();
    const collections = texts.map((row) => (JSON.parse(String(row['definition'])) as ReadModelDefinition).collections);
    expect(collections).toEqual([undefined, expect.anything()]);
  });
});
