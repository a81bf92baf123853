// jobs.db: a row for each job, its document as JSON beside what is asked for. FULL: a plan that a power cut took would be made anew after what it planned.
//
// One process at a time opens it to serve: what a former one ran goes on at once.

import type { JobId, TenantId } from '../../../domain/ids.ts';
import { endedJobsKeptMs, endedJobsMax, filterOnceOver, openJobsMax } from '../../../domain/job.ts';
import type { JobStore, StoredJob } from '../../../ports/job-store.ts';
import { StaleOwnerError, stillSince } from '../../../ports/job-store.ts';
import { type Connection, openConnection } from '../connection.ts';

export interface JobStoreOptions {
  readonly path: string;
  /** The id of the log that the jobs are about: those of another one are removed. */
  readonly logId: string;
}

/** @throws Error when the file can't be opened */
export function openJobStore({ path, logId }: JobStoreOptions): JobStore {
  const connection = openConnection(path, { synchronous: 'FULL', holds: 'jobs_of' });
  connection.db.exec(schemaSql);
  connection.transaction(() => begin(connection, logId));
  const { statement, transaction } = connection;
  return {
    add: async (job) =>
      transaction(() => {
        statement(forgetSql).run(job.createdAt - endedJobsKeptMs, forgottenPerCallMax);
        statement(surplusSql).run(job.tenantId, endedJobsMax);
        const open = Number(statement(openSql).get(job.tenantId)?.['open'] ?? 0);
        if (open >= openJobsMax) return false;
        put(connection, job);
        return true;
      }),
    ...readingOf(connection),
    askStop: async (tenantId, id, now) =>
      transaction(() => {
        const job = jobAt(connection, tenantId, id);
        if (job === null || job.endedAt !== null) return job;
        const stopped: StoredJob =
          job.startedAt === null
            ? { ...job, filter: filterOnceOver(job), isStopAsked: true, state: 'stopped', endedAt: now, movedAt: now }
            : { ...job, isStopAsked: true };
        put(connection, stopped);
        return stopped;
      }),
    claim: async (now, leaseUntil) =>
      transaction(() => {
        const row = statement(expiredSql).get(now) ?? statement(headSql).get();
        return row === undefined ? null : claimed(connection, row, { now, leaseUntil });
      }),
    leasesAfter: async (time) =>
      statement(leasesSql)
        .all(time)
        .map((row) => ({ id: String(row['id']) as JobId, leaseUntil: Number(row['lease_until']) })),
    claimFrom: async ({ id, leaseUntil: stood }, now, leaseUntil) =>
      transaction(() => {
        const row = statement(leasedSql).get(id, stood);
        return row === undefined ? null : claimed(connection, row, { now, leaseUntil });
      }),
    save: async (job) =>
      transaction(() => {
        const stored = jobAt(connection, job.tenantId, job.id);
        if (stored === null || stored.state !== 'running' || stored.epoch !== job.epoch)
          throw new StaleOwnerError(`job ${job.id} is not run under epoch ${job.epoch} any more`);
        const saved = { ...job, isStopAsked: stored.isStopAsked };
        put(connection, saved);
        if (job.state !== 'running') statement(behindSql).run(job.turnAt, job.tenantId);
        return saved;
      }),
    async standing() {
      const running = statement(runningSql).all();
      const queued = Number(statement(queuedSql).get()?.['queued'] ?? 0);
      const head = statement(headSql).get();
      return {
        running: running.map((row) => ({ id: String(row['id']) as JobId, movedAt: Number(row['moved_at']) })),
        queued,
        head: head === undefined ? null : (String(head['id']) as JobId),
      };
    },
    async removeAllBut(tenantId, filter) {
      statement(removeSql).run(tenantId, JSON.stringify(filter));
    },
    async close() {
      connection.close();
    },
  };
}

/** The jobs of a service that may be running: its file is read alone. @throws Error when the file can't be opened */
export function openJobsBeside({ path }: Pick<JobStoreOptions, 'path'>): Reading & Pick<JobStore, 'close'> {
  const connection = openConnection(path, { readOnly: true, holds: 'jobs_of' });
  return { ...readingOf(connection), close: async () => connection.close() };
}

type Reading = Pick<JobStore, 'find' | 'listOpen'>;

function readingOf(connection: Connection): Reading {
  return {
    find: async (tenantId, id) => jobAt(connection, tenantId, id),
    listOpen: async (tenantId) => connection.statement(listOpenSql).all(tenantId).map(jobOf),
  };
}

/** A call takes no longer than a few ms for what is to be forgotten. */
const forgottenPerCallMax = 50;

/** `turn_at` and `lease_until` count in place of what the document says: they are changed without it. */
const schemaSql = `
  CREATE TABLE IF NOT EXISTS jobs_of (one INTEGER PRIMARY KEY CHECK (one = 1), log_id TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    state TEXT NOT NULL,
    turn_at INTEGER NOT NULL,
    lease_until INTEGER,
    moved_at INTEGER NOT NULL,
    ended_at INTEGER,
    document TEXT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS jobs_queued ON jobs (turn_at, id) WHERE state = 'queued';
  CREATE UNIQUE INDEX IF NOT EXISTS jobs_running ON jobs (tenant_id) WHERE state = 'running';
  CREATE INDEX IF NOT EXISTS jobs_of_tenant ON jobs (tenant_id, ended_at, id);
  CREATE INDEX IF NOT EXISTS jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;`;

function begin(connection: Connection, logId: string): void {
  const known = connection.statement('SELECT log_id FROM jobs_of').get()?.['log_id'];
  if (known !== logId) connection.statement('DELETE FROM jobs').run();
  const sql = 'INSERT INTO jobs_of (one, log_id) VALUES (1, ?) ON CONFLICT DO UPDATE SET log_id = excluded.log_id';
  connection.statement(sql).run(logId);
  connection.statement("UPDATE jobs SET lease_until = 0 WHERE state = 'running'").run();
}

const forgetSql = 'DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE ended_at <= ? LIMIT ?)';
const surplusSql = `DELETE FROM jobs WHERE id IN
  (SELECT id FROM jobs WHERE tenant_id = ? AND ended_at IS NOT NULL ORDER BY ended_at DESC, id DESC LIMIT -1 OFFSET ?)`;
const removeSql = "DELETE FROM jobs WHERE tenant_id = ? AND json_extract(document, '$.filter') <> ?";
const openSql = 'SELECT count(*) AS open FROM jobs WHERE tenant_id = ? AND ended_at IS NULL';
const listOpenSql = 'SELECT * FROM jobs WHERE tenant_id = ? AND ended_at IS NULL';
const expiredSql = "SELECT * FROM jobs WHERE state = 'running' AND lease_until <= ? ORDER BY lease_until, id LIMIT 1";
const leasesSql = "SELECT id, lease_until FROM jobs WHERE state = 'running' AND lease_until > ? ORDER BY id LIMIT 100";
const leasedSql = "SELECT * FROM jobs WHERE state = 'running' AND id = ? AND lease_until = ?";
const headSql = `SELECT * FROM jobs WHERE state = 'queued'
  AND tenant_id NOT IN (SELECT tenant_id FROM jobs WHERE state = 'running') ORDER BY turn_at, id LIMIT 1`;
const behindSql = "UPDATE jobs SET turn_at = ? WHERE tenant_id = ? AND state = 'queued'";
const runningSql = "SELECT id, moved_at FROM jobs WHERE state = 'running' ORDER BY moved_at, id LIMIT 100";
const queuedSql = "SELECT count(*) AS queued FROM jobs WHERE state = 'queued'";
const putSql = `
  INSERT INTO jobs (id, tenant_id, state, turn_at, lease_until, moved_at, ended_at, document) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET state = excluded.state, turn_at = excluded.turn_at, lease_until = excluded.lease_until,
    moved_at = excluded.moved_at, ended_at = excluded.ended_at, document = excluded.document`;

function put(connection: Connection, job: StoredJob): void {
  const { id, tenantId, state, turnAt, leaseUntil, movedAt, endedAt } = job;
  connection.statement(putSql).run(id, tenantId, state, turnAt, leaseUntil, movedAt, endedAt, JSON.stringify(job));
}

function claimed(
  connection: Connection,
  row: Row,
  { now, leaseUntil }: { readonly now: number; readonly leaseUntil: number },
): StoredJob {
  const job = jobOf(row);
  const running: StoredJob = {
    ...job,
    state: 'running',
    startedAt: job.startedAt ?? now,
    // By the lease that its last owner had: a start has ended it since.
    movedAt: job.state === 'queued' ? now : stillSince(documentIn(row), now),
    leaseUntil,
    epoch: job.epoch + 1,
  };
  put(connection, running);
  return running;
}

function jobAt(connection: Connection, tenantId: TenantId, id: JobId): StoredJob | null {
  const row = connection.statement('SELECT * FROM jobs WHERE id = ? AND tenant_id = ?').get(id, tenantId);
  return row === undefined ? null : jobOf(row);
}

type Row = Readonly<Record<string, unknown>>;

/** As it was written last. */
function documentIn(row: Row): StoredJob {
  return JSON.parse(String(row['document'])) as StoredJob;
}

function jobOf(row: Row): StoredJob {
  const { lease_until: leaseUntil } = row;
  return {
    ...documentIn(row),
    turnAt: Number(row['turn_at']),
    leaseUntil: leaseUntil === null ? null : Number(leaseUntil),
  };
}
