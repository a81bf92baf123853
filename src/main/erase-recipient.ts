// The erasure of a recipient by a command: as a job like any, to its end, and then the look for what is left.

import { domainToUnicode } from 'node:url';

import { startErasure } from '../commands/start-erasure.ts';
import { startJob } from '../commands/start-job.ts';
import { comparedAddress } from '../domain/email-address.ts';
import { channels } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import { jobRateMax } from '../domain/job.ts';
import { comparedRecipient } from '../domain/suppression.ts';
import { allTopics, partitionsOfTenant, placesInLog } from '../domain/topics.ts';
import { noTrace } from '../domain/trace-context.ts';
import type { JobId } from '../domain/ids.ts';
import type { StoredJob } from '../ports/job-store.ts';
import type { FieldValue, Page, ReadModelReader } from '../ports/read-model-store.ts';
import { notificationsCollection } from '../projections/notifications/document.ts';
import { listNotifications } from '../projections/notifications/queries.ts';
import type { Adapters } from './adapters.ts';
import { isNamedIn, type Named } from './named-in.ts';
import type { Sought } from './plain-values.ts';
import { createProgress } from './progress.ts';
import { StartError } from './start-error.ts';
import { UsageError } from './usage-error.ts';

/** What came of it. */
export interface Erased {
  /** Who was. */
  readonly what: string;
  /** What is left, a line each. */
  readonly left: readonly string[];
  /** What files are searched for. */
  readonly sought: readonly Sought[];
  /** Said where something is left. */
  readonly remark: string;
}

export type Erasing = (adapters: Adapters, reader: ReadModelReader) => Promise<Erased>;

interface Asked extends Pick<Named, 'channel' | 'recipient'> {
  readonly tenantId: TenantId;
}

const lookEveryMs = 100;

/** @throws UsageError */
export function erasureOfRecipient(tenantId: TenantId, text: string): Erasing {
  const at = text.indexOf(':');
  const channel = channels.find((one) => one === text.slice(0, at).toUpperCase().replace('-', '_'));
  const given = text.slice(at + 1);
  if (at < 0 || channel === undefined || given === '')
    throw new UsageError(
      `--recipient: should be CHANNEL:RECIPIENT, such as EMAIL:ada@example.com; channels are ${channels.join(', ')}`,
    );
  const recipient = comparedRecipient(channel, given);
  return async (adapters, reader) => {
    const asked = { tenantId, channel, recipient };
    const recorded = await recordedAs(reader, asked);
    const spellings = [...new Set([recipient, given, inUnicode(recipient), ...recorded])];
    return {
      what: 'recipient',
      left: await erase(adapters, reader, { ...asked, spellings }),
      // As they are compared.
      sought: spellings.map((text) => ({ text, inAnyCase: channel === 'EMAIL' })),
      remark: 'What others have sent to the same recipient, or what was asked for since, is nobody of this erasure.',
    };
  };
}

/** A domain that goes out as `xn--`, as people write it; any other recipient as it is. */
function inUnicode(recipient: string): string {
  const at = recipient.lastIndexOf('@') + 1;
  const domain = at === 0 ? '' : domainToUnicode(recipient.slice(at));
  return domain === '' ? recipient : recipient.slice(0, at) + domain;
}

/** So many of its newest notifications are asked how they spell it, until so many ways are known: each is looked for in base64 by itself. */
const askedRecords = 10_000;
const recordedMax = 20;
const pageRecords = 500;

/** As the records spell it: nobody can tell once it is erased. */
export async function recordedAs(
  reader: ReadModelReader,
  { tenantId, channel, recipient }: Asked,
): Promise<Set<string>> {
  const spellings = new Set<string>();
  let after: readonly FieldValue[] | null = null;
  for (let asked = 0; asked < askedRecords && spellings.size < recordedMax; asked += pageRecords) {
    const page: Page<{ readonly recipient: string }> = await reader.find({
      collection: notificationsCollection.name,
      equals: { tenantId, comparedRecipient: comparedAddress(recipient) },
      order: { fields: ['listedAt'], direction: 'descending' },
      filter: { channel },
      fields: ['recipient'],
      limit: pageRecords,
      ...(after === null ? {} : { after }),
    });
    for (const one of page.documents) spellings.add(one.recipient);
    after = page.next;
    if (after === null) break;
  }
  return spellings;
}

/** Until the job is over: it says how many notifications are erased, then how much of the log is read. @throws StartError when it isn't done */
export async function ended(
  { clock, jobs, log }: Pick<Adapters, 'clock' | 'jobs' | 'log'>,
  { tenantId, id }: { readonly tenantId: TenantId; readonly id: JobId },
): Promise<StoredJob> {
  const progress = createProgress('erase');
  const reading = createProgress('erase: events of the log');
  const partitions = await partitionsInLog(log, tenantId);
  const all = partitions.reduce((sum, { size }) => sum + size, 0);
  let job: StoredJob | null = null;
  do {
    await clock.sleep(lookEveryMs);
    job = await jobs.find(tenantId, id);
    if (job === null) continue;
    const { next } = job.mark;
    if (next.kind === 'log') reading.update(readOf(partitions, next), all);
    else progress.update(job.done, Math.max(job.total, job.done));
  } while (job !== null && job.endedAt === null);
  if (job?.state !== 'done') throw new StartError(`The job ${id} ended as ${job?.state ?? 'forgotten'}: run it again.`);
  progress.end(`${job.done} notifications erased`);
  return job;
}

interface PartitionInLog {
  readonly start: number;
  readonly size: number;
}

/** What an erasure reads, as it is now. */
function partitionsInLog(log: Adapters['log'], tenantId: TenantId): Promise<PartitionInLog[]> {
  const sizeOf = async ({ topic, partition }: ReturnType<typeof placesInLog>[number]) => {
    const [starts, ends] = [await log.starts(topic), await log.ends(topic)];
    const start = starts[partition] ?? 0;
    return { start, size: Math.max(0, (ends[partition] ?? 0) - start) };
  };
  return Promise.all(placesInLog(tenantId, log.partitioning).map(sizeOf));
}

function readOf(
  partitions: readonly PartitionInLog[],
  { place, offset }: { readonly place: number; readonly offset: number },
): number {
  const before = partitions.slice(0, place).reduce((sum, { size }) => sum + size, 0);
  const { start, size } = partitions[place] ?? { start: 0, size: 0 };
  return before + Math.max(0, Math.min(offset - start, size));
}

/** What is left, a line each. */
async function erase(adapters: Adapters, reader: ReadModelReader, asked: Asked & Named): Promise<string[]> {
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
  const job = await ended(adapters, { tenantId, id });
  return [...(await leftInLog(adapters, asked, job.createdAt)), ...(await leftInRecords(reader, asked, job.createdAt))];
}

/** Events as any reader of the log sees them. */
async function leftInLog({ log }: Adapters, asked: Asked & Named, before: number): Promise<string[]> {
  const { tenantId } = asked;
  const lines: string[] = [];
  for (const topic of allTopics) {
    const ends = await log.ends(topic);
    for (const partition of partitionsOfTenant(tenantId, log.partitioning)) {
      let count = 0;
      for await (const { head, event } of log.read({ topic, partition, from: 0, to: ends[partition] ?? 0 }))
        if (head?.tenantId === tenantId && event !== null && event.occurredAt <= before)
          count += isNamedIn(event, asked) ? 1 : 0;
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
