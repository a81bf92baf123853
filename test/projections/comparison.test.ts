// Comparing two sets of documents: by example, and by property against a comparison that holds all of them in memory.

import { describe, expect, it } from '@jest/globals';

import type { DocumentScan } from '../../src/ports/document-scan.ts';
import { compareCollections, isDifferent } from '../../src/projections/comparison.ts';
import fc from '../support/properties.ts';

type Documents = Readonly<Record<string, object>>;

/** Pages of two. */
function sideOf(documents: Documents): { readonly store: DocumentScan; readonly collection: string } {
  const sorted = Object.keys(documents).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return {
    collection: 'letters',
    store: {
      async scan(_collection, { after }) {
        const from = after === null ? 0 : sorted.indexOf(after) + 1;
        return sorted.slice(from, from + 2).map((id) => ({ id, text: JSON.stringify(documents[id]) }));
      },
      size: async () => sorted.length,
    },
  };
}

const compared = (before: Documents, after: Documents) => compareCollections(sideOf(before), sideOf(after));

describe('comparing documents', () => {
  it('counts those that differ by field, and those that one side lacks', async () => {
    const before = { a: { n: 1, status: 'QUEUED' }, b: { n: 1 }, c: { n: 1 }, e: { n: 5 } };
    const after = { a: { n: 2, status: 'DELIVERED' }, b: { n: 1 }, c: { n: 3 }, d: { n: 4 }, f: {} };
    const found = await compared(before, after);
    expect(found).toMatchObject({ documents: { before: 4, after: 5 }, changed: 2, onlyBefore: 1, onlyAfter: 2 });
    expect([...found.fields]).toEqual([
      ['n', 2],
      ['status', 1],
    ]);
    expect(found.examples[0]).toEqual({
      id: 'a',
      kind: 'changed',
      fields: [
        { field: 'n', before: '1', after: '2' },
        { field: 'status', before: 'QUEUED', after: 'DELIVERED' },
      ],
    });
  });

  it('says nothing of documents whose fields merely stand in another order', async () => {
    const found = await compared({ a: { x: 1, y: [2] } }, { a: { y: [2], x: 1 } });
    expect(isDifferent(found)).toBe(false);
  });

  it('tells no text, no list and no recipient of an example', async () => {
    const secret = 'ada@example.com';
    const of = (more: object) => ({ [`tnt_1:${secret}`]: { recipient: secret, ...more } });
    const found = await compared(
      of({ body: `reset ${secret}`, data: { code: secret }, cc: [secret] }),
      of({ body: 'other', data: null, cc: [secret, secret] }),
    );
    expect(JSON.stringify(found)).not.toContain(secret);
    expect(found.examples[0]?.id).toBe('tnt_1:••••••');
    expect(found.examples[0]?.fields).toContainEqual({ field: 'data', before: 'an object', after: 'null' });
    const gone = await compared(of({}), {});
    expect(gone.examples).toEqual([{ id: 'tnt_1:••••••', kind: 'onlyBefore', fields: [] }]);
  });

  it('finds what a comparison in memory finds, whatever the ids', async () => {
    const documents = fc.dictionary(
      fc.string({ minLength: 1, maxLength: 3, unit: 'binary' }),
      fc.record({ n: fc.nat(2) }),
      {
        noNullPrototype: true,
      },
    );
    await fc.assert(
      fc.asyncProperty(documents, documents, async (before, after) => {
        const found = await compared(before, after);
        const both = Object.keys(before).filter((id) => Object.hasOwn(after, id));
        expect(found.onlyBefore).toBe(Object.keys(before).length - both.length);
        expect(found.onlyAfter).toBe(Object.keys(after).length - both.length);
        expect(found.changed).toBe(both.filter((id) => before[id]?.n !== after[id]?.n).length);
      }),
    );
  });
});
