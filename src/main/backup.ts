// herald backup: log.db and settings.db as they stand at one moment, into a folder, while the service runs.

import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { snapshotTogether } from '../adapters/sqlite/snapshot.ts';
import { backedUp, eventCount, writeManifest } from './backup-files.ts';
import type { Config } from './config.ts';
import { isCluster } from './config.ts';
import { openOrExplain } from './data-file.ts';
import { StartError } from './start-error.ts';

/** @throws StartError when there is nothing to back up, or the folder is none or holds something */
export async function backUp(config: Config, folder: string): Promise<void> {
  if (isCluster(config))
    throw new StartError(
      'KAFKA_BROKERS is set: back up Kafka, its registry and MongoDB by their own means, see OPERATIONS.md.',
    );
  const { DATA_DIR: dataDir } = config;
  const absent = backedUp.find((name) => !existsSync(join(dataDir, name)));
  if (absent !== undefined)
    throw new StartError(`DATA_DIR: ${dataDir} holds no ${absent}: there is nothing to back up.`);
  const there = await openOrExplain(folder, 'target', () => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return readdirSync(folder);
  });
  if (there.length > 0) throw new StartError(`${folder} is not empty: name a folder for this backup alone.`);
  const madeAt = new Date();
  // The log first: the settings are then as new as its last event, or newer.
  await snapshotTogether(backedUp.map((name) => ({ from: join(dataDir, name), to: join(folder, name) })));
  const manifest = await writeManifest(folder, madeAt);
  process.stdout.write(
    `${eventCount(manifest)} events and the settings are in ${folder}, opened and counted. Not in it: ENCRYPTION_SECRET or ${join(dataDir, 'encryption-secret')}, without which the settings' secrets can't be opened; keep it apart.\n`,
  );
}
