// herald restore: a backup becomes a data folder. What was to be sent when it was made may have been sent since: a person says what becomes of it.
//
//   backup ──hashes──> DATA_DIR/restoring/ ──what is pending is ended, or not──> DATA_DIR

import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';

import { createLogger } from '../adapters/node/logger.ts';
import { createClock } from '../adapters/node/clock.ts';
import { openEventLog } from '../adapters/sqlite/event-log/event-log.ts';
import { passOver } from '../adapters/sqlite/event-log/pass-over.ts';
import { createCodec } from '../codec/index.ts';
import { heldCode } from '../domain/delivery-outcome.ts';
import type { PendingChoice } from '../reconcile/pending.ts';
import { settlePending } from '../reconcile/pending.ts';
import { backedUp, eventCount, readManifest } from './backup-files.ts';
import type { Config } from './config.ts';
import { isCluster } from './config.ts';
import { dataFiles } from './data-files.ts';
import { eventLogShape } from './event-log-shape.ts';
import { lockOrExplain } from './lock.ts';
import { StartError } from './start-error.ts';

/** Interrupted, it is run again. @throws StartError when the backup isn't whole, or DATA_DIR is in use or holds a log */
export async function restore(config: Config, folder: string, choice: PendingChoice): Promise<void> {
  if (isCluster(config))
    throw new StartError('KAFKA_BROKERS is set: a backup is restored into a DATA_DIR; see OPERATIONS.md.');
  const manifest = await readManifest(folder);
  const { DATA_DIR: dataDir } = config;
  const lock = await lockOrExplain(config);
  try {
    const work = join(dataDir, 'restoring');
    // An interrupted restore may have left the settings.
    refuseUsed(dataDir, existsSync(work) ? ['settings.db'] : []);
    rmSync(work, { recursive: true, force: true });
    mkdirSync(work, { mode: 0o700 });
    for (const name of backedUp) copyFileSync(join(folder, name), join(work, name));
    const pending = await settle(join(work, 'log.db'), choice);
    // The log last: a folder with a log is a whole one.
    for (const name of backedUp.toReversed()) renameSync(join(work, name), join(dataDir, name));
    rmSync(work, { recursive: true });
    process.stdout.write(
      `${eventCount(manifest)} events of ${manifest.madeAt} are in ${dataDir}. Pending were ${pending}: ${toldOf[choice]}\nStart it with the ENCRYPTION_SECRET of the original, or its encryption-secret in ${dataDir}.\n`,
    );
  } finally {
    lock.release();
  }
}

/** Also what is left beside a file that is gone: SQLite would replay a former log's -wal over this one. And jobs of before go on, whatever is said of what is pending. */
function refuseUsed(dataDir: string, left: readonly string[]): void {
  const { log, views, settings, idempotency, jobs } = dataFiles(dataDir);
  const there = [log, views, settings, idempotency, jobs]
    .flatMap((path) => [path, `${path}-wal`, `${path}-shm`, `${path}-journal`])
    .filter((path) => existsSync(path))
    .map((path) => basename(path))
    .filter((name) => !left.includes(name));
  if (there.length > 0)
    throw new StartError(`DATA_DIR: ${dataDir} holds ${there.join(', ')} already: name an empty folder.`);
}

const toldOf: Readonly<Record<PendingChoice, string>> = {
  send: 'they are sent when it starts, also those that the original has sent since.',
  hold: `none is sent; they are FAILED with the code ${heldCode}, and are sent by a retry.`,
  cancel: 'none is sent; they are CANCELLED.',
};

/** How many there are. */
async function settle(path: string, choice: PendingChoice): Promise<number> {
  const clock = createClock();
  const logger = createLogger({ level: 'warn' });
  const log = openEventLog({ ...eventLogShape, path, codec: createCodec(), clock, logger });
  let pending: number;
  try {
    pending = await settlePending({ log, now: clock.now() }, choice);
  } finally {
    await log.close();
    logger.flush();
  }
  if (choice !== 'send') passOver(path);
  return pending;
}
