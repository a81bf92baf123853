// What every read-model store promises; each adapter runs this suite.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { StaleOwnerError } from '../../src/ports/event-log.ts';
import type { DocumentScan } from '../../src/ports/document-scan.ts';
import type { RebuildableStore } from '../../src/ports/read-model-rebuild.ts';
import {
  documentBytesMax,
  type FieldFilter,
  type FieldValue,
  HeldError,
  isFieldRange,
  NoFittingIndexError,
  type Query,
  type ReadModelDefinition,
  type ReadModelReader,
  type ReadModelStore,
  rowsPerPageMax,
  rowsSkippedMax,
  TooManyBytesError,
  wantedValues,
  type Write,
} from '../../src/ports/read-model-store.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import fc from '../support/properties.ts';
import { until } from '../support/until.ts';

export interface ReadModelStoreHarness {
  readonly store: ReadModelStore & RebuildableStore & DocumentScan;
  /** One that only asks, as another thread or process has it. */
  readonly reader: ReadModelReader & DocumentScan;
  /** The same data after a restart. */
  reopen(): Promise<void>;
  close(): Promise<void>;
}

interface Letter {
  readonly tenant: string;
  readonly at: number | null;
  readonly status: string;
  readonly tag: string | null;
  readonly text: string;
  readonly labels: readonly string[];
}

export const letters: ReadModelDefinition = {
  name: 'letters',
  collections: [
    {
      name: 'letters',
      fields: { tenant: 'text', at: 'number', status: 'text', tag: 'text', labels: 'texts' },
      indexes: [
        { fields: ['tenant', 'at'] },
        { fields: ['tenant', 'status', 'at'] },
        { fields: ['tenant', 'tag', 'at'], sparse: true },
        { fields: ['at'], sparse: true },
        { fields: ['labels', 'at'] },
      ],
      shape: {
        keys: ['tenant', 'at', 'status', 'tag', 'text', 'labels'],
        beside: ['tenant', 'at', 'status', 'tag'],
      },
    },
    { name: 'counts', fields: {}, indexes: [] },
  ],
};

const letter = (of: Partial<Letter> = {}): Letter => ({
  tenant: 'a',
  at: 1,
  status: 'new',
  tag: null,
  text: 'é',
  labels: [],
  ...of,
});
const put = (id: string, of: Partial<Letter> = {}): Write => ({ collection: 'letters', id, document: letter(of) });
const byTime: Query = {
  collection: 'letters',
  equals: { tenant: 'a' },
  order: { fields: ['at'], direction: 'descending' },
  limit: 10,
};

export function readModelStoreContract(name: string, makeHarness: () => Promise<ReadModelStoreHarness>): void {
  describe(`${name}: a read-model store`, () => {
    let harness: ReadModelStoreHarness;
    beforeEach(async () => {
      harness = await makeHarness();
      await harness.store.prepare(letters);
    });
    afterEach(() => harness.close());

    const fold = async (writes: readonly Write[], offset = 1, partition = 0) => {
      const owner = await harness.store.own('letters', partition, { generation: 1 });
      return harness.store.transact(owner, new Map([['work', offset]]), writes);
    };
    const ids = (found: { documents: readonly { id: string }[] }) => found.documents.map(({ id }) => id);
    const allPages = async (query: Query) => {
      const found: string[] = [];
      let after: readonly FieldValue[] | null = null;
      let pages = 0;
      do {
        const page: Awaited<ReturnType<typeof harness.reader.find>> = await harness.reader.find(
          after === null ? query : { ...query, after },
        );
        found.push(...ids(page));
        after = page.next;
        pages += 1;
      } while (after !== null && pages < 1000);
      return { found, pages };
    };

    describe('a read model', () => {
      it('has caught up once that was noted, after a restart as well, and not before', async () => {
        expect(await harness.reader.hasCaughtUp('letters')).toBe(false);
        await fold([put('1')]);
        await harness.reopen();
        await harness.store.prepare(letters);
        expect(await harness.reader.hasCaughtUp('letters')).toBe(false);
        await harness.store.noteCaughtUp('letters');
        await harness.store.noteCaughtUp('letters');
        expect(await harness.reader.hasCaughtUp('letters')).toBe(true);
        await harness.reopen();
        await harness.store.prepare(letters);
        expect(await harness.reader.hasCaughtUp('letters')).toBe(true);
        expect(await harness.reader.hasCaughtUp('unknown')).toBe(false);
      });

      it('that was swapped in by a rebuild has caught up', async () => {
        const target = await harness.store.beginRebuild(letters);
        await target.close();
        await harness.store.swap(letters);
        expect(await harness.reader.hasCaughtUp('letters')).toBe(true);
      });
    });

    describe('a read model that gets its indexes once it is filled', () => {
      const slips: ReadModelDefinition = {
        name: 'slips',
        collections: letters.collections.slice(0, 1).map((collection) => ({ ...collection, name: 'slips' })),
      };
      const slip = (i: number): Write => ({
        ...put(`slip-${i}`, { at: i, tag: i % 3 === 0 ? 'third' : null, labels: [`label-${i % 7}`] }),
        collection: 'slips',
      });
      const foldSlips = async (from: number, to: number, partition = 0) => {
        const owner = await harness.store.own('slips', partition, { generation: 1 });
        const writes = Array.from({ length: to - from }, (_, i) => slip(from + i));
        await harness.store.transact(owner, new Map([['work', to]]), writes);
      };
      const found = async () => {
        const { documents } = await harness.reader.find({ ...byTime, collection: 'slips', limit: 500 });
        return documents.length;
      };
      const everyWay = async () => {
        const slipsBy = { ...byTime, collection: 'slips', limit: 500 };
        const status = await harness.reader.find({ ...slipsBy, equals: { tenant: 'a', status: 'new' } });
        const tag = await harness.reader.find({ ...slipsBy, equals: { tenant: 'a', tag: 'third' } });
        const label = await harness.reader.find({ ...slipsBy, equals: { labels: 'label-1' } });
        return [await found(), ids(status).length, ids(tag).length, ids(label).length];
      };

      it('gives documents by their ids meanwhile, and is asked for nothing else; then it has all of them', async () => {
        await harness.store.prepare(slips, 'once filled');
        expect(await harness.reader.isIndexed('slips')).toBe(false);
        await foldSlips(0, 210);
        expect(await harness.reader.get('slips', ['slip-1', 'slip-2'])).toHaveProperty('size', 2);
        await expect(found()).rejects.toThrow();
        await harness.store.noteCaughtUp('slips');
        expect(await harness.reader.isIndexed('slips')).toBe(true);
        expect(await harness.reader.hasCaughtUp('slips')).toBe(true);
        expect(await everyWay()).toEqual([210, 210, 70, 30]);
        await foldSlips(210, 231);
        expect(await everyWay()).toEqual([231, 231, 77, 33]);
      });

      it('gets them after a restart too, whoever prepares it there', async () => {
        await harness.store.prepare(slips, 'once filled');
        await foldSlips(0, 21);
        await harness.reopen();
        await harness.store.prepare(slips);
        expect(await harness.reader.isIndexed('slips')).toBe(false);
        await harness.store.noteCaughtUp('slips');
        await harness.reopen();
        await harness.store.prepare(slips, 'once filled');
        expect(await harness.reader.isIndexed('slips')).toBe(true);
        expect(await everyWay()).toEqual([21, 21, 7, 3]);
      });

      it('begins no further one once that is ended, and says nothing: whoever goes on makes what is left', async () => {
        await harness.store.prepare(slips, 'once filled');
        await foldSlips(0, 21);
        await harness.store.noteCaughtUp('slips', AbortSignal.abort());
        expect([await harness.reader.isIndexed('slips'), await harness.reader.hasCaughtUp('slips')]).toEqual([
          false,
          false,
        ]);
        await harness.store.noteCaughtUp('slips');
        expect(await everyWay()).toEqual([21, 21, 7, 3]);
      });

      it('has in them what is folded while they are made', async () => {
        await harness.store.prepare(slips, 'once filled');
        await foldSlips(0, 210);
        const folding = Promise.all([1, 2, 3].map((n) => foldSlips(210 * n, 210 * (n + 1), n)));
        await Promise.all([harness.store.noteCaughtUp('slips'), harness.store.noteCaughtUp('slips'), folding]);
        await until(async () => (await everyWay()).join() === '500,500,280,120', { what: 'all of them' });
      });

      it('is one that is made now: what is there has them, and goes on having them', async () => {
        expect(await harness.reader.isIndexed('letters')).toBe(true);
        await harness.store.prepare(letters, 'once filled');
        expect(await harness.reader.isIndexed('letters')).toBe(true);
        await fold([put('1')]);
        expect(ids(await harness.reader.find(byTime))).toEqual(['1']);
      });

      it('has them at once where another of its name was removed before they were made', async () => {
        await harness.store.prepare(slips, 'once filled');
        await foldSlips(0, 21);
        await until(async () => (await harness.store.removeSome('slips')) === 'done');
        await harness.store.prepare(slips);
        expect(await harness.reader.isIndexed('slips')).toBe(true);
        await foldSlips(0, 7);
        expect(await everyWay()).toEqual([7, 7, 3, 1]);
      });

      it('is a rebuild as well: it has them before it is swapped in, which says nothing of the version in use', async () => {
        const next = await harness.store.beginRebuild(letters, 'once filled');
        const owner = await next.own('letters', 0, { generation: 1 });
        await next.transact(owner, new Map([['work', 1]]), [put('1', { labels: ['label-1'] })]);
        await next.noteCaughtUp('letters');
        expect(await harness.reader.hasCaughtUp('letters')).toBe(false);
        await next.close();
        await harness.store.swap(letters);
        await until(async () => ids(await harness.reader.find(byTime)).join() === '1');
        expect(ids(await harness.reader.find({ ...byTime, equals: { labels: 'label-1' } }))).toEqual(['1']);
      });

      it('has them when somebody else goes on with a rebuild whose end was to bring them', async () => {
        await (await harness.store.beginRebuild(letters, 'once filled')).close();
        await harness.reopen();
        const next = await harness.store.resumeRebuild(letters);
        const owner = await next.own('letters', 0, { generation: 1 });
        await next.transact(owner, new Map([['work', 1]]), [put('1', { labels: ['label-1'] })]);
        await next.close();
        await harness.store.swap(letters);
        await until(async () => ids(await harness.reader.find(byTime)).join() === '1');
        expect(ids(await harness.reader.find({ ...byTime, equals: { labels: 'label-1' } }))).toEqual(['1']);
      });
    });

    describe('a read model that nobody uses any more', () => {
      const many = Array.from({ length: 700 }, (_, i) => put(`letter-${i}`, { labels: [`label-${i % 7}`] }));
      const empty = async () => {
        expect(await harness.reader.hasCaughtUp('letters')).toBe(false);
        expect(await harness.reader.positions('letters', 0)).toEqual(new Map());
        expect((await harness.reader.find(byTime)).documents).toEqual([]);
        await fold([put('1', { labels: ['label-1'] })]);
        const byLabel = { ...byTime, equals: { labels: 'label-1' } };
        expect(ids(await harness.reader.find(byLabel))).toEqual(['1']);
      };

      it('is removed, with what it was found by, and one under its name begins empty', async () => {
        await fold(many);
        await harness.store.noteCaughtUp('letters');
        await until(async () => (await harness.store.removeSome('letters')) === 'done');
        expect(await harness.store.removeSome('letters')).toBe('done');
        await expect(harness.store.own('letters', 0, { generation: 2 })).rejects.toThrow();
        await harness.store.prepare(letters);
        await empty();
      });

      it('refuses its owners and is found by nobody from the first step on; one that is prepared then begins empty as well', async () => {
        await fold(many);
        await harness.store.noteCaughtUp('letters');
        const owner = await harness.store.own('letters', 0, { generation: 2 });
        await harness.store.removeSome('letters');
        expect(await harness.reader.hasCaughtUp('letters')).toBe(false);
        await expect(harness.store.transact(owner, new Map([['work', 9]]), [put('late')])).rejects.toThrow();
        await harness.reopen();
        await harness.store.prepare(letters);
        await empty();
      });

      it('is none where there never was one', async () => {
        expect(await harness.store.removeSome('unknown')).toBe('done');
      });
    });

    describe('the secret of a read model', () => {
      it('is that of the read model whose secret it is to have, and its own where that is not there', async () => {
        const notes = { name: 'notes', collections: [{ name: 'notes', fields: {}, indexes: [] }] };
        await harness.store.prepare({ ...notes, secretOf: 'letters' });
        expect(await harness.reader.secret('notes')).toBe(await harness.reader.secret('letters'));
        await harness.store.prepare({ ...notes, name: 'other', secretOf: 'unknown' });
        expect(await harness.reader.secret('other')).toMatch(/^[0-9a-f]{32}$/);
        expect(await harness.reader.secret('other')).not.toBe(await harness.reader.secret('letters'));
      });

      it('is one for all who ask, after a restart and for a rebuild too, and another for each', async () => {
        const secret = await harness.store.secret('letters');
        expect(secret).toMatch(/^[0-9a-f]{32}$/);
        await harness.store.prepare(letters);
        const notes = { name: 'notes', collections: [{ name: 'notes', fields: {}, indexes: [] }] };
        const rebuilt = await harness.store.beginRebuild(letters);
        expect(await rebuilt.secret('letters')).toBe(secret);
        await rebuilt.close();
        await harness.store.swap(letters);
        await harness.reopen();
        expect(await harness.reader.secret('letters')).toBe(secret);
        await expect(harness.reader.secret('notes')).rejects.toThrow("isn't prepared");
        await harness.store.beginRebuild(notes);
        expect(await harness.store.secret('notes')).not.toBe(secret);
      });
    });

    describe('a batch', () => {
      it('is seen whole by every reader once it resolves', async () => {
        await fold([put('1', { text: 'one' }), { collection: 'counts', id: 'n', document: { n: 1 } }]);
        const found = await harness.reader.get('letters', ['1', 'absent']);
        expect([...found]).toEqual([['1', letter({ text: 'one' })]]);
        expect((await harness.reader.get('counts', ['n'])).get('n')).toEqual({ n: 1 });
        expect(await harness.reader.positions('letters', 0)).toEqual(new Map([['work', 1]]));
      });

      it('replaces a document whole, in every index, and removes what is null', async () => {
        await fold([put('1', { status: 'new', tag: 't' }), put('2')]);
        await fold([put('1', { status: 'read', at: 9 }), { collection: 'letters', id: '2', document: null }], 2);
        expect(ids(await harness.reader.find(byTime))).toEqual(['1']);
        const find = (equals: Query['equals']) => harness.reader.find({ ...byTime, equals });
        expect(ids(await find({ tenant: 'a', status: 'new' }))).toEqual([]);
        expect(ids(await find({ tenant: 'a', status: 'read' }))).toEqual(['1']);
        expect(ids(await find({ tenant: 'a', tag: 't' }))).toEqual([]);
        expect((await harness.reader.get('letters', ['2'])).size).toBe(0);
      });

      it('finds a document by each text of a list, as it was written last', async () => {
        const byLabel = async (label: string) =>
          ids(await harness.reader.find({ ...byTime, equals: { labels: label } }));
        await fold([put('1', { labels: ['red', 'blue', 'red'], at: 1 }), put('2', { labels: ['blue'], at: 2 })]);
        expect(await byLabel('blue')).toEqual(['2', '1']);
        await fold([put('1', { labels: ['ü', 'blue'], at: 3 }), put('3', { labels: ['red'], at: null })], 2);
        expect(await byLabel('blue')).toEqual(['1', '2']);
        expect(await byLabel('red')).toEqual([]);
        expect(await byLabel('ü')).toEqual(['1']);
        const bad: Write = { collection: 'letters', id: '1', document: { ...letter(), labels: ['red', 7] } };
        const owner = await harness.store.own('letters', 0, { generation: 1 });
        await expect(harness.store.transact(owner, new Map([['work', 3]]), [bad])).rejects.toThrow(TypeError);
        await fold([{ collection: 'letters', id: '1', document: null }], 3);
        expect(await byLabel('ü')).toEqual([]);
        expect(await byLabel('blue')).toEqual(['2']);
      });

      it('takes names, ids and texts that mean something to an engine for what they are', async () => {
        const names = '{"$gt":"","$where":"1","a.b":{"$set":{"x":1}},"":"e","__proto__":{"x":1},"constructor":{"y":1}}';
        const texts = ['$gt', '{"$gt":""}', "' OR 1=1 --", '.*', '%', '__proto__', '\u0001', '\uffff', 'a\u202eb'];
        const writes = texts.map((tag, at) => ({
          collection: 'letters',
          id: tag,
          document: { ...letter({ tag, at }), inner: JSON.parse(names) as object },
        }));
        await fold([...writes, put('plain', { tag: 'plain' })]);
        for (const tag of texts) {
          expect(ids(await harness.reader.find({ ...byTime, equals: { tenant: 'a', tag } }))).toEqual([tag]);
          const kept = (await harness.reader.get<{ inner: object }>('letters', [tag])).get(tag);
          expect(JSON.stringify(kept?.inner)).toBe(names);
        }
      });

      it('counts the last of two writes of one document', async () => {
        await fold([put('1', { text: 'first' }), put('1', { text: 'last' })]);
        expect((await harness.reader.get<Letter>('letters', ['1'])).get('1')?.text).toBe('last');
      });

      it('that fails leaves nothing behind, the position neither', async () => {
        const owner = await harness.store.own('letters', 0, { generation: 1 });
        const bad: Write = { collection: 'letters', id: '2', document: { ...letter(), at: 'noon' } };
        await expect(harness.store.transact(owner, new Map([['work', 1]]), [put('1'), bad])).rejects.toThrow(TypeError);
        expect((await harness.reader.get('letters', ['1'])).size).toBe(0);
        expect((await harness.reader.positions('letters', 0)).size).toBe(0);
        await harness.store.transact(owner, new Map([['work', 1]]), [put('1')]);
        expect((await harness.reader.get('letters', ['1'])).size).toBe(1);
      });

      it('refuses a document that is too large by its name, leaves nothing behind, and takes the largest', async () => {
        const owner = await harness.store.own('letters', 0, { generation: 1 });
        const largest = documentBytesMax - Buffer.byteLength(JSON.stringify(letter({ text: '' })));
        const wide = 'ü'.repeat(Math.floor(largest / 2));
        const refused = harness.store.transact(owner, new Map([['work', 1]]), [
          put('1'),
          put('2', { text: `${wide}ü` }),
        ]);
        await expect(refused).rejects.toMatchObject({
          name: 'DocumentTooLargeError',
          collection: 'letters',
          id: '2',
          bytes: documentBytesMax + 2 - (largest % 2),
        });
        expect((await harness.reader.get('letters', ['1', '2'])).size).toBe(0);
        expect((await harness.reader.positions('letters', 0)).size).toBe(0);
        await harness.store.transact(owner, new Map([['work', 1]]), [put('1'), put('2', { text: wide })]);
        expect((await harness.reader.get<Letter>('letters', ['2'])).get('2')?.text).toBe(wide);
      });

      it('outlives a restart with its position, and so do the epochs', async () => {
        const { epoch } = await fold([put('1')], 7);
        await harness.reopen();
        expect(ids(await harness.reader.find(byTime))).toEqual(['1']);
        const next = await harness.store.own('letters', 0, { generation: 1 });
        expect(next.offsets).toEqual(new Map([['work', 7]]));
        expect(next.epoch).toBeGreaterThan(epoch);
      });

      it('tells readers that the read model has moved', async () => {
        let calls = 0;
        const end = harness.reader.onChange('letters', () => (calls += 1));
        await until(async () => {
          const before = calls;
          await fold([put('1')]);
          return until(() => calls > before, { what: 'a call' });
        });
        end();
      });
    });

    describe('ownership', () => {
      it('keeps the positions of numbers apart, and of topics that did not move', async () => {
        const owner = await harness.store.own('letters', 3, { generation: 1 });
        const second = await harness.store.transact(owner, new Map([['work', 5]]), []);
        const third = await harness.store.transact(second, new Map([['deliveries', 2]]), []);
        const expected = new Map([
          ['deliveries', 2],
          ['work', 5],
        ]);
        expect(third.offsets).toEqual(expected);
        expect(await harness.reader.positions('letters', 3)).toEqual(expected);
        expect((await harness.reader.positions('letters', 4)).size).toBe(0);
      });

      it('once taken over refuses all of the former owner, and nothing of it is written', async () => {
        const former = await harness.store.own('letters', 0, { generation: 1 });
        const owner = await harness.store.own('letters', 0, { generation: 1 });
        expect(owner.epoch).toBeGreaterThan(former.epoch);
        const late = harness.store.transact(former, new Map([['work', 9]]), [put('late')]);
        await expect(late).rejects.toThrow(StaleOwnerError);
        expect((await harness.reader.get('letters', ['late'])).size).toBe(0);
        await harness.store.transact(owner, new Map([['work', 1]]), [put('1')]);
      });

      it('is refused to a take-over that comes late, by right of an older generation, which changes nothing', async () => {
        const owner = await harness.store.own('letters', 0, { generation: 5 });
        const late = harness.store.own('letters', 0, { generation: 4 });
        await expect(late).rejects.toMatchObject({ name: 'NewerOwnerError', generation: 5 });
        await expect(late).rejects.toThrow(StaleOwnerError);
        const next = await harness.store.transact(owner, new Map([['work', 1]]), [put('1')]);
        await harness.store.own('letters', 1, { generation: 1 });
        const again = await harness.store.own('letters', 0, { generation: 5 });
        await expect(harness.store.transact(next, new Map([['work', 2]]), [])).rejects.toThrow(StaleOwnerError);
        await harness.store.transact(again, new Map([['work', 2]]), [put('2')]);
      });

      it('goes to a group that was made anew by naming the generation that is over, and to none who names it late', async () => {
        const former = await harness.store.own('letters', 0, { generation: 7 });
        const owner = await harness.store.own('letters', 0, { generation: 2, after: 7 });
        await expect(harness.store.transact(former, new Map([['work', 1]]), [])).rejects.toThrow(StaleOwnerError);
        const late = harness.store.own('letters', 0, { generation: 1, after: 7 });
        await expect(late).rejects.toMatchObject({ name: 'NewerOwnerError', generation: 2 });
        await harness.store.transact(owner, new Map([['work', 1]]), [put('1')]);
        await harness.store.own('letters', 0, { generation: 3 });
      });

      it('keeps what is folded before its turn with what was written for it, until that is passed', async () => {
        const ahead = { offsets: new Map([['work', 900]]), behind: new Set(['tnt_busy' as TenantId]) };
        const owner = await harness.store.own('letters', 3, { generation: 1 });
        expect(owner.ahead).toBeNull();
        expect(await harness.reader.ahead('letters', 3)).toBeNull();
        const first = await harness.store.transact(owner, new Map([['work', 5]]), []);
        const second = await harness.store.transact(first, new Map(), [put('of another')], ahead);
        expect(await harness.reader.ahead('letters', 3)).toEqual(ahead);
        expect(await harness.reader.ahead('letters', 4)).toBeNull();
        expect(await harness.reader.positions('letters', 3)).toEqual(new Map([['work', 5]]));
        const third = await harness.store.transact(second, new Map([['work', 6]]), [put('1')]);
        expect(third).toMatchObject({ offsets: new Map([['work', 6]]), ahead });
        await harness.reopen();
        await harness.store.prepare(letters);
        const later = await harness.store.own('letters', 3, { generation: 2 });
        expect(later).toMatchObject({ offsets: new Map([['work', 6]]), ahead });
        const late = harness.store.transact(third, new Map(), [put('late')], null);
        await expect(late).rejects.toThrow();
        const passed = await harness.store.transact(later, new Map([['work', 900]]), [], null);
        expect(passed.ahead).toBeNull();
        expect(await harness.reader.ahead('letters', 3)).toBeNull();
        expect((await harness.store.own('letters', 3, { generation: 2 })).ahead).toBeNull();
      });

      it('refuses a batch that does not follow the last one: nothing is counted twice', async () => {
        const owner = await harness.store.own('letters', 0, { generation: 1 });
        await harness.store.transact(owner, new Map([['work', 1]]), [put('1')]);
        const again = harness.store.transact(owner, new Map([['work', 1]]), [put('2')]);
        await expect(again).rejects.toThrow(StaleOwnerError);
        expect((await harness.reader.get('letters', ['2'])).size).toBe(0);
      });
    });

    describe('get', () => {
      it('gives documents in the order of the ids, as many as its bytes allow and one at least', async () => {
        const text = 'é'.repeat(1000);
        await fold(['1', '2', '3', '4'].map((id) => put(id, { text })));
        const one = Buffer.byteLength(JSON.stringify(letter({ text })));
        const got = async (bytesMax: number) => [
          ...(await harness.reader.get('letters', ['4', 'absent', '1', '3'], { bytesMax })).keys(),
        ];
        expect(await got(3 * one)).toEqual(['4', '1', '3']);
        expect(await got(3 * one - 1)).toEqual(['4', '1']);
        expect(await got(1)).toEqual(['4']);
        const all = (bytesMax: number) =>
          harness.reader.get('letters', ['4', 'absent', '1', '3', 'none'], { bytesMax, orRefuse: true });
        expect([...(await all(3 * one)).keys()]).toEqual(['4', '1', '3']);
        await expect(all(3 * one - 1)).rejects.toThrow(TooManyBytesError);
      });

      it('gives declared fields in place of documents', async () => {
        await fold([put('1', { tag: 't' }), put('2')]);
        const got = await harness.reader.get('letters', ['2', '1', 'absent'], { fields: ['tag', 'at'] });
        expect([...got]).toEqual([
          ['2', { tag: null, at: 1 }],
          ['1', { tag: 't', at: 1 }],
        ]);
      });
    });

    describe('find', () => {
      it('gives the documents of its equality in its order, the id breaking ties', async () => {
        await fold([put('b', { at: 5 }), put('a', { at: 5 }), put('c', { at: 7 }), put('x', { tenant: 'b', at: 6 })]);
        expect(ids(await harness.reader.find(byTime))).toEqual(['c', 'b', 'a']);
        const ascending = { fields: ['at'], direction: 'ascending' } as const;
        expect(ids(await harness.reader.find({ ...byTime, order: ascending }))).toEqual(['a', 'b', 'c']);
      });

      it('passes on pages without a gap or a repeat, and knows the end', async () => {
        await fold(['1', '2', '3', '4'].map((id) => put(id, { at: 1 })));
        expect(await allPages({ ...byTime, limit: 2 })).toEqual({ found: ['4', '3', '2', '1'], pages: 2 });
        expect((await harness.reader.find({ ...byTime, limit: 4 })).next).toBeNull();
        expect((await harness.reader.find({ ...byTime, limit: 3 })).next).toEqual([1, '2']);
      });

      it('ends a page before the document that would take it over its bytes, in UTF-8, and has one at least', async () => {
        const bytesOf = (of: Partial<Letter>) => Buffer.byteLength(JSON.stringify(letter(of)));
        const text = 'é'.repeat(1000);
        await fold([1, 2, 3, 4, 5].map((at) => put(String(at), { at, text: at === 3 ? text.repeat(9) : text })));
        const two = 2 * bytesOf({ text });
        const cut = async (bytesMax: number, more: Partial<Query> = {}) => {
          const page = await harness.reader.find({ ...byTime, bytesMax, ...more });
          return { found: ids(page), next: page.next };
        };
        expect(await cut(two)).toEqual({ found: ['5', '4'], next: [4, '4'] });
        expect(await cut(two - 1)).toEqual({ found: ['5'], next: [5, '5'] });
        expect(await cut(two, { after: [4, '4'] })).toEqual({ found: ['3'], next: [3, '3'] });
        expect(await cut(two, { after: [3, '3'] })).toEqual({ found: ['2', '1'], next: null });
        expect(await cut(two, { limit: 1 })).toEqual({ found: ['5'], next: [5, '5'] });
        expect(await cut(two, { filter: { status: 'new' } })).toEqual({ found: ['5', '4'], next: [4, '4'] });
        expect(await cut(1, { after: [1, '1'] })).toEqual({ found: [], next: null });
        expect(await cut(100 * two)).toEqual({ found: ['5', '4', '3', '2', '1'], next: null });
        expect(await cut(100 * two, { limit: 4 })).toEqual({ found: ['5', '4', '3', '2'], next: [2, '2'] });
      });

      it('of a page by bytes looks no further than a page may, and goes on from there', async () => {
        const text = 'x'.repeat(1000);
        const many = Array.from({ length: rowsPerPageMax }, (_, i) => put(String(i).padStart(5, '0'), { at: i }));
        const wanted = [-1, -2, -3].map((at) => put(`wanted${at}`, { at, status: 'read', text }));
        await fold([...many, put('newest', { at: 9999, status: 'read' }), ...wanted]);
        const filtered = { ...byTime, filter: { status: 'read' }, bytesMax: 1500 };
        expect(await allPages(filtered)).toEqual({ found: ['newest', 'wanted-1', 'wanted-2', 'wanted-3'], pages: 4 });
      });

      it('gives declared fields in place of documents, whatever their bytes and by whichever index', async () => {
        await fold([put('1', { at: 1, tag: 't', labels: ['red'] }), put('2', { at: 2, labels: ['red'] })]);
        const query: Query = { ...byTime, fields: ['tag', 'at'], bytesMax: 1 };
        const documents = [
          { id: '2', tag: null, at: 2 },
          { id: '1', tag: 't', at: 1 },
        ];
        const byLabel = { labels: 'red' };
        for (const more of [{}, { filter: { status: 'new' } }, { equals: byLabel }, { equals: byLabel, limit: 2 }])
          expect(await harness.reader.find({ ...query, ...more })).toEqual({ documents, next: null });
        expect(await harness.reader.find({ ...query, limit: 1 })).toEqual({
          documents: [documents[0]],
          next: [2, '2'],
        });
        expect(await harness.reader.find({ ...query, fields: [] })).toEqual({
          documents: [{ id: '2' }, { id: '1' }],
          next: null,
        });
      });

      it('goes on from a key whose document is gone or has moved', async () => {
        await fold([put('1', { at: 1 }), put('2', { at: 2 }), put('3', { at: 3 })]);
        const { next } = await harness.reader.find({ ...byTime, limit: 2 });
        await fold([put('2', { at: 9 })], 2);
        expect(ids(await harness.reader.find({ ...byTime, after: next ?? [] }))).toEqual(['1']);
      });

      it('passes over as many rows as are asked for, to the last and no further, and goes on from there', async () => {
        await fold(Array.from({ length: 5200 }, (_, i) => put(String(i).padStart(4, '0'), { at: 5200 - (i >> 1) })));
        const behind = async (skip: number, more: Partial<Query> = {}) => {
          const page = await harness.reader.find({ ...byTime, skip, limit: 2, ...more });
          return { found: ids(page), next: page.next };
        };
        expect(await behind(0)).toEqual({ found: ['0001', '0000'], next: [5200, '0000'] });
        expect(await behind(5001)).toEqual({ found: ['5000', '5003'], next: [2699, '5003'] });
        expect(await behind(2500, { fields: ['at'] })).toEqual({ found: ['2501', '2500'], next: [3950, '2500'] });
        expect(await behind(5001, { after: [5200, '0001'] })).toEqual({
          found: ['5003', '5002'],
          next: [2699, '5002'],
        });
        expect(await behind(5199)).toEqual({ found: ['5198'], next: null });
        for (const none of [5200, 5201, rowsSkippedMax]) expect(await behind(none)).toEqual({ found: [], next: null });
        for (const refused of [-1, 0.5, rowsSkippedMax + 1]) await expect(behind(refused)).rejects.toThrow(RangeError);
        await expect(behind(1, { filter: { status: 'new' } })).rejects.toThrow(RangeError);
      });

      it('finds nothing by an order whose field is null, nor by a sparse index', async () => {
        await fold([put('1', { at: null, tag: 't' }), put('2', { at: 2, tag: 't' }), put('3', { at: 3 })]);
        expect((await allPages({ ...byTime, limit: 1 })).found).toEqual(['3', '2']);
        expect((await allPages({ ...byTime, equals: {}, limit: 1 })).found).toEqual(['3', '2']);
        expect((await allPages({ ...byTime, equals: { tenant: 'a', tag: 't' } })).found).toEqual(['2']);
        expect((await allPages({ ...byTime, equals: { tenant: 'a', tag: null } })).found).toEqual([]);
      });

      it('comes back short after so many rows looked at, with the key to go on from', async () => {
        const many = Array.from({ length: rowsPerPageMax + 500 }, (_, i) => put(String(i).padStart(5, '0'), { at: i }));
        await fold([...many, put('wanted', { at: -1, status: 'read' })]);
        const filtered = { ...byTime, filter: { status: 'read' } };
        const first = await harness.reader.find(filtered);
        expect(first.documents).toEqual([]);
        expect(first.next).toEqual([500, '00500']);
        expect(await allPages(filtered)).toEqual({ found: ['wanted'], pages: 2 });
        expect(await allPages({ ...filtered, filter: { status: 'new', tag: null }, limit: 1500 })).toMatchObject({
          pages: 2,
        });
      });

      it('and count refuse what no declared index serves', async () => {
        const refused: Query[] = [
          { ...byTime, equals: { status: 'new' } },
          { ...byTime, equals: {}, order: { fields: ['status'], direction: 'ascending' } },
          { ...byTime, order: { fields: [], direction: 'ascending' } },
          { ...byTime, order: { fields: ['at', 'status'], direction: 'ascending' } },
          { ...byTime, range: { field: 'status', from: 'a' } },
          { ...byTime, filter: { text: 'é' } },
          { ...byTime, filter: { labels: 'red' } },
          { ...byTime, fields: ['text'] },
          { ...byTime, fields: ['labels'] },
          { ...byTime, equals: { tenant: 'a', labels: 'red' } },
          { ...byTime, equals: {}, order: { fields: ['labels', 'at'], direction: 'descending' } },
        ];
        for (const query of refused) await expect(harness.reader.find(query)).rejects.toThrow(NoFittingIndexError);
        const count = harness.reader.count({ collection: 'letters', equals: { status: 'new' } }, 10);
        await expect(count).rejects.toThrow(NoFittingIndexError);
        const get = harness.reader.get('letters', ['1'], { fields: ['text'] });
        await expect(get).rejects.toThrow(NoFittingIndexError);
        await expect(harness.reader.find({ ...byTime, collection: 'none' })).rejects.toThrow();
      });

      it('and count agree with a search of all documents, whatever is asked', async () => {
        const documents = fc.uniqueArray(anyLetter, { selector: ([id]) => id, maxLength: 30 });
        let offset = 0;
        await fc.assert(
          fc.asyncProperty(documents, anyQuery, async (stored, query) => {
            const kept = Array.from({ length: 40 }, (_, i) => ({ collection: 'letters', id: `${i}`, document: null }));
            const writes = stored.map(([id, document]): Write => ({ collection: 'letters', id, document }));
            await fold([...kept, ...writes], ++offset);
            const expected = searchAll(stored, query);
            const { found } = await allPages(query);
            const numbers = new Map(stored.map(([id, { at }]) => [id, at]));
            const isByList = query.equals['labels'] !== undefined;
            // Those of the same number may come in any order where a list is asked for.
            expect(found.map((id) => numbers.get(id))).toEqual(expected.map((id) => numbers.get(id)));
            expect(isByList ? found.toSorted() : found).toEqual(isByList ? expected.toSorted() : expected);
            if (Object.keys(query.filter ?? {}).length === 0) {
              const behind = await harness.reader.find({ ...query, skip: offset % 7, limit: 40, fields: [] });
              expect(ids(behind)).toEqual(found.slice(offset % 7));
            }
            const {
              order: _order,
              limit: _limit,
              bytesMax: _bytesMax,
              fields: _fields,
              after: _after,
              ...counted
            } = query;
            const hasNoNulls = stored.every(([, { at }]) => at !== null);
            const count = await harness.reader.count(counted, 100);
            if (hasNoNulls) expect(count).toEqual({ count: expected.length, exact: true });
          }),
          { numRuns: 60 },
        );
      });
    });

    describe('findRanges', () => {
      const range = (of: Readonly<Record<string, FieldValue>>, from?: FieldValue, to?: FieldValue) => ({
        equals: of,
        range: { field: 'at', ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) },
      });
      const inRanges = (...ranges: readonly ReturnType<typeof range>[]) =>
        harness.reader.findRanges<Letter>({ collection: 'letters', ranges });

      it('gives the documents of all ranges, each as get does, or declared fields in their place', async () => {
        await fold([1, 2, 3, 4, 5].map((at) => put(String(at), { at, status: at > 3 ? 'read' : 'new', tag: 'ü' })));
        const ranges = [range({ tenant: 'a', status: 'new' }, 1, 3), range({ tenant: 'a', status: 'read' }, 5)];
        const found = (await inRanges(...ranges)) ?? [];
        const expected = await harness.reader.get<Letter>('letters', ['1', '2', '5']);
        expect(new Map(found.map(({ id, ...document }) => [id, document]))).toEqual(expected);
        const fields = await harness.reader.findRanges({ collection: 'letters', ranges, fields: ['tag'] });
        expect(fields?.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(
          ['1', '2', '5'].map((id) => ({ id, tag: 'ü' })),
        );
      });

      it('gives all documents as many as a page may look at, and none of one more', async () => {
        const many = Array.from({ length: rowsPerPageMax }, (_, i) => put(String(i), { at: i }));
        const halves = [range({ tenant: 'a' }, 0, 500), range({ tenant: 'a' }, 500)];
        await fold(many);
        expect(await inRanges(...halves)).toHaveLength(rowsPerPageMax);
        await fold([put('more', { at: 7 })], 2);
        expect(await inRanges(...halves)).toBeNull();
        expect(await inRanges(range({ tenant: 'a' }))).toBeNull();
        expect(await inRanges(range({ tenant: 'a' }, 0, 500))).toHaveLength(501);
      });

      it('refuses what no declared index has', async () => {
        const refused = [
          [range({ status: 'new' }, 1)],
          [range({ tenant: 'a' }, 1), range({ tenant: 'a', labels: 'red' }, 1)],
          [{ equals: { tenant: 'a' }, range: { field: 'status', from: 'a' } }],
        ];
        for (const ranges of refused) await expect(inRanges(...ranges)).rejects.toThrow(NoFittingIndexError);
        await expect(harness.reader.findRanges({ collection: 'none', ranges: [] })).rejects.toThrow();
      });

      it('agrees with a search of all documents, whatever is asked', async () => {
        const documents = fc.uniqueArray(anyLetter, { selector: ([id]) => id, maxLength: 30 });
        const bounds = fc.tuple(anyBound, fc.integer({ min: -3, max: 5 }), anyBound);
        const equals = fc.constantFrom(
          ['new', 'read', ''].map((status) => ({ tenant: 'a', status })),
          [{ tenant: 'a' }, { tenant: 'b' }],
          ['t', 'ü', null].map((tag) => ({ tenant: 'a', tag })),
          [],
        );
        let offset = 0;
        await fc.assert(
          fc.asyncProperty(documents, equals, bounds, async (stored, all, [from, middle, to]) => {
            const kept = Array.from({ length: 40 }, (_, i) => ({ collection: 'letters', id: `${i}`, document: null }));
            const writes = stored.map(([id, document]): Write => ({ collection: 'letters', id, document }));
            await fold([...kept, ...writes], ++offset);
            const ranges = all.flatMap((of) => [range(of, from, middle), range(of, middle + 1, to)]);
            const expected = ranges
              .filter((one) => one.equals['tag'] !== null)
              .flatMap((one) => searchAll(stored, { ...byTime, ...one }));
            expect((await inRanges(...ranges))?.map(({ id }) => id).toSorted()).toEqual(expected.toSorted());
          }),
          { numRuns: 60 },
        );
      });
    });

    describe('count', () => {
      it('stops at its cap and says that there may be more', async () => {
        await fold(
          ['1', '2', '3', '4', '5'].map((id) => put(id, { at: Number(id), status: id === '5' ? 'read' : 'new' })),
        );
        const count = (cap: number, more: Partial<Query> = {}) =>
          harness.reader.count({ collection: 'letters', equals: { tenant: 'a' }, ...more }, cap);
        expect(await count(5)).toEqual({ count: 5, exact: true });
        expect(await count(3)).toEqual({ count: 3, exact: false });
        expect(await count(5, { filter: { status: 'new' } })).toEqual({ count: 4, exact: true });
        expect((await count(4, { filter: { status: ['new', 'read'] } })).exact).toBe(false);
        expect(await count(9, { range: { field: 'at', from: 2, to: 4 } })).toEqual({ count: 2, exact: true });
        expect(await count(9, { filter: { at: { from: 2, to: 4 } } })).toEqual({ count: 2, exact: true });
        expect(await count(9, { filter: { tag: { from: '' } } })).toEqual({ count: 0, exact: true });
      });
    });

    it('prepared with a further field and index finds the documents that are there by it', async () => {
      const noted = { ...letter({ text: 'y' }), notes: ['n', 'm'] };
      await fold([put('1', { text: 'x' }), { collection: 'letters', id: '2', document: noted }]);
      await harness.reader.find(byTime);
      const [first, ...rest] = letters.collections;
      const grown = {
        name: 'letters',
        collections: [
          {
            name: 'letters',
            fields: { ...first?.fields, text: 'text' as const, notes: 'texts' as const },
            indexes: [{ fields: ['tenant', 'text', 'at'] }, { fields: ['notes', 'at'] }],
          },
          ...rest,
        ],
      };
      await harness.store.prepare(grown);
      expect(ids(await harness.reader.find({ ...byTime, equals: { tenant: 'a', text: 'y' } }))).toEqual(['2']);
      expect(ids(await harness.reader.find({ ...byTime, equals: { notes: 'm' } }))).toEqual(['2']);
      await fold([put('3', { text: 'y', at: 3 })], 2);
      expect(ids(await harness.reader.find({ ...byTime, equals: { tenant: 'a', text: 'y' } }))).toEqual(['3', '2']);
      await expect(harness.store.find(byTime)).rejects.toThrow(NoFittingIndexError);
      await harness.store.prepare(letters);
      expect(ids(await harness.reader.find(byTime))).toEqual(['3', '2', '1']);
    });

    describe('a scan', () => {
      const scanned = async (limit: number, bytesMax: number) => {
        const pages: string[][] = [];
        let after: string | null = null;
        for (;;) {
          const page: Awaited<ReturnType<DocumentScan['scan']>> = await harness.reader.scan('letters', {
            after,
            limit,
            bytesMax,
          });
          const last = page.at(-1);
          if (last === undefined) return pages;
          pages.push(page.map(({ id }) => id));
          after = last.id;
        }
      };

      it('gives every document as it was written, by the bytes of the ids', async () => {
        const sorted = ['A', 'a', 'a:', 'aa', 'é', '\uffee', '\u{1f600}'];
        await fold(sorted.toReversed().map((id) => put(id, { text: id })));
        expect((await scanned(3, 1_000_000)).flat()).toEqual(sorted);
        expect((await scanned(3, 1_000_000)).map((page) => page.length)).toEqual([3, 3, 1]);
        const [first] = await harness.store.scan('letters', { after: null, limit: 1, bytesMax: 1 });
        expect(first).toEqual({ id: 'A', text: JSON.stringify(letter({ text: 'A' })) });
        expect(await harness.reader.size('letters')).toBe(sorted.length);
      });

      it('ends a page by its bytes, and has one document on it at least', async () => {
        const bytes = Buffer.byteLength(JSON.stringify(letter({ text: 'é'.repeat(100) })));
        await fold(['1', '2', '3', '4', '5'].map((id) => put(id, { text: 'é'.repeat(100) })));
        expect(await scanned(10, 2 * bytes)).toEqual([['1', '2'], ['3', '4'], ['5']]);
        expect(await scanned(10, 1)).toEqual([['1'], ['2'], ['3'], ['4'], ['5']]);
      });

      it('refuses a collection that nobody has prepared', async () => {
        const asked = harness.reader.scan('unheard_of', { after: null, limit: 1, bytesMax: 1 });
        await expect(asked).rejects.toThrow('unheard_of');
      });
    });

    describe('a rebuild', () => {
      const rebuilt = async (writes: readonly Write[], offset: number) => {
        const next = await harness.store.beginRebuild(letters);
        const owner = await next.own('letters', 0, { generation: 1 });
        await next.transact(owner, new Map([['work', offset]]), writes);
        await next.close();
      };

      const versionOfNext = async () => (await harness.store.nextVersion(letters)) ?? NaN;

      it('is seen by nobody until it is swapped in, and then in place of the old', async () => {
        await fold([put('1', { text: 'old' }), put('gone')], 2);
        const next = await harness.store.beginRebuild(letters);
        const owner = await next.own('letters', 0, { generation: 1 });
        expect(owner.offsets.size).toBe(0);
        await next.transact(owner, new Map([['work', 2]]), [put('1', { text: 'new' })]);
        expect((await next.get<Letter>('letters', ['1'])).get('1')?.text).toBe('new');
        expect((await harness.store.get<Letter>('letters', ['1'])).get('1')?.text).toBe('old');
        await harness.store.swap(letters);
        await harness.reopen();
        const found = await harness.reader.get<Letter>('letters', ['1', 'gone']);
        expect([...found]).toEqual([['1', letter({ text: 'new' })]]);
        expect(await harness.reader.positions('letters', 0)).toEqual(new Map([['work', 2]]));
      });

      it('is known by its version, goes on as it was left, and is none once it was swapped in', async () => {
        expect(await harness.store.nextVersion(letters)).toBe(null);
        await expect(harness.store.resumeRebuild(letters)).rejects.toThrow('no rebuild');
        await rebuilt([put('1')], 2);
        await harness.reopen();
        const version = await harness.store.nextVersion(letters);
        expect(version).toBeGreaterThan(1);
        const next = await harness.store.resumeRebuild(letters);
        expect(await next.positions('letters', 0)).toEqual(new Map([['work', 2]]));
        const owner = await next.own('letters', 0, { generation: 1 });
        await next.transact(owner, new Map([['work', 3]]), [put('2')]);
        await harness.store.swap(letters);
        expect(await harness.store.nextVersion(letters)).toBe(null);
        await next.close();
        expect((await harness.store.get('letters', ['1', '2'])).size).toBe(2);
      });

      it('swapped in beside a reader is seen by it soon, without a restart, and the version of before is removed', async () => {
        await fold([put('1', { text: 'old', labels: ['x'] })], 2);
        expect((await harness.reader.find<Letter>(byTime)).documents[0]?.text).toBe('old');
        await rebuilt([put('1', { text: 'new', labels: ['x'] })], 2);
        await harness.store.swap(letters);
        await until(async () => (await harness.reader.find<Letter>(byTime)).documents[0]?.text === 'new');
        await until(async () => (await harness.store.removeRetired(letters)) === 'done');
        await fold([put('2', { labels: ['x'], at: 2 })], 3);
        const byLabel = { ...byTime, equals: { labels: 'x' } };
        await until(async () => ids(await harness.reader.find(byLabel)).join() === '2,1');
      });

      it('held for, the version in use is moved by nobody and still answers, until the swap', async () => {
        const owner = await harness.store.own('letters', 0, { generation: 1 });
        const moved = await harness.store.transact(owner, new Map([['work', 2]]), [put('1')]);
        await rebuilt([put('1'), put('2')], 3);
        const held = await harness.store.hold(letters, await versionOfNext());
        if (held === null) throw new Error('it was not held');
        await expect(harness.store.transact(moved, new Map([['work', 3]]), [])).rejects.toThrow(StaleOwnerError);
        await expect(harness.store.own('letters', 0, { generation: 2 })).rejects.toThrow(HeldError);
        expect((await harness.reader.get('letters', ['1', '2'])).size).toBe(1);
        expect(await held.swap()).toBe('swapped');
        await held.release();
        expect(await held.swap()).toBe('over');
        const next = await harness.store.own('letters', 0, { generation: 2 });
        expect(next.offsets).toEqual(new Map([['work', 3]]));
        await harness.store.transact(next, new Map([['work', 4]]), [put('3')]);
      });

      it('held, the next version is moved by its holder alone, until it is released; then both go on', async () => {
        const owner = await harness.store.own('letters', 0, { generation: 1 });
        const next = await harness.store.beginRebuild(letters);
        const filler = await next.own('letters', 0, { generation: 1 });
        const held = await harness.store.hold(letters, await versionOfNext());
        await expect(next.transact(filler, new Map([['work', 1]]), [])).rejects.toThrow(StaleOwnerError);
        await expect(next.own('letters', 0, { generation: 2 })).rejects.toThrow(HeldError);
        await expect(next.own('letters', 1, { generation: 1 })).rejects.toThrow(HeldError);
        const own = await held?.next.own('letters', 0, { generation: 0, after: 1 });
        if (own === undefined) throw new Error('it was not held');
        await held?.next.transact(own, new Map([['work', 1]]), [put('1')]);
        await held?.release();
        await expect(harness.store.transact(owner, new Map([['work', 1]]), [])).rejects.toThrow(StaleOwnerError);
        await harness.store.own('letters', 0, { generation: 1 });
        expect((await next.own('letters', 0, { generation: 2 })).offsets).toEqual(new Map([['work', 1]]));
        await held?.next.close();
        await next.close();
      });

      it('held by one who is gone, both go on once they are let go, and whoever held them moves and swaps nothing', async () => {
        await fold([put('1')], 2);
        const next = await harness.store.beginRebuild(letters);
        const version = await versionOfNext();
        const held = await harness.store.hold(letters, version);
        if (held === null) throw new Error('it was not held');
        const own = await held.next.own('letters', 0, { generation: 0 });
        await harness.store.letGo(letters, version + 1);
        await expect(harness.store.own('letters', 0, { generation: 2 })).rejects.toThrow(HeldError);
        await harness.store.letGo(letters, version);
        await harness.store.letGo(letters, version);
        const owner = await harness.store.own('letters', 0, { generation: 2 });
        await harness.store.transact(owner, new Map([['work', 3]]), [put('2')]);
        await next.own('letters', 0, { generation: 2 });
        await expect(held.next.transact(own, new Map([['work', 3]]), [])).rejects.toThrow(StaleOwnerError);
        expect(await held.swap()).toBe('over');
        await held.next.close();
        await next.close();
      });

      it('is held as the version that was asked for alone, and not by who came later than the swap', async () => {
        await fold([put('1')], 2);
        await rebuilt([put('1')], 2);
        const version = await versionOfNext();
        expect(await harness.store.hold(letters, version + 1)).toBeNull();
        await (await harness.store.hold(letters, version))?.swap();
        expect(await harness.store.hold(letters, version)).toBeNull();
        const owner = await harness.store.own('letters', 0, { generation: 2 });
        await harness.store.transact(owner, new Map([['work', 3]]), [put('2')]);
      });

      it('abandoned while it is held leaves the version in use as it was', async () => {
        await fold([put('1')], 2);
        await rebuilt([], 1);
        await harness.store.hold(letters, await versionOfNext());
        await harness.store.abandon(letters);
        expect((await harness.store.own('letters', 0, { generation: 2 })).offsets).toEqual(new Map([['work', 2]]));
      });

      it('equals what has grown when every document is the same at the same position', async () => {
        await fold([put('1'), { collection: 'counts', id: 'n', document: { n: 1, m: 2 } }], 2);
        await harness.store.own('letters', 5, { generation: 1 });
        await rebuilt([put('1'), { collection: 'counts', id: 'n', document: { n: 1, m: 2 } }], 2);
        expect(await harness.store.compare(letters)).toEqual({ equal: true, documents: 2, differing: [] });
      });

      it('differs by a document changed, missing or too many, and names it', async () => {
        await fold([put('1'), put('2'), { collection: 'counts', id: 'n', document: { n: 1, m: 2 } }], 2);
        await rebuilt(
          [put('1', { text: 'e' }), put('3'), { collection: 'counts', id: 'n', document: { m: 2, n: 1 } }],
          2,
        );
        const { equal, differing } = await harness.store.compare(letters);
        expect(equal).toBe(false);
        expect([...differing].sort()).toEqual(['counts/n', 'letters/1', 'letters/2', 'letters/3']);
      });

      it('is not compared at another position', async () => {
        await fold([put('1')], 3);
        await rebuilt([put('1')], 2);
        expect((await harness.store.compare(letters)).equal).toBeNull();
      });

      it('once swapped in refuses the owners of either version', async () => {
        const grown = await fold([put('1')], 2);
        const next = await harness.store.beginRebuild(letters);
        const folded = await next.transact(await next.own('letters', 0, { generation: 1 }), new Map([['work', 2]]), [
          put('1'),
        ]);
        await harness.store.swap(letters);
        for (const owner of [grown, folded]) {
          await expect(harness.store.transact(owner, new Map(), [put('late')])).rejects.toThrow(StaleOwnerError);
        }
        const owner = await harness.store.own('letters', 0, { generation: 1 });
        await harness.store.transact(owner, new Map([['work', 3]]), [put('2', { at: 2 })]);
        expect(ids(await harness.store.find(byTime))).toEqual(['2', '1']);
      });

      it('begins empty after one that was left or abandoned, and may be the first version', async () => {
        await rebuilt([put('left')], 1);
        const next = await harness.store.beginRebuild(letters);
        expect((await next.get('letters', ['left'])).size).toBe(0);
        await harness.store.abandon(letters);
        await harness.store.abandon(letters);
        await expect(harness.store.swap(letters)).rejects.toThrow('no rebuild');
        await expect(harness.store.compare(letters)).rejects.toThrow('no rebuild');
        const fresh = { name: 'fresh', collections: [{ name: 'fresh_ones', fields: {}, indexes: [] }] };
        await harness.store.beginRebuild(fresh);
        expect((await harness.store.compare(fresh)).equal).toBeNull();
        await harness.store.swap(fresh);
        expect((await harness.store.get('fresh_ones', ['1'])).size).toBe(0);
      });
    });

    it('rejects once it is closed', async () => {
      await harness.store.close();
      expect(await harness.store.ready()).toBe(false);
      await expect(harness.store.get('letters', ['1'])).rejects.toThrow();
      await expect(harness.store.own('letters', 0, { generation: 1 })).rejects.toThrow();
    });
  });
}

const anyLetter = fc.tuple(
  fc.integer({ min: 0, max: 39 }).map(String),
  fc.record<Letter>({
    tenant: fc.constantFrom('a', 'b'),
    at: fc.option(fc.integer({ min: -3, max: 5 }), { nil: null, freq: 8 }),
    status: fc.constantFrom('new', 'read', ''),
    tag: fc.constantFrom(null, 't', 'ü'),
    text: fc.string(),
    labels: fc.array(fc.constantFrom('red', 'blue', 'ü'), { maxLength: 3 }),
  }),
);

const anyBound = fc.option(fc.integer({ min: -3, max: 5 }), { nil: undefined });

const anyQuery: fc.Arbitrary<Query> = fc.record(
  {
    collection: fc.constant('letters'),
    equals: fc.constantFrom<Query['equals'][]>(
      { tenant: 'a' },
      { status: 'read', tenant: 'a' },
      { tenant: 'a', tag: 'ü' },
      { labels: 'red' },
      { labels: 'ü' },
      {},
    ),
    order: fc.record({
      fields: fc.constant(['at']),
      direction: fc.constantFrom('ascending' as const, 'descending' as const),
    }),
    range: fc.record(
      { field: fc.constant('at'), from: fc.integer({ min: -3, max: 3 }), to: fc.integer({ min: 0, max: 5 }) },
      { requiredKeys: ['field'] },
    ),
    filter: fc.constantFrom<NonNullable<Query['filter']>[]>(
      { status: 'new' },
      { status: ['new', ''], tag: [null, 't'] },
      { tag: null },
      { tag: [] },
      { at: { from: -1, to: 2 } },
      { at: { to: 1 }, tag: { from: '' } },
      { tag: { from: 't', to: 'u' } },
      {},
    ),
    limit: fc.integer({ min: 1, max: 7 }),
    bytesMax: fc.integer({ min: 0, max: 500 }),
    fields: fc.constantFrom(['status', 'at'], []),
  },
  { requiredKeys: ['collection', 'equals', 'order', 'limit'] },
);

function lets(wanted: FieldFilter, value: FieldValue): boolean {
  if (!isFieldRange(wanted)) return wantedValues(wanted).includes(value);
  const { from = null, to = null } = wanted;
  return value !== null && (from === null || value >= from) && (to === null || value < to);
}

/** The port's words, over a plain array. */
function searchAll(stored: readonly (readonly [string, Letter])[], query: Query): string[] {
  const { equals, range, filter = {}, order } = query;
  const from = Number(range?.from ?? Number.NEGATIVE_INFINITY);
  const to = Number(range?.to ?? Number.POSITIVE_INFINITY);
  const sign = order.direction === 'ascending' ? 1 : -1;
  return stored
    .map(([id, document]) => ({ id, at: document.at, fields: document as unknown as Record<string, FieldValue> }))
    .filter(({ fields }) => equals['labels'] === undefined || [fields['labels']].flat().includes(equals['labels']))
    .flatMap(({ id, at, fields }) => (at === null ? [] : [{ id, at, fields }]))
    .filter(({ at }) => at >= from && at < to)
    .filter(({ fields }) =>
      Object.entries(equals).every(([field, value]) => field === 'labels' || fields[field] === value),
    )
    .filter(({ fields }) => Object.entries(filter).every(([field, wanted]) => lets(wanted, fields[field] ?? null)))
    .sort((a, b) => sign * (a.at - b.at || (a.id < b.id ? -1 : 1)))
    .map(({ id }) => id);
}
