// Tenants, keys, providers and templates in MongoDB, for any number of processes; the truth about them, so majority and
// journal.

import type { Clock } from '../../../ports/clock.ts';
import type { Logger } from '../../../ports/logger.ts';
import type { SettingsStore } from '../../../ports/settings-store.ts';
import type { MongoConnection } from '../connection.ts';
import { breakersIn } from './breakers.ts';
import { collectionsIn, prepare } from './collections.ts';
import { erasingIn } from './erasing.ts';
import { marksIn } from './marks.ts';
import { namedKeysIn, replaceSealedIn } from './named-keys.ts';
import { templatesIn } from './templates.ts';
import { tenantsIn } from './tenants.ts';
import { createWriter } from './writing.ts';

export interface MongoSettingsStoreOptions {
  /** Stays open when the store is closed. */
  readonly connection: MongoConnection;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Tenants that one look reports; a further look goes on after them. */
const changesMax = 1000;

/** Makes its collections and indexes. Rejects when the server is away. */
export async function openMongoSettingsStore(options: MongoSettingsStoreOptions): Promise<SettingsStore> {
  await prepare(collectionsIn(options.connection.db, () => false));
  return openMongoSettingsBeside(options);
}

/** The settings as they are in there: nothing is made. */
export function openMongoSettingsBeside(options: MongoSettingsStoreOptions): SettingsStore {
  const { connection, logger, clock } = options;
  let isClosed = false;
  const collections = collectionsIn(connection.db, () => isClosed);
  const { write, erase } = createWriter({ connection, collections, clock });
  return {
    ...tenantsIn(collections, write),
    ...namedKeysIn(collections, write),
    replaceSealed: replaceSealedIn(collections, write),
    ...templatesIn(collections, write),
    ...breakersIn(collections),
    ...marksIn(collections),
    ...erasingIn(collections, erase),
    async changesSince(revision) {
      if (revision === 0) {
        const latest = await collections.revisions().findOne({ _id: 'settings' });
        if (latest === null) throw new Error('the revision of the settings is gone');
        return { revision: latest.revision, tenantIds: [] };
      }
      const changed = await collections
        .tenants()
        .find({ revision: { $gt: revision } }, { projection: { revision: 1 } })
        .sort({ revision: 1 })
        .limit(changesMax)
        .toArray();
      return { revision: changed.at(-1)?.revision ?? revision, tenantIds: changed.map(({ _id }) => _id) };
    },
    async ready() {
      if (isClosed) return false;
      try {
        await connection.db.command({ ping: 1 });
        return true;
      } catch (err) {
        logger.debug('the settings store does not answer', { err });
        return false;
      }
    },
    async close() {
      isClosed = true;
    },
  };
}
