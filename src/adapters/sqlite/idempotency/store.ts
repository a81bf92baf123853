// idempotency.db: the keys of the last 24 h. NORMAL: what a power cut takes is found again in the records, so no request waits for the disk twice.
//
// A batch's keys come together: those of one turn of the event loop share a transaction, which costs as much as ten of them.
//
// One process at a time opens it to serve: what a former one had under way is nobody's any more.

import type { SQLOutputValue } from 'node:sqlite';

import { keyLifetimeMs } from '../../../domain/idempotency.ts';
import type { BatchId, NotificationId, TenantId } from '../../../domain/ids.ts';
import type { Position } from '../../../ports/event-log.ts';
import type { IdempotencyStore, KeyEntry, KeyPlace } from '../../../ports/idempotency-store.ts';
import { type Connection, openConnection } from '../connection.ts';
import type { LogHistory, Reach } from '../event-log/history.ts';
import { createGroupedTransactions } from '../grouped-transactions.ts';

export interface IdempotencyStoreOptions {
  readonly path: string;
  /** Of the log that the notifications are in: entries of another one are removed, and those of a time that it doesn't have. */
  readonly history: Pick<LogHistory, 'id' | 'opening' | 'reachOf'>;
}

/** A key comes with each call and up to so many go: the file doesn't grow beyond the keys of 24 h, and no call takes over a millisecond for it. */
const forgottenPerCallMax = 50;
/** SQLITE_CORRUPT. https://www.sqlite.org/rescode.html#corrupt */
const corrupt = 11;
/** A ms or two, before whoever else has his turn. */
const removedPerStep = 200;
/** More than are settled in the moment between an append and its settling, whoever comes at once. */
const settledMeanwhileMax = 10_000;
/** 2 ms: a batch has 500 keys at once. */
const worksPerTurn = 50;

/** @throws Error when the file can't be opened */
export function openIdempotencyStore({ path, history }: IdempotencyStoreOptions): IdempotencyStore {
  const connection = openConnection(path, { synchronous: 'NORMAL', holds: 'idempotency' });
  connection.db.exec(schemaSql);
  const columns = connection.db.prepare('PRAGMA table_info(keys)').all();
  if (!columns.some(({ name }) => name === 'batch_id')) connection.db.exec('ALTER TABLE keys ADD COLUMN batch_id TEXT');
  const gone = goneFrom(connection, history);
  connection.transaction(() => begin(connection, history, gone));
  const transactions = createGroupedTransactions(connection, worksPerTurn);
  return {
    async reserve(entry, now) {
      let held: KeyEntry | null = null;
      await transactions.run(() => {
        connection.statement(forgetSql).run(now, forgottenPerCallMax);
        held = entryAt(connection, entry, now);
        if (held === null) put(connection, entry);
      });
      return held;
    },
    find: async (place, now) => entryAt(connection, place, now),
    async takeOver({ tenantId, keyHash, notificationId, leaseUntil: before }, leaseUntil) {
      const { changes } = connection
        .statement(takeOverSql)
        .run(leaseUntil, tenantId, keyHash, notificationId, before ?? -1);
      return changes === 1;
    },
    settle: (entry) => transactions.run(() => put(connection, entry)),
    async release({ tenantId, keyHash, notificationId, leaseUntil }) {
      connection.statement(releaseSql).run(tenantId, keyHash, notificationId, leaseUntil ?? -1);
    },
    async removeTenant(tenantId) {
      while (Number(connection.statement(removeTenantSql).run(tenantId, removedPerStep).changes) > 0)
        await new Promise((resolve) => setImmediate(resolve));
    },
    async close() {
      connection.close();
    },
  };
}

/** Of a log that nobody writes any more, to be copied: as they hold, and no more of another log or of a time that this one doesn't have. */
export interface KeysBeside {
  /** Those that hold at `now`, some at a time; of what was under way nobody has the lease. */
  pages(now: number): Iterable<readonly KeyEntry[]>;
  close(): void;
}

/** Its file is read alone. @throws Error when it can't be opened */
export function openKeysBeside({ path }: Pick<IdempotencyStoreOptions, 'path'>, log: KeysOf): KeysBeside {
  const connection = openConnection(path, { readOnly: true, holds: 'idempotency' });
  const known = connection.statement('SELECT log_id FROM idempotency').get()?.['log_id'];
  const isInLog = ({ position }: KeyEntry) =>
    position === null || position.offset < (log.ends.get(position.topic)?.[position.partition] ?? 0);
  return {
    *pages(now) {
      if (known !== log.id) return;
      for (let after = 0; ;) {
        const rows = connection.statement(pageSql).all(after, now, keysPerPage);
        if (rows.length === 0) return;
        after = Number(rows.at(-1)?.['rowid']);
        const entries = rows.map(entryOf).filter(isInLog);
        yield entries.map((entry) => (entry.leaseUntil === null ? entry : { ...entry, leaseUntil: 0 }));
      }
    },
    close: () => connection.close(),
  };
}

interface KeysOf {
  readonly id: string;
  /** How far it goes. */
  readonly ends: Reach;
}

/** As many as a batch has. */
const keysPerPage = 500;
const pageSql = 'SELECT rowid, * FROM keys WHERE rowid > ? AND expires_at > ? ORDER BY rowid LIMIT ?';

const schemaSql = `
  CREATE TABLE IF NOT EXISTS idempotency (one INTEGER PRIMARY KEY CHECK (one = 1), log_id TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS opened (one INTEGER PRIMARY KEY CHECK (one = 1), opening TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS keys (
    tenant_id TEXT NOT NULL,
    key_hash TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    notification_id TEXT NOT NULL,
    requested_at INTEGER NOT NULL,
    lease_until INTEGER,
    position TEXT,
    expires_at INTEGER NOT NULL,
    batch_id TEXT,
    PRIMARY KEY (tenant_id, key_hash)
  );
  CREATE INDEX IF NOT EXISTS keys_by_expiry ON keys (expires_at);
  CREATE INDEX IF NOT EXISTS keys_under_way ON keys (lease_until) WHERE lease_until IS NOT NULL;`;

/** Rows of what a log that was put back from an earlier time doesn't have; all where nothing is known of that time. */
type Gone = 'all' | readonly number[];

function goneFrom(connection: Connection, history: IdempotencyStoreOptions['history']): Gone {
  const known = connection.statement('SELECT log_id FROM idempotency').get()?.['log_id'];
  const opening = connection.statement('SELECT opening FROM opened').get()?.['opening'];
  if (known !== history.id) return 'all';
  // Of a file from before openings were noted nothing is known.
  if (opening === undefined) return [];
  const reach = history.reachOf(String(opening));
  if (reach === null) return 'all';
  try {
    return beyond(connection, reach);
  } catch (error) {
    // A damaged page is told of once somebody asks for a key of it: it doesn't stop the start.
    if (error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === corrupt) return [];
    throw error;
  }
}

/** From what was settled last back: what lies behind so many that are in the log is there too. */
function beyond(connection: Connection, reach: Reach): readonly number[] {
  const found: number[] = [];
  let there = 0;
  const lastSettledFirst = 'SELECT rowid, position FROM keys WHERE position IS NOT NULL ORDER BY rowid DESC';
  for (const [row, text] of connection.eachRow(lastSettledFirst, [])) {
    const { topic, partition, offset } = JSON.parse(String(text)) as Position;
    if (offset >= (reach.get(topic)?.[partition] ?? 0)) found.push(Number(row));
    else if (++there > settledMeanwhileMax) break;
  }
  return found;
}

function begin(connection: Connection, history: IdempotencyStoreOptions['history'], gone: Gone): void {
  if (gone === 'all') connection.statement('DELETE FROM keys').run();
  else for (const row of gone) connection.statement('DELETE FROM keys WHERE rowid = ?').run(row);
  const sql = 'INSERT INTO idempotency (one, log_id) VALUES (1, ?) ON CONFLICT DO UPDATE SET log_id = excluded.log_id';
  connection.statement(sql).run(history.id);
  connection.statement('REPLACE INTO opened (one, opening) VALUES (1, ?)').run(history.opening);
  connection.statement('UPDATE keys SET lease_until = 0 WHERE lease_until > 0').run();
}

const forgetSql =
  'DELETE FROM keys WHERE rowid IN (SELECT rowid FROM keys INDEXED BY keys_by_expiry WHERE expires_at <= ? LIMIT ?)';
const removeTenantSql = 'DELETE FROM keys WHERE rowid IN (SELECT rowid FROM keys WHERE tenant_id = ? LIMIT ?)';
const ofEntry = 'tenant_id = ? AND key_hash = ? AND notification_id = ? AND lease_until = ?';
const takeOverSql = `UPDATE keys SET lease_until = ? WHERE ${ofEntry}`;
const releaseSql = `DELETE FROM keys WHERE ${ofEntry}`;
/** Replaced, not changed in place: rows stand in the order in which they were settled. */
const putSql = `
  REPLACE INTO keys (tenant_id, key_hash, fingerprint, notification_id, requested_at, lease_until, position, expires_at, batch_id)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

function put(connection: Connection, entry: KeyEntry): void {
  const { tenantId, keyHash, fingerprint, notificationId, requestedAt, leaseUntil, position, batchId } = entry;
  connection
    .statement(putSql)
    .run(
      tenantId,
      keyHash,
      fingerprint,
      notificationId,
      requestedAt,
      leaseUntil,
      position === null ? null : JSON.stringify(position),
      requestedAt + keyLifetimeMs,
      batchId,
    );
}

function entryAt(connection: Connection, { tenantId, keyHash }: KeyPlace, now: number): KeyEntry | null {
  const sql = 'SELECT * FROM keys WHERE tenant_id = ? AND key_hash = ? AND expires_at > ?';
  const row = connection.statement(sql).get(tenantId, keyHash, now);
  return row === undefined ? null : entryOf(row);
}

function entryOf(row: Readonly<Record<string, SQLOutputValue>>): KeyEntry {
  // A file of before that is only read has no batches.
  const { lease_until: leaseUntil, position, batch_id: batchId = null } = row;
  return {
    tenantId: String(row['tenant_id']) as TenantId,
    keyHash: String(row['key_hash']),
    fingerprint: String(row['fingerprint']),
    notificationId: String(row['notification_id']) as NotificationId,
    batchId: batchId === null ? null : (String(batchId) as BatchId),
    requestedAt: Number(row['requested_at']),
    leaseUntil: leaseUntil === null ? null : Number(leaseUntil),
    position: position === null ? null : (JSON.parse(String(position)) as Position),
  };
}
