// Removes versions that were swapped out once no reader can be in them: by whoever prepares or swaps, now or when their time has come.

import type { Db } from 'mongodb';

import type { Logger } from '../../../ports/logger.ts';
import { fenceRetired, removeVersion } from './rebuild.ts';
import { anyId } from './stored-collection.ts';
import { modelVersionFrom, retiredKeptMs, type VersionsDocument, versionsOf } from './versions.ts';

export interface RetiredVersions {
  /** Removes those whose time has come, and comes back by itself for the others. Rejects when the store is away. */
  collect(): Promise<void>;
}

export function createRetiredVersions(db: Db, logger: Logger, signal: AbortSignal): RetiredVersions {
  let timer: NodeJS.Timeout | null = null;
  const rest = () => {
    if (timer !== null) clearTimeout(timer);
  };
  signal.addEventListener('abort', rest, { once: true });

  const collect = async (): Promise<void> => {
    const waitMs = await removeDue(db);
    rest();
    if (waitMs !== null && !signal.aborted) timer = setTimeout(collectLater, waitMs).unref();
  };
  const collectLater = () => {
    collect().catch((error: unknown) => {
      logger.warn('a version that was swapped out is not removed: the next start will try again', { err: error });
    });
  };
  return { collect };
}

/** In how many ms the next one is due; null: there is none. */
async function removeDue(db: Db): Promise<number | null> {
  const versions = versionsOf(db);
  // The server's clock has set their times.
  const found = await versions
    .aggregate<VersionsDocument & { readonly now: Date }>([
      { $match: { ...anyId, 'retired.0': { $exists: true } } },
      { $set: { now: '$$NOW' } },
    ])
    .toArray();
  let waitMs: number | null = null;
  for (const { _id, retired = [], now } of found) {
    for (const { version, definition, at } of retired) {
      const leftMs = at.getTime() + retiredKeptMs - now.getTime();
      if (leftMs > 0) {
        waitMs = Math.min(waitMs ?? leftMs, leftMs);
        continue;
      }
      const model = modelVersionFrom(definition, version);
      await fenceRetired(db, model);
      await removeVersion(db, model);
      await versions.updateOne({ _id }, { $pull: { retired: { version } } });
    }
  }
  return waitMs;
}
