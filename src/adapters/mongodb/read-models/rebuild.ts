// The next version of a read model beside the one in use: begun empty, compared at equal positions, swapped in or thrown away.

import type { Db, Filter, FindCursor } from 'mongodb';

import type { RebuildComparison } from '../../../ports/read-model-rebuild.ts';
import type { IndexesMade, ReadModelDefinition } from '../../../ports/read-model-store.ts';
import { offsetsText, ofVersion, positionsOf } from './positions.ts';
import { dropCollections, keptSecret, makeCollections, makeIndexes } from './preparing.ts';
import { anyId, type StoredDocument } from './stored-collection.ts';
import type { ModelVersion, VersionsDocument } from './versions.ts';
import { definitionText, modelVersionFrom, versionsOf } from './versions.ts';

const differingMax = 10;

/** An empty next version; what an earlier attempt left is removed. */
export async function beginNextVersion(
  db: Db,
  definition: ReadModelDefinition,
  indexes: IndexesMade = 'at once',
): Promise<ModelVersion> {
  await abandonNextVersion(db, definition.name);
  const text = { $literal: definitionText(definition) };
  const begun = await versionsOf(db).findOneAndUpdate(
    { _id: definition.name },
    [
      {
        $set: {
          version: { $ifNull: ['$version', null] },
          definition: { $ifNull: ['$definition', text] },
          filled: { $ifNull: ['$filled', text] },
          lastVersion: { $add: [{ $ifNull: ['$lastVersion', 0] }, 1] },
          secret: await keptSecret(db, definition),
        },
      },
      { $set: { next: { version: '$lastVersion', definition: text } } },
    ],
    { upsert: true, returnDocument: 'after' },
  );
  const next = nextOf(begun, definition.name);
  await makeCollections(db, next);
  if (indexes === 'at once') await makeIndexes(db, next);
  return next;
}

export async function compareVersions(db: Db, readModel: string): Promise<RebuildComparison> {
  const versions = await versionsOf(db).findOne({ _id: readModel });
  const next = nextOf(versions, readModel);
  const current = currentOf(versions);
  let documents = 0;
  for (const { name } of next.collections) documents += await db.collection<StoredDocument>(name).countDocuments(anyId);
  if (current === null || (await positionsText(db, current)) !== (await positionsText(db, next))) {
    return { equal: null, documents, differing: [] };
  }
  const differing: string[] = [];
  for (const { collection, name } of next.collections) {
    const before = current.collections.find((of) => of.collection === collection)?.name;
    for await (const id of differingIds(db, before, name)) {
      differing.push(`${collection}/${id}`);
      if (differing.length === differingMax) return { equal: false, documents, differing };
    }
  }
  return { equal: differing.length === 0, documents, differing };
}

/**
 * False when the filter wasn't met by then. All or nothing: readers change over by one write of one document. Before it the owners of the next version are fenced, after it those of the former,
 * which stays until no reader can be in it.
 */
export async function swapVersions(db: Db, readModel: string, filter: Filter<VersionsDocument> = {}): Promise<boolean> {
  const versions = await versionsOf(db).findOne({ _id: readModel });
  const next = nextOf(versions, readModel);
  const positions = positionsOf(db);
  await positions.updateMany(ofVersion(next), { $inc: { epoch: 1 } });
  const swapped = await versionsOf(db).findOneAndUpdate({ _id: readModel, 'next.version': next.version, ...filter }, [
    {
      $set: {
        version: '$next.version',
        definition: '$next.definition',
        filled: '$next.definition',
        next: null,
        catchingUp: '$$REMOVE',
        unindexed: '$$REMOVE',
        retired: {
          $concatArrays: [
            { $ifNull: ['$retired', []] },
            {
              $cond: [
                { $eq: ['$version', null] },
                [],
                [{ version: '$version', definition: '$definition', at: '$$NOW' }],
              ],
            },
          ],
        },
      },
    },
  ]);
  if (swapped === null) return false;
  const former = currentOf(swapped);
  if (former !== null) await fenceRetired(db, former);
  // Moves them, so that those who listen hear of the swap.
  await positions.updateMany(ofVersion(next), { $set: { inUse: true } });
  return true;
}

export async function abandonNextVersion(db: Db, readModel: string): Promise<void> {
  const begun = await begunVersion(db, readModel);
  // While there is one that others let go: whoever is killed from here on leaves no version in use that nobody may own.
  if (begun !== null) await letGo(db, readModel, begun.version);
  const before = await versionsOf(db).findOneAndUpdate({ _id: readModel }, { $set: { next: null } });
  // It may have been held again.
  await unfenceUnheld(db, readModel);
  if (before !== null && before.next !== null) await removeVersion(db, nextOf(before, readModel));
}

/** Whoever holds them has them no more. It is called again and again, so it also ends what whoever let go or released was killed in. */
export async function letGo(db: Db, readModel: string, version: number): Promise<void> {
  await versionsOf(db).updateOne(
    { _id: readModel, 'next.version': version, 'next.isHeld': true },
    { $inc: { 'next.holds': 1 }, $set: { 'next.isHeld': false } },
  );
  await unfenceUnheld(db, readModel);
}

/** The next version, as it was left; null: none was begun. */
export async function begunVersion(db: Db, readModel: string): Promise<ModelVersion | null> {
  const versions = await versionsOf(db).findOne({ _id: readModel });
  return versions === null || versions.next === null ? null : nextOf(versions, readModel);
}

/** Whoever began it may have left its indexes for its end, which this one doesn't wait for. @throws Error when no rebuild was begun */
export async function resumeNextVersion(db: Db, readModel: string): Promise<ModelVersion> {
  const next = nextOf(await versionsOf(db).findOne({ _id: readModel }), readModel);
  await makeCollections(db, next);
  await makeIndexes(db, next);
  return next;
}

/** No owner of it can write any more, and nobody can come to own it. */
export async function fenceRetired(db: Db, version: ModelVersion): Promise<void> {
  await positionsOf(db).updateMany(ofVersion(version), { $inc: { epoch: 1 }, $set: { retired: true } });
}

/** The version in use may be owned again, unless somebody holds it: a hold that comes meanwhile fences it by other epochs, and is left alone. */
export async function unfenceUnheld(db: Db, readModel: string): Promise<void> {
  const current = currentOf(await versionsOf(db).findOne({ _id: readModel }));
  if (current === null) return;
  const fenced = await positionsOf(db)
    .find({ ...ofVersion(current), retired: true }, { projection: { epoch: 1 } })
    .toArray();
  const unheld = { _id: readModel, version: current.version, 'next.isHeld': { $ne: true } };
  if (fenced.length === 0 || (await versionsOf(db).findOne(unheld)) === null) return;
  const same = fenced.map(({ _id, epoch }) => ({ _id, epoch }));
  await positionsOf(db).updateMany({ $or: same }, { $unset: { retired: '' } });
}

/** Its positions first: a late owner is refused rather than let write into a collection that is gone. */
export async function removeVersion(db: Db, version: ModelVersion): Promise<void> {
  await positionsOf(db).deleteMany(ofVersion(version));
  await dropCollections(db, version);
}

export function nextOf(versions: VersionsDocument | null, readModel: string): ModelVersion {
  const next = versions?.next ?? null;
  if (next === null) throw new Error(`no rebuild of ${readModel} was begun`);
  return modelVersionFrom(next.definition, next.version);
}

export function currentOf(versions: VersionsDocument | null): ModelVersion | null {
  if (versions === null || versions.version === null) return null;
  return modelVersionFrom(versions.definition, versions.version);
}

/** A number that was owned and never moved stands where one does that was never owned. */
async function positionsText(db: Db, version: ModelVersion): Promise<string> {
  const found = await positionsOf(db)
    .find(ofVersion(version), { sort: { _id: 1 } })
    .toArray();
  const moved = found.filter(({ offsets }) => offsets !== offsetsText(new Map()));
  return JSON.stringify(moved.map(({ partition, offsets }) => [partition, offsets]));
}

/** Ids whose JSON text differs, or that one of them lacks: both read in the order of their ids, side by side. */
async function* differingIds(db: Db, before: string | undefined, after: string): AsyncGenerator<string> {
  const cursors = [before === undefined ? null : inOrder(db, before), inOrder(db, after)] as const;
  try {
    const [left, right] = cursors;
    let a = (await left?.next()) ?? null;
    let b = await right.next();
    while (a !== null || b !== null) {
      const order = compareIds(a, b);
      if (order !== 0) yield (order < 0 ? a : b)?._id ?? '';
      else if (a?.json !== b?.json) yield b?._id ?? '';
      if (order <= 0) a = (await left?.next()) ?? null;
      if (order >= 0) b = await right.next();
    }
  } finally {
    for (const cursor of cursors) await cursor?.close();
  }
}

function inOrder(db: Db, name: string): FindCursor<StoredDocument> {
  return db.collection<StoredDocument>(name).find(anyId, { projection: { json: 1 }, sort: { _id: 1 } });
}

/** By their bytes, as MongoDB has them; who has none comes last. */
function compareIds(a: StoredDocument | null, b: StoredDocument | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return a._id === b._id ? 0 : Buffer.compare(Buffer.from(a._id), Buffer.from(b._id));
}
