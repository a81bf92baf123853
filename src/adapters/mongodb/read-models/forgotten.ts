// Takes read models of a database out of use, while nobody projects or reads them: all of them, to be folded anew from whichever log is there then, or one
// that has been replaced.

import type { Db } from 'mongodb';

import type { MongoConnection } from '../connection.ts';
import { abandonNextVersion, fenceRetired } from './rebuild.ts';
import { anyId } from './stored-collection.ts';
import type { VersionsDocument } from './versions.ts';
import { modelVersionFrom, versionsOf } from './versions.ts';

/** May be done again; the next start removes what was in use. */
export async function forgetReadModels({ db }: Pick<MongoConnection, 'db'>): Promise<void> {
  for (const of of await versionsOf(db).find(anyId).toArray()) await takeOutOfUse(db, of);
}

/** The same of one; nothing happens when there is none. */
export async function forgetReadModel(db: Db, readModel: string): Promise<void> {
  const of = await versionsOf(db).findOne({ _id: readModel });
  if (of !== null) await takeOutOfUse(db, of);
}

async function takeOutOfUse(db: Db, { _id, version, definition }: VersionsDocument): Promise<void> {
  await abandonNextVersion(db, _id);
  if (version === null) return;
  const retired = { version: '$version', definition: '$definition', at: '$$NOW' };
  await versionsOf(db).updateOne({ _id, version }, [
    { $set: { version: null, retired: { $concatArrays: [{ $ifNull: ['$retired', []] }, [retired]] } } },
  ]);
  await fenceRetired(db, modelVersionFrom(definition, version));
}
