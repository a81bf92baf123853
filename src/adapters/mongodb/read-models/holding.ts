// A version and its next one in one holder's hands, for the moment in which they come level and are swapped. Who holds them is a count in the document of the
// read model: whoever holds later has it instead, so a holder that stood still can neither swap nor release what is another's by now.

import type { Db, Filter } from 'mongodb';

import { ofVersion, positionsOf } from './positions.ts';
import { currentOf, fenceRetired, nextOf, swapVersions, unfenceUnheld } from './rebuild.ts';
import { type ModelVersion, type VersionsDocument, versionsOf } from './versions.ts';

export interface Holding {
  readonly next: ModelVersion;
  swap(): Promise<boolean>;
  release(): Promise<void>;
}

/** Null when that isn't the next version any more. */
export async function holdVersions(db: Db, readModel: string, version: number): Promise<Holding | null> {
  const held = await versionsOf(db).findOneAndUpdate(
    { _id: readModel, 'next.version': version },
    { $inc: { 'next.holds': 1 }, $set: { 'next.isHeld': true } },
    { returnDocument: 'after' },
  );
  if (held === null) return null;
  const [current, next] = [currentOf(held), nextOf(held, readModel)];
  // From here on whoever takes a number over sees that it is held; whoever has, is refused.
  if (current !== null) await fenceRetired(db, current);
  await positionsOf(db).updateMany(ofVersion(next), { $inc: { epoch: 1 } });
  const own: Filter<VersionsDocument> = {
    'next.version': version,
    'next.holds': held.next?.holds ?? 0,
    'next.isHeld': true,
  };
  const isOwn = async () => (await versionsOf(db).findOne({ _id: readModel, ...own })) !== null;
  return {
    next,
    swap: async () => (await isOwn()) && swapVersions(db, readModel, own),
    async release() {
      await versionsOf(db).updateOne({ _id: readModel, ...own }, { $set: { 'next.isHeld': false } });
      await unfenceUnheld(db, readModel);
    },
  };
}
