// Runs the jobs of all tenants: as many at once as there are places, each for a turn, then whoever has waited longest.

import type { Job } from '../domain/job.ts';
import { filterOnceOver } from '../domain/job.ts';
import type { JobStore, StoredJob } from '../ports/job-store.ts';
import { StaleOwnerError, stillSince } from '../ports/job-store.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { ThreadTurns } from '../ports/thread-turns.ts';
import { createAbandonedLeases } from './abandoned-leases.ts';
import { erasedCount, eventsRead } from './erasure-progress.ts';
import { leaseMs, lookEveryMs, placesMax, stuckMaxMs, troubleRestMs } from './limits.ts';
import type { TurnDependencies } from './turn.ts';
import { takeTurn } from './turn.ts';

export interface RunnerDependencies extends Omit<TurnDependencies, 'signal' | 'jobs'> {
  readonly jobs: JobStore;
  readonly turns: Pick<ThreadTurns, 'as'>;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface JobRunner {
  /** Pages in hand are finished; the jobs go on elsewhere, or at the next start. */
  stop(): Promise<void>;
}

export function runJobs(deps: RunnerDependencies): JobRunner {
  const { jobs, clock, logger, metrics } = deps;
  const abandoned = createAbandonedLeases(deps);
  const stopping = new AbortController();
  let resting = new AbortController();
  for (const state of ['done', 'stopped', 'failed']) metrics.increment('herald_jobs_ended_total', { state }, 0);
  for (const name of [erasedCount, eventsRead] as const) metrics.increment(name, {}, 0);

  const turnOf = async (job: StoredJob): Promise<void> => {
    try {
      const after = await deps.turns.as(job.tenantId, () => takeTurn({ ...deps, signal: stopping.signal }, job));
      if (after.endedAt !== null) return noteEnd(after);
      if (after.state === 'queued') return tell('a job goes on', after);
      tell('a job waits for the records', after);
      await rest(after);
    } catch (err) {
      const { id: jobId, kind } = job;
      if (err instanceof StaleOwnerError) return logger.warn('a job is run by another process', { jobId, kind, err });
      logger.error('a job does not come on; trying again', { jobId, kind, err });
      const stored = await jobs.find(job.tenantId, job.id);
      if (stored !== null && stored.state === 'running' && stored.epoch === job.epoch) await rest(stored);
    }
  };

  /** The lease ends soon; nothing else of it is touched, so that its mark stays, and since when it hasn't moved, but for the time in which nobody tried. */
  const rest = async (job: StoredJob): Promise<void> => {
    const now = clock.now();
    const movedAt = stillSince(job, now);
    const isHopeless = now - movedAt > stuckMaxMs;
    const changes = isHopeless
      ? { state: 'failed' as const, filter: filterOnceOver(job), endedAt: now, turnAt: now, leaseUntil: null }
      : { movedAt, leaseUntil: now + troubleRestMs };
    const after = await jobs.save({ ...job, ...changes });
    if (after.endedAt !== null) noteEnd(after);
  };

  const noteEnd = (job: Job): void => {
    metrics.increment('herald_jobs_ended_total', { state: job.state });
    tell('a job has ended', job);
  };

  /** After each turn, so every 10 s of a long one. */
  const tell = (line: string, job: Job): void => {
    const { id: jobId, tenantId, kind, state, total, done, skipped, failed } = job;
    logger.info(line, { jobId, tenantId, kind, state, total, done, skipped, failed });
  };

  /** Looks for work as long as a place is free: one look for all places, so that what is idle asks the store twice a second. */
  const work = async (): Promise<void> => {
    const under = new Set<Promise<void>>();
    while (!stopping.signal.aborted) {
      const job = under.size < placesMax ? await claimed() : null;
      if (job === null) {
        await placeOrTime(under);
        continue;
      }
      // The store may be away for what is noted of it as well: its lease ends by itself.
      const turn = turnOf(job).catch((err: unknown) => logger.warn('a job could not be noted', { jobId: job.id, err }));
      under.add(turn);
      void turn.then(() => under.delete(turn));
    }
    await Promise.all(under);
  };

  /** Who has had a turn may have another at once. */
  const placeOrTime = async (under: ReadonlySet<Promise<void>>): Promise<void> => {
    if (stopping.signal.aborted) return;
    resting = new AbortController();
    await Promise.race([clock.sleep(lookEveryMs, resting.signal), ...under]);
    resting.abort();
  };

  const claimed = async (): Promise<StoredJob | null> => {
    try {
      const now = clock.now();
      return (await abandoned.claim()) ?? (await jobs.claim(now, now + leaseMs));
    } catch (err) {
      logger.warn('the jobs could not be asked for', { err });
      return null;
    }
  };

  const working = work();
  return {
    async stop() {
      stopping.abort();
      resting.abort();
      await working;
    },
  };
}
