// herald erase: forgets a recipient, and then looks for him in the log, the read models, the files and the exports that are named.

import { parseArgs } from 'node:util';

import { startErasure } from '../commands/start-erasure.ts';
import { startJob } from '../commands/start-job.ts';
import type { Channel } from '../domain/events.ts';
import { channels } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import { jobRateMax } from '../domain/job.ts';
import { comparedRecipient } from '../domain/suppression.ts';
import { allTopics, partitionsOfTenant } from '../domain/topics.ts';
import { noTrace } from '../domain/trace-context.ts';
import type { StoredJob } from '../ports/job-store.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import { createCatchUp } from '../projections/catching-up.ts';
import { readModels } from '../projections/index.ts';
import { listNotifications } from '../projections/notifications/queries.ts';
import { openAdapters, type Adapters } from './adapters.ts';
import type { Config } from './config.ts';
import { isCluster, readConfig } from './config.ts';
import { createHealth } from './health.ts';
import { startJobs } from './jobs.ts';
import { findInFiles } from './plain-values.ts';
import { createProcess } from './process.ts';
import { createProgress } from './progress.ts';
import { startProjectorThread } from './projector-thread.ts';
import { StartError } from './start-error.ts';
import { UsageError } from './usage-error.ts';

interface Asked {
  readonly tenantId: TenantId;
  readonly channel: Channel;
  /** As it is compared. */
  readonly recipient: string;
  /** As it was given. */
  readonly given: string;
  /** Folders of exports. */
  readonly search: readonly string[];
}

const lookEveryMs = 100;

/** The exit code is 1 when anything is left. @throws UsageError; StartError while the service runs (embedded), and when there is no such tenant */
export async function eraseCommand(args: string[]): Promise<void> {
  const asked = askedBy(args);
  const config = readConfig();
  const left = await withService(config, (adapters, reader) => erase(adapters, reader, asked));
  const folders = isCluster(config) ? asked.search : [config.DATA_DIR, ...asked.search];
  const { found, searched, unread } = await findInFiles(folders, [...new Set([asked.recipient, asked.given])]);
  for (const line of left) process.stdout.write(`${line}\n`);
  for (const { path, spellings } of found) process.stdout.write(`${path}: still there (${spellings.join(', ')})\n`);
  for (const path of unread) process.stdout.write(`${path}: is packed and can't be searched\n`);
  const isGone = left.length + found.length + unread.length === 0;
  process.stdout.write(
    isGone
      ? `Nothing of the recipient is left: looked for in the log and the read models${searched === 0 ? '' : `, and in ${searched} files`}.\n`
      : 'Not everything is gone. What others have sent to the same recipient, or what was asked for since, is nobody of this erasure.\n',
  );
  if (!isGone) process.exitCode = 1;
}

function askedBy(args: string[]): Asked {
  const options = {
    tenant: { type: 'string' },
    recipient: { type: 'string' },
    search: { type: 'string', multiple: true },
  } as const;
  const { tenant, recipient: given = '', search = [] } = parseArgs({ args, options }).values;
  if (tenant === undefined) throw new UsageError('--tenant: name one');
  const at = given.indexOf(':');
  const channel = channels.find((one) => one === given.slice(0, at).toUpperCase().replace('-', '_'));
  const recipient = given.slice(at + 1);
  if (at < 0 || channel === undefined || recipient === '')
    throw new UsageError(
      `--recipient: should be CHANNEL:RECIPIENT, such as EMAIL:ada@example.com; channels are ${channels.join(', ')}`,
    );
  return {
    tenantId: tenant as TenantId,
    channel,
    recipient: comparedRecipient(channel, recipient),
    given: recipient,
    search,
  };
}

/** Log, stores and whoever folds and runs jobs: in a cluster the processes that serve do the folding. */
async function withService<T>(
  config: Config,
  work: (adapters: Adapters, reader: ReadModelReader) => Promise<T>,
): Promise<T> {
  const { signal } = new AbortController();
  const parts = createProcess(config);
  const adapters = await openAdapters({ ...parts, config, health: createHealth(), signal });
  const running: { stop(): Promise<unknown> }[] = [{ stop: () => adapters.close() }];
  try {
    const { reader, thread } = await adapters.engines.openViews(!isCluster(config));
    running.push({ stop: async () => reader.close() });
    const roles = { logLevel: config.LOG_LEVEL, runsProjectors: true, runsScheduler: true };
    if (thread !== null) running.push(await startProjectorThread({ engines: thread, ...roles }, signal));
    const { log } = adapters;
    const catchUps = readModels.map(
      (readModel) => [readModel.definition.name, createCatchUp({ log, reader, readModel })] as const,
    );
    running.push(startJobs(adapters, reader, new Map(catchUps)));
    return await work(adapters, reader);
  } finally {
    for (const one of running.toReversed()) await one.stop();
    parts.logger.flush();
  }
}

/** What is left, a line each. */
async function erase(adapters: Adapters, reader: ReadModelReader, asked: Asked): Promise<string[]> {
  const { tenantId, channel, recipient } = asked;
  if ((await adapters.settings.settings(tenantId)) === null) throw new StartError(`There is no tenant ${tenantId}.`);
  const { total } = await listNotifications(reader, tenantId, { channel, recipient }, { limit: 1 });
  const start = startErasure({ ...adapters, startJob: startJob(adapters) });
  const id = await start({
    tenantId,
    channel,
    recipient,
    actor: null,
    total,
    ratePerSecond: jobRateMax,
    trace: noTrace,
  });
  const progress = createProgress('erase');
  let job: StoredJob | null = null;
  do {
    await adapters.clock.sleep(lookEveryMs);
    job = await adapters.jobs.find(tenantId, id);
    progress.update(job?.done ?? 0, Math.max(total, job?.done ?? 0));
  } while (job !== null && job.endedAt === null);
  if (job?.state !== 'done') throw new StartError(`The job ${id} ended as ${job?.state ?? 'forgotten'}: run it again.`);
  progress.end(`${job.done} notifications erased`);
  return [...(await leftInLog(adapters, asked, job.createdAt)), ...(await leftInRecords(reader, asked, job.createdAt))];
}

/** Events as any reader of the log sees them. */
async function leftInLog({ log }: Adapters, { tenantId, recipient }: Asked, before: number): Promise<string[]> {
  const value = recipient.toLowerCase();
  const lines: string[] = [];
  for (const topic of allTopics) {
    const ends = await log.ends(topic);
    for (const partition of partitionsOfTenant(tenantId, log.partitioning)) {
      let count = 0;
      for await (const { head, event } of log.read({ topic, partition, from: 0, to: ends[partition] ?? 0 }))
        if (head?.tenantId === tenantId && (event?.occurredAt ?? 0) <= before)
          count += JSON.stringify(event).toLowerCase().includes(value) ? 1 : 0;
      if (count > 0) lines.push(`the log: ${count} events of ${topic}, partition ${partition}`);
    }
  }
  return lines;
}

async function leftInRecords(
  reader: ReadModelReader,
  { tenantId, channel, recipient }: Asked,
  before: number,
): Promise<string[]> {
  const { total } = await listNotifications(reader, tenantId, { channel, recipient, to: before + 1 }, { limit: 1 });
  return total === 0 ? [] : [`the read models: ${total} records`];
}
