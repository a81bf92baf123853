// Whether a database holds read models that were folded from a log: whoever brings another log must know.

import type { MongoConnection } from '../connection.ts';
import { offsetsText, positionsOf } from './positions.ts';
import { anyId } from './stored-collection.ts';

const queryMs = 4000;
const nothingFolded = offsetsText(new Map());

/** Of any version, also of read models that this version of Herald doesn't know. @throws Error when the store is away */
export async function hasFoldedReadModels({ db }: Pick<MongoConnection, 'db'>): Promise<boolean> {
  const folded = await positionsOf(db).findOne(
    { ...anyId, offsets: { $ne: nothingFolded } },
    { projection: { _id: 1 }, maxTimeMS: queryMs },
  );
  return folded !== null;
}
