// Takes every read model of a database out of use, to be folded anew from whichever log is there then. While nobody projects or reads.

import type { MongoConnection } from '../connection.ts';
import { abandonNextVersion, fenceRetired } from './rebuild.ts';
import { anyId } from './stored-collection.ts';
import { modelVersionFrom, versionsOf } from './versions.ts';

/** May be done again; the next start removes what was in use. */
export async function forgetReadModels({ db }: Pick<MongoConnection, 'db'>): Promise<void> {
  for (const { _id, version, definition } of await versionsOf(db).find(anyId).toArray()) {
    await abandonNextVersion(db, _id);
    if (version === null) continue;
    const retired = { version: '$version', definition: '$definition', at: '$$NOW' };
    await versionsOf(db).updateOne({ _id, version }, [
      { $set: { version: null, retired: { $concatArrays: [{ $ifNull: ['$retired', []] }, [retired]] } } },
    ]);
    await fenceRetired(db, modelVersionFrom(definition, version));
  }
}
