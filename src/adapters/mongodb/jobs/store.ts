// Jobs in MongoDB, for any number of processes: a document each. That a tenant has one running, and no more open than it may, are unique indexes: of all
// who come at once one is first.

import type { Collection, Filter } from 'mongodb';
import { MongoServerError } from 'mongodb';

import type { TenantId, JobId } from '../../../domain/ids.ts';
import { endedJobsKeptMs, endedJobsMax, openJobsMax, wholeTenant } from '../../../domain/job.ts';
import { clocksDifferMs } from '../../../domain/lease.ts';
import type { JobStore, StoredJob } from '../../../ports/job-store.ts';
import { StaleOwnerError } from '../../../ports/job-store.ts';
import type { MongoConnection } from '../connection.ts';

interface JobDocument extends Omit<StoredJob, 'id' | 'filter'> {
  readonly _id: JobId;
  /** JSON text: names in it may have dots and dollar signs. */
  readonly filter: string;
  /** Of the places that a tenant has for jobs which aren't over; absent once it is. */
  readonly place?: number;
  /** For the server to remove it; absent until it is over. */
  readonly forgottenAt?: Date;
}

const name = 'jobs';
/** A primary that hangs is given up: the request is answered within 5 s, two calls of it included. */
const callMaxMs = 2000;
const duplicateKey = 11_000;
const runningMax = 100;
/** Somebody else was first: with whom a claim meets so often in a row, it leaves it until it looks again. */
const claimTriesMax = 5;

/** Makes its collection and indexes; the connection stays open when the store is closed. Rejects when the server is away. */
export async function openMongoJobStore({ connection }: { readonly connection: MongoConnection }): Promise<JobStore> {
  const made = connection.db.collection(name);
  await made.createIndex({ tenantId: 1 }, { unique: true, partialFilterExpression: { state: 'running' } });
  await made.createIndex({ tenantId: 1, place: 1 }, { unique: true, partialFilterExpression: { place: { $gte: 0 } } });
  await made.createIndex({ state: 1, turnAt: 1, _id: 1 });
  await made.createIndex({ tenantId: 1, endedAt: -1 });
  await made.createIndex({ forgottenAt: 1 }, { expireAfterSeconds: 0 });
  const jobs = jobsIn(connection);

  const busyTenants = (): Promise<TenantId[]> => jobs.distinct('tenantId', { state: 'running' });
  const waiting = (busy: readonly TenantId[]): Filter<JobDocument> => ({ state: 'queued', tenantId: { $nin: busy } });
  const inTurn = { turnAt: 1, _id: 1 } as const;

  /** A pipeline: what it says follows from what is stored. */
  const claimedBy = (now: number, leaseUntil: number) => {
    const startedAt = { $ifNull: ['$startedAt', now] };
    // As `stillSince`.
    const untriedMs = { $subtract: [now, { $ifNull: ['$leaseUntil', now] }] };
    const stillSince = { $cond: [{ $gt: [untriedMs, clocksDifferMs] }, { $add: ['$movedAt', untriedMs] }, '$movedAt'] };
    const movedAt = { $cond: [{ $eq: ['$state', 'queued'] }, now, stillSince] };
    const epoch = { $add: ['$epoch', 1] };
    return [{ $set: { state: 'running', leaseUntil, startedAt, movedAt, epoch } }];
  };

  const claimOne = async (now: number, leaseUntil: number): Promise<JobDocument | null> => {
    const claimed = claimedBy(now, leaseUntil);
    const expired = await jobs.findOneAndUpdate({ state: 'running', leaseUntil: { $lte: now } }, claimed, after);
    if (expired !== null) return expired;
    return jobs.findOneAndUpdate(waiting(await busyTenants()), claimed, { ...after, sort: inTurn });
  };

  return {
    async add(job) {
      const { tenantId } = job;
      await forgetSurplus(jobs, tenantId);
      for (;;) {
        const taken = await jobs.distinct('place', { tenantId, place: { $gte: 0 } });
        const place = Array.from({ length: openJobsMax }, (_, i) => i).find((one) => !taken.includes(one));
        if (place === undefined) return false;
        try {
          await jobs.insertOne({ ...documentOf(job), place });
          return true;
        } catch (error) {
          // Stored by a try whose answer was lost; or somebody else has taken the place.
          if (!isDuplicate(error)) throw error;
          if ((await jobs.findOne({ _id: job.id })) !== null) return true;
        }
      }
    },
    ...readingOf(jobs),
    async askStop(tenantId, id, now) {
      const ended = { state: 'stopped', endedAt: now, movedAt: now, forgottenAt: forgottenAt(now) } as const;
      const $set = { isStopAsked: true };
      const unbegun = { _id: id, tenantId, state: 'queued', startedAt: null } as const;
      const stop = [{ $set: { ...$set, ...ended, filter: onceOver } }, { $unset: 'place' }];
      const stopped = await jobs.findOneAndUpdate(unbegun, stop, after);
      if (stopped !== null) return jobOf(stopped);
      const asked = await jobs.findOneAndUpdate({ _id: id, tenantId, endedAt: null }, { $set }, after);
      const found = asked ?? (await jobs.findOne({ _id: id, tenantId }));
      return found === null ? null : jobOf(found);
    },
    async claim(now, leaseUntil) {
      for (let tries = 0; tries < claimTriesMax; tries++) {
        try {
          const claimed = await claimOne(now, leaseUntil);
          return claimed === null ? null : jobOf(claimed);
        } catch (error) {
          // Another job of its tenant was claimed since the running ones were asked for.
          if (!isDuplicate(error)) throw error;
        }
      }
      return null;
    },
    async leasesAfter(time) {
      const projection = { _id: 1, leaseUntil: 1 };
      const found = jobs.find({ state: 'running', leaseUntil: { $gt: time } }, { projection }).limit(runningMax);
      return (await found.toArray()).map(({ _id: id, leaseUntil }) => ({ id, leaseUntil: leaseUntil ?? 0 }));
    },
    async claimFrom({ id, leaseUntil: stood }, now, leaseUntil) {
      const of = { _id: id, state: 'running', leaseUntil: stood } as const;
      const claimed = await jobs.findOneAndUpdate(of, claimedBy(now, leaseUntil), after);
      return claimed === null ? null : jobOf(claimed);
    },
    async save(job) {
      const { isStopAsked: _, ...fields } = documentOf(job);
      const { _id, ...$set } = fields;
      const over = job.endedAt === null ? {} : { $unset: { place: '' as const } };
      const saved = await jobs.findOneAndUpdate({ _id, state: 'running', epoch: job.epoch }, { $set, ...over }, after);
      if (saved === null) throw new StaleOwnerError(`job ${job.id} is not run under epoch ${job.epoch} any more`);
      const { tenantId, turnAt } = job;
      if (job.state !== 'running') await jobs.updateMany({ tenantId, state: 'queued' }, { $set: { turnAt } });
      return jobOf(saved);
    },
    async standing() {
      const projection = { _id: 1, movedAt: 1 };
      const running = await jobs.find({ state: 'running' }, { projection }).limit(runningMax).toArray();
      const queued = await jobs.countDocuments({ state: 'queued' });
      const options = { sort: inTurn, projection: { _id: 1 } };
      const head = queued === 0 ? null : await jobs.findOne(waiting(await busyTenants()), options);
      return { running: running.map(({ _id: id, movedAt }) => ({ id, movedAt })), queued, head: head?._id ?? null };
    },
    async removeAllBut(tenantId, filter) {
      await jobs.deleteMany({ tenantId, filter: { $ne: JSON.stringify(filter) } });
    },
    async close() {
      // The connection is its opener's.
    },
  };
}

/** The jobs of a service that may be running: nothing is made, and nothing written. */
export function openMongoJobsBeside({ connection }: { readonly connection: MongoConnection }): Reading {
  return readingOf(jobsIn(connection));
}

function jobsIn({ db }: MongoConnection): Collection<JobDocument> {
  // What another process has just taken is seen at once, majority or not.
  return db.collection<JobDocument>(name, { timeoutMS: callMaxMs, readConcern: { level: 'local' } });
}

type Reading = Pick<JobStore, 'find' | 'listOpen'>;

function readingOf(jobs: Collection<JobDocument>): Reading {
  return {
    async find(tenantId, id) {
      const found = await jobs.findOne({ _id: id, tenantId });
      return found === null ? null : jobOf(found);
    },
    listOpen: async (tenantId) => (await jobs.find({ tenantId, endedAt: null }).toArray()).map(jobOf),
  };
}

const after = { returnDocument: 'after' } as const;

function isDuplicate(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === duplicateKey;
}

async function forgetSurplus(jobs: Collection<JobDocument>, tenantId: TenantId): Promise<void> {
  const [oldestKept] = await jobs
    .find({ tenantId, endedAt: { $gt: 0 } }, { projection: { endedAt: 1 } })
    .sort({ endedAt: -1 })
    .skip(endedJobsMax - 1)
    .limit(1)
    .toArray();
  const endedAt = oldestKept?.endedAt ?? null;
  if (endedAt !== null) await jobs.deleteMany({ tenantId, endedAt: { $gt: 0, $lt: endedAt } });
}

/** As `filterOnceOver`, of the text that is stored. */
const onceOver = { $cond: [{ $eq: ['$filter', JSON.stringify(wholeTenant)] }, '$filter', '{}'] };

function forgottenAt(endedAt: number): Date {
  return new Date(endedAt + endedJobsKeptMs);
}

function documentOf({ id, filter, ...job }: StoredJob): JobDocument {
  const fields = { _id: id, ...job, filter: JSON.stringify(filter) };
  return { ...fields, ...(job.endedAt === null ? {} : { forgottenAt: forgottenAt(job.endedAt) }) };
}

function jobOf({ _id, filter, place: _place, forgottenAt: _forgottenAt, ...job }: JobDocument): StoredJob {
  return { id: _id, ...job, filter: JSON.parse(filter) as object };
}
