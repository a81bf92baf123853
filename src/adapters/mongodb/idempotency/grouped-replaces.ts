// Documents that are put in place in one turn of the event loop go to MongoDB as one request. The keys of a batch come by the hundred: each by itself would take
// one of the connections that all tenants share, for as long as the journal takes, and what others ask for would wait for seconds behind them.

import { type Collection, type Filter, MongoBulkWriteError } from 'mongodb';

import type { KeyDocument } from './document.ts';

type Replacement = Omit<KeyDocument, '_id'>;
type Place = Filter<KeyDocument> & Pick<KeyDocument, '_id'>;

export interface GroupedReplaces {
  /**
   * Replaces the one that is found, or inserts: null. Else the one of its id, which isn't as the filter says. Rejects when the server is away: it may be
   * written all the same.
   */
  upsert(place: Place, replacement: Replacement): Promise<KeyDocument | null>;
}

interface Waiting {
  readonly place: Place;
  readonly replacement: Replacement;
  readonly resolve: (held: KeyDocument | null) => void;
  readonly reject: (error: unknown) => void;
}

const duplicateKey = 11_000;

export function createGroupedReplaces(keys: Collection<KeyDocument>): GroupedReplaces {
  let waiting: Waiting[] = [];

  const write = async (): Promise<void> => {
    const group = waiting;
    waiting = [];
    try {
      const failed = await failures(keys, group);
      const held = await heldOf(
        keys,
        group.filter((_, i) => failed.get(i) === duplicateKey),
      );
      for (const [i, { place, resolve, reject }] of group.entries()) {
        const code = failed.get(i);
        const document = held.get(place._id);
        if (code === undefined) resolve(null);
        else if (code !== duplicateKey) reject(new Error(`a key was not written: MongoDB answered ${code}`));
        else if (document === undefined) reject(new Error('an idempotency key was removed while it was looked at'));
        else resolve(document);
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  };

  return {
    upsert: (place, replacement) =>
      new Promise((resolve, reject) => {
        if (waiting.length === 0) setImmediate(() => void write());
        waiting.push({ place, replacement, resolve, reject });
      }),
  };
}

async function heldOf(
  keys: Collection<KeyDocument>,
  held: readonly Waiting[],
): Promise<ReadonlyMap<string, KeyDocument>> {
  if (held.length === 0) return new Map();
  const documents = await keys.find({ _id: { $in: held.map(({ place }) => place._id) } }).toArray();
  return new Map(documents.map((document) => [document._id, document]));
}

/** MongoDB's codes, by their places. @throws what harms all of them */
async function failures(
  keys: Collection<KeyDocument>,
  group: readonly Waiting[],
): Promise<ReadonlyMap<number, number>> {
  const operations = group.map(({ place, replacement }) => ({
    replaceOne: { filter: place, replacement, upsert: true },
  }));
  try {
    await keys.bulkWrite(operations, { ordered: false });
    return new Map();
  } catch (error) {
    // Written, but not where it lasts: none of them counts as written.
    if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError() !== undefined) throw error;
    const errors = Array.isArray(error.writeErrors) ? error.writeErrors : [error.writeErrors];
    // Without one it is none of theirs.
    if (errors.length === 0) throw error;
    return new Map(errors.map(({ index, code }) => [index, code]));
  }
}
