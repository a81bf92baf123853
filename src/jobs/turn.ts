// One turn of a job: from its mark on, a page at a time, until it is over, is to stop, or others wait; or the records are too far behind for it to go on.
//
//   records of the page ──> save the plan ──> act ──rate──> the next page: its plan, and what the one before came to, in one write
//
// A plan is in the store before anything of it is in the log, and says in which round each notification was found. So whoever goes on after a crash knows
// from the records, once they have all that the log has, what of it is done; one that was sent again and has failed again isn't sent a third time.

import type { JobStore, ListMark, StoredJob } from '../ports/job-store.ts';
import { StaleOwnerError } from '../ports/job-store.ts';
import { isListed, notificationsCollection } from '../projections/notifications/document.ts';
import type { ListedNotification, NotificationDocument } from '../projections/notifications/document.ts';
import { pageOfStatuses } from '../projections/notifications/queries.ts';
import { holdingOf, withCounts } from './holding.ts';
import { emptyPageRestMs, pageMax, pagesPerSecond, turnMs } from './limits.ts';
import type { LogMark, TakesLong, Work, WorkDependencies } from './work.ts';
import { addedCounts, worksOf } from './work.ts';

export interface TurnDependencies extends WorkDependencies {
  readonly jobs: Pick<JobStore, 'save'>;
  /** Aborts when the process stops: the page in hand is finished. */
  readonly signal: AbortSignal;
}

/**
 * Resolves with the job as it is stored then: over, or queued behind others; or running still, to be laid down with this mark: a read model lacks what it waits for.
 * @throws StaleOwnerError when somebody else has it; whatever the log and the stores say, with the job running and its mark as it was
 */
export async function takeTurn(deps: TurnDependencies, claimed: StoredJob): Promise<StoredJob> {
  const { clock, signal, reader } = deps;
  const { save, moved, over, giveWay, whenRecorded, prolonging } = holdingOf(deps);
  const work = worksOf(deps)[claimed.kind];

  /** What is planned is what these came to, and the plan is empty. */
  const act = async (job: StoredJob, records: readonly ListedNotification[]): Promise<StoredJob> => {
    // Of a process that slept: somebody else may have it.
    if ((job.leaseUntil ?? 0) <= clock.now()) throw new StaleOwnerError(`the lease of job ${job.id} is over`);
    return withCounts(job, addedCounts(job, await work.act(job, records)));
  };

  /** The page that a former owner had in hand, or this one when something failed; of a job that begins, what the one before has appended. */
  const caughtUp = async (job: StoredJob): Promise<StoredJob> => {
    const { planned, next } = job.mark;
    if (planned.length === 0 && (next.kind !== 'first' || job.isStopAsked)) return job;
    const recorded = await whenRecorded(job);
    // One that is to stop ends by what they show.
    if (planned.length === 0 || lacksRecords(recorded)) return recorded;
    const held = await save(recorded);
    const ids = planned.map(({ id }) => id);
    const found = await reader.get<NotificationDocument>(notificationsCollection.name, ids);
    let done = 0;
    const left: ListedNotification[] = [];
    for (const one of planned) {
      const record = found.get(one.id);
      if (record === undefined || !isListed(record) || record.tenantId !== job.tenantId) continue;
      if (work.isDone(record, one)) done++;
      else if (record.round === one.round) left.push(record);
    }
    const counts = { done, skipped: planned.length - done - left.length, failed: 0 };
    const counted = moved(withCounts(held, addedCounts(held, counts)));
    return held.isStopAsked ? counted : act(counted, left);
  };

  const nextPage = async (job: StoredJob) => {
    const { tenantId, filter, ratePerSecond, mark } = job;
    const limit = Math.min(pageMax, Math.max(1, Math.ceil(ratePerSecond / pagesPerSecond)));
    const place = { limit, ...(mark.next.kind === 'after' ? { after: mark.next.key } : {}) };
    const asked = work.filterOf?.(job) ?? filter;
    const { records, next } = await pageOfStatuses(reader, tenantId, asked, work.statuses, place);
    return { records, next: markOf(next, work) };
  };

  /** A piece of what is behind the records. */
  const readOn = async (job: StoredJob, mark: LogMark): Promise<StoredJob> => {
    const takesLong: TakesLong = (doing) => prolonging(job, doing);
    const { next, done } = (await work.readOn?.(job, mark, takesLong)) ?? { next: { kind: 'end' }, done: job.done };
    const read = { ...job, done, mark: { next, planned: [] } };
    return save(lacksFolds(job) && lacksFolds(read) ? read : moved(read));
  };

  let job = await caughtUp(claimed);
  if (lacksRecords(job)) return job;
  const until = clock.monotonic() + turnMs;
  while (!job.isStopAsked && job.mark.next.kind !== 'end' && !signal.aborted && clock.monotonic() < until) {
    if (job.mark.next.kind === 'log') {
      job = await readOn(job, job.mark.next);
      if (lacksFolds(job) && !job.isStopAsked) return job;
      continue;
    }
    const begun = clock.monotonic();
    const { records, next } = await nextPage(job);
    const planned = records.map(({ id, round }) => ({ id, round }));
    const held = await save(moved({ ...job, mark: { next, planned } }));
    // Nothing of the plan is begun.
    if (held.isStopAsked) return over({ ...held, mark: { next, planned: [] } }, 'stopped');
    job = await act(held, records);
    const restMs = records.length === 0 ? emptyPageRestMs : (records.length * 1000) / job.ratePerSecond;
    await clock.sleep(Math.max(0, begun + restMs - clock.monotonic()), signal);
  }
  if (job.isStopAsked) return over(job, 'stopped');
  return job.mark.next.kind === 'end' ? over(job, 'done') : giveWay(job);
}

function lacksRecords({ mark, isStopAsked }: StoredJob): boolean {
  return mark.awaited !== undefined && !isStopAsked;
}

/** Of what it has said in the log behind the records. */
function lacksFolds({ mark: { next } }: StoredJob): boolean {
  return next.kind === 'log' && next.awaited !== undefined;
}

function markOf(next: readonly (string | number | null)[] | null, { readOn }: Work): ListMark {
  if (next !== null) return { kind: 'after', key: next };
  return readOn === undefined ? { kind: 'end' } : { kind: 'log', place: 0, offset: 0 };
}
