// What a job does to the notifications of a page, by its kind.

import type { Commands } from '../commands/index.ts';
import { DomainError } from '../domain/errors.ts';
import type { JobCounts, JobKind } from '../domain/job.ts';
import type { Status } from '../domain/notification.ts';
import type { TraceContext } from '../domain/trace-context.ts';
import type { Clock } from '../ports/clock.ts';
import type { ErasedBytes } from '../ports/erased-bytes.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { ListMark, PlannedNotification, StoredJob } from '../ports/job-store.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { SecretBox } from '../ports/secret-box.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import type { ListedNotification } from '../projections/notifications/document.ts';
import { notificationsCollection } from '../projections/notifications/document.ts';
import type { NotificationFilter } from '../projections/notifications/filter.ts';
import { notificationsReadModel } from '../projections/notifications/index.ts';
import { waitUntil } from '../projections/wait.ts';
import { erasing } from './erasing.ts';
import { decisionWaitMs } from './limits.ts';

export interface WorkDependencies {
  readonly commands: Pick<
    Commands,
    | 'retryNotification'
    | 'cancelNotification'
    | 'eraseNotifications'
    | 'eraseRecords'
    | 'eraseTenant'
    | 'forgetOfTenant'
  >;
  readonly log: Pick<EventLog, 'ends' | 'read' | 'partitioning' | 'isTenantErased'>;
  readonly secretBox: Pick<SecretBox, 'open'>;
  /** null: what is in the log stays in its bytes until the log's retention ends it. */
  readonly bytes: ErasedBytes | null;
  readonly reader: ReadModelReader;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, 'increment'>;
}

export type LogMark = Extract<ListMark, { readonly kind: 'log' }>;

/** What a piece behind the records came to. */
export interface ReadOn {
  /** Where it goes on. */
  readonly next: ListMark;
  /** How many of the job's notifications are done by now, with those of the records. */
  readonly done: number;
}

/** What may outlast the job's lease is done by this; false: the signal has ended it, since the process stops. */
export type TakesLong = (doing: (signal: AbortSignal) => Promise<void>) => Promise<boolean>;

export interface Work {
  /** Absent: the job's own. */
  filterOf?(job: StoredJob): NotificationFilter;
  /** Those that it is for. */
  readonly statuses: readonly Status[];
  /** Whether the record says that the job has done it, or somebody else the same; only records that have all that the log has can say so. */
  isDone(record: ListedNotification, planned: PlannedNotification): boolean;
  /** Rejects when it isn't known of all of them what they came to: then they are looked at again. */
  act(job: StoredJob, records: readonly ListedNotification[]): Promise<JobCounts>;
  /** What there is to do behind the records, a piece at a time. */
  readOn?(job: StoredJob, mark: LogMark, takesLong: TakesLong): Promise<ReadOn>;
}

const noCounts: JobCounts = { done: 0, skipped: 0, failed: 0 };

export function addedCounts(a: JobCounts, b: JobCounts): JobCounts {
  return { done: a.done + b.done, skipped: a.skipped + b.skipped, failed: a.failed + b.failed };
}

export function worksOf(deps: WorkDependencies): Readonly<Record<JobKind, Work>> {
  return { retry: retrying(deps), cancel: cancelling(deps), erase: erasing(deps) };
}

/** The event's id follows from the notification and the round: the same again, and a person's retry of that round, are one. */
function retrying({ commands }: WorkDependencies): Work {
  return {
    statuses: ['FAILED'],
    isDone: (record, { round }) => record.round > round,
    async act({ trace }, records) {
      const isTaken = await takenOf(records.map((record) => commands.retryNotification(record, trace)));
      return counted(isTaken.map((taken) => (taken ? 'done' : 'skipped')));
    },
  };
}

/** The scheduler decides: one whose attempt has begun meanwhile isn't waiting any more. */
function cancelling({ commands, reader, clock }: WorkDependencies): Work {
  const ask = async (records: readonly ListedNotification[], { traceparent }: TraceContext) => {
    const isTaken = await takenOf(records.map((record) => commands.cancelNotification(record, traceparent)));
    return records.filter((_, i) => isTaken[i] === true);
  };
  /** Beside the documents, which aren't read: it is asked again with each change of the records. */
  const statusesOf = async (records: readonly ListedNotification[]): Promise<(Status | null)[]> => {
    const ids = records.map(({ id }) => id);
    const found = await reader.get<{ readonly status: Status }>(notificationsCollection.name, ids, {
      fields: ['status'],
    });
    return ids.map((id) => found.get(id)?.status ?? null);
  };
  return {
    statuses: ['SCHEDULED', 'RETRYING'],
    isDone: (record) => record.status === 'CANCELLED',
    async act({ trace }, records) {
      const asked = await ask(records, trace);
      let found: readonly (Status | null)[] = [];
      const areDecided = async () => {
        found = await statusesOf(asked);
        return !found.some(isUndecided);
      };
      await waitUntil({ reader, clock }, notificationsReadModel.definition.name, decisionWaitMs, areDecided);
      const tooLate = Array.from({ length: records.length - asked.length }, () => 'skipped' as const);
      return counted([...tooLate, ...found.map(cancelledOr)]);
    },
  };
}

/** Whether each was taken; one that is a refusal of its own was not. Rejects after all have ended. */
async function takenOf(calls: readonly Promise<unknown>[]): Promise<boolean[]> {
  const results = await Promise.allSettled(calls);
  return results.map((result) => {
    if (result.status === 'fulfilled') return true;
    if (result.reason instanceof DomainError && result.reason.code === 'CONFLICT') return false;
    throw result.reason;
  });
}

function cancelledOr(status: Status | null): keyof JobCounts {
  if (status === 'CANCELLED') return 'done';
  return isUndecided(status) ? 'failed' : 'skipped';
}

/** QUEUED: its time has come since, and it is cancelled by whoever has it in hand, unless its attempt begins first. */
function isUndecided(status: Status | null): boolean {
  return status === 'SCHEDULED' || status === 'RETRYING' || status === 'QUEUED';
}

function counted(outcomes: readonly (keyof JobCounts)[]): JobCounts {
  const counts: Record<keyof JobCounts, number> = { ...noCounts };
  for (const outcome of outcomes) counts[outcome]++;
  return counts;
}
