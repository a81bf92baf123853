// herald erase: forgets a recipient or a whole tenant, and then looks for what is left in the log, the read models, the files and the exports that are named.

import { statSync } from 'node:fs';
import { parseArgs } from 'node:util';

import type { TenantId } from '../domain/ids.ts';
import type { CatchUps } from '../api/whole-read-models.ts';
import { saidOf } from '../api/whole-read-models.ts';
import type { Clock } from '../ports/clock.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import { createCatchUp } from '../projections/catching-up.ts';
import { readModels } from '../projections/index.ts';
import { openAdapters, type Adapters } from './adapters.ts';
import type { Config } from './config.ts';
import { isCluster, readConfig } from './config.ts';
import { isMeant } from './confirm.ts';
import { logThereIn } from './data-file.ts';
import type { Erased } from './erase-recipient.ts';
import { erasureOfRecipient } from './erase-recipient.ts';
import { erasureOfTenant } from './erase-tenant.ts';
import { createHealth } from './health.ts';
import { startJobs } from './jobs.ts';
import { findInFiles, soughtBytesMin } from './plain-values.ts';
import { createProcess } from './process.ts';
import { startProjectorThread } from './projector-thread.ts';
import { UsageError } from './usage-error.ts';

/** The exit code is 1 when anything is left. @throws UsageError; StartError while the service runs and where there is no log (embedded), and when there is no such tenant */
export async function eraseCommand(args: string[]): Promise<void> {
  const options = {
    tenant: { type: 'string' },
    recipient: { type: 'string' },
    search: { type: 'string', multiple: true },
  } as const;
  const { tenant, recipient, search = [] } = parseArgs({ args, options }).values;
  if (tenant === undefined) throw new UsageError('--tenant: name one');
  const tenantId = tenant as TenantId;
  const missing = search.find((folder) => statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true);
  if (missing !== undefined) throw new UsageError(`--search: ${missing} is not a folder; nothing was erased`);
  if (
    recipient === undefined &&
    !(await isMeant(questionOf(tenant), tenant, { input: process.stdin, output: process.stdout }))
  )
    throw new UsageError('nothing was erased: --recipient CHANNEL:RECIPIENT erases a recipient alone');
  const erase = recipient === undefined ? erasureOfTenant(tenantId) : erasureOfRecipient(tenantId, recipient);
  const config = readConfig();
  const erased = await withService(config, erase);
  await report(erased, isCluster(config) ? search : [config.DATA_DIR, ...search]);
}

function questionOf(tenant: string): string {
  return `Everything of the tenant ${tenant} goes, for good: its keys, its templates, all that was ever sent. Its id, to go on: `;
}

async function report({ what, left, sought, remark }: Erased, folders: readonly string[]): Promise<void> {
  for (const line of left) process.stdout.write(`${line}\n`);
  const { found, searched, unread, tooShort } = await findInFiles(folders, sought);
  for (const { path, spellings } of found) process.stdout.write(`${path}: still there (${spellings.join(', ')})\n`);
  for (const { path, why } of unread) process.stdout.write(`${path}: ${why} and can't be searched\n`);
  if (tooShort.length > 0)
    process.stdout.write(
      `Files were not searched for ${tooShort.join(', ')}: what is shorter than ${soughtBytesMin} bytes stands in any.\n`,
    );
  const isGone = left.length + found.length + unread.length === 0;
  process.stdout.write(
    isGone
      ? `Nothing of the ${what} is left: looked for in the log and the read models${searched === 0 ? '' : `, and in ${searched} files`}.\n`
      : `Not everything is gone. ${remark}\n`,
  );
  if (!isGone) process.exitCode = 1;
}

const lookEveryMs = 500;
const tellEveryMs = 10_000;

/** What is to go is found in the records: in a part of them there would be a part of it. */
async function untilWhole(catchUps: CatchUps, clock: Pick<Clock, 'monotonic' | 'sleep'>): Promise<void> {
  let toldAt = -Infinity;
  for (const [readModel, catchUp] of catchUps) {
    for (let progress = await catchUp.progress(); progress !== null; progress = await catchUp.progress()) {
      if (clock.monotonic() - toldAt >= tellEveryMs) {
        toldAt = clock.monotonic();
        process.stderr.write(`waiting: ${saidOf(readModel, progress)}\n`);
      }
      await clock.sleep(lookEveryMs);
    }
  }
}

/** Log, stores and whoever folds and runs jobs: in a cluster the processes that serve do the folding. */
async function withService<T>(
  config: Config,
  work: (adapters: Adapters, reader: ReadModelReader) => Promise<T>,
): Promise<T> {
  if (!isCluster(config)) logThereIn(config);
  const { signal } = new AbortController();
  const parts = createProcess(config);
  const adapters = await openAdapters({ ...parts, config, health: createHealth(), signal });
  const running: { stop(): Promise<unknown> }[] = [{ stop: () => adapters.close() }];
  try {
    const { reader, thread } = await adapters.engines.openViews(!isCluster(config));
    running.push({ stop: async () => reader.close() });
    const roles = { logLevel: config.LOG_LEVEL, runsProjectors: true, runsScheduler: true };
    if (thread !== null) running.push(await startProjectorThread({ engines: thread, ...roles }, signal));
    const { log, clock } = adapters;
    const catchUps = new Map(
      readModels.map((readModel) => [readModel.definition.name, createCatchUp({ log, reader, readModel })] as const),
    );
    running.push(startJobs(adapters, reader, catchUps));
    await untilWhole(catchUps, clock);
    return await work(adapters, reader);
  } finally {
    for (const one of running.toReversed()) await one.stop();
    parts.logger.flush();
  }
}
