// The statements of a flush, and what its failure means for the events in it.

import type { DatabaseSync } from 'node:sqlite';

import type { AppendResult } from '../../../ports/event-log.ts';
import { checksumOf } from './checksum.ts';
import type { Catalog, SchemaIds } from './catalog.ts';
import type { OwnedCommit } from './claims.ts';

export type FlushFailure = Exclude<AppendResult, { readonly kind: 'durable' }>;

/** Thrown where COMMIT itself failed: what it was to write may have reached the file. */
export class CommitError extends Error {
  readonly errcode: number;

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'CommitError';
    this.errcode = errcodeOf(cause);
  }
}

/** Nothing was written: the lock wasn't had, or a frame before the one that counts didn't fit on the disk (sqlite.org/rescode.html). */
const certainErrcodes = new Set([5, 13]);

export function failureOf(error: unknown, rolledBack: boolean): FlushFailure {
  const certain = rolledBack && (!(error instanceof CommitError) || certainErrcodes.has(error.errcode & 0xff));
  const reason = error instanceof Error ? error.message : String(error);
  return { kind: certain ? 'refused' : 'unknown', reason: `the event log could not be written: ${reason}` };
}

export function createFlushStatements(db: DatabaseSync, catalog: Catalog) {
  const { partitions } = catalog.partitioning;
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  const insert = db.prepare(
    'INSERT INTO events (topic, "partition", "offset", type, schema, appended_at, bytes, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const saveCommit = db.prepare(
    `INSERT INTO commits (consumer_group, "partition", topic, "offset", metadata) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET "offset" = excluded."offset", metadata = excluded.metadata`,
  );
  const last = db.prepare(
    `SELECT max(coalesce((SELECT max("offset") + 1 FROM events WHERE topic = ?1 AND "partition" = ?2), 0),
                coalesce((SELECT "end" FROM trimmed WHERE topic = ?1 AND "partition" = ?2), 0)) AS "end"`,
  );
  const lastAppendedAt = db.prepare('SELECT appended_at FROM events ORDER BY rowid DESC LIMIT 1');
  const writeProbe = db.prepare(
    `INSERT INTO meta (key, value) VALUES ('probe', ?) ON CONFLICT DO UPDATE SET value = excluded.value`,
  );
  const removeProbe = db.prepare(`DELETE FROM meta WHERE key = 'probe'`);
  const topicId = (slot: number) => Math.floor(slot / partitions);

  /** Whether nothing of the transaction is left; SQLite ends it by itself on some failures. */
  const rollBack = (): boolean => {
    try {
      if (db.isTransaction) rollback.run();
      return true;
    } catch {
      return false;
    }
  };

  return {
    begin: () => void begin.run(),
    insert(slot: number, offset: number, ids: SchemaIds, appendedAt: number, bytes: Uint8Array) {
      const place = [topicId(slot), slot % partitions, offset] as const;
      insert.run(...place, ids.type, ids.schema, appendedAt, bytes, checksumOf(ids, bytes));
    },
    saveCommit({ group, partition, commits }: OwnedCommit) {
      for (const { topic, offset, metadata } of commits) {
        saveCommit.run(group, partition, topicId(catalog.slotOf(topic, partition)), offset, metadata);
      }
    },
    commit() {
      try {
        commit.run();
      } catch (error) {
        throw new CommitError(error);
      }
    },
    rollback: rollBack,
    endOf: (slot: number) => Number(last.get(topicId(slot), slot % partitions)?.['end'] ?? 0),
    lastAppendedAt: () => Number(lastAppendedAt.get()?.['appended_at'] ?? 0),
    /** Whether a transaction that writes so many bytes goes through now: what is smaller than events may fit where they don't. */
    probe(bytes: number): boolean {
      try {
        rollBack();
        for (const write of [() => writeProbe.run('x'.repeat(bytes)), () => removeProbe.run()]) {
          begin.run();
          write();
          commit.run();
        }
        return true;
      } catch {
        rollBack();
        return false;
      }
    },
  };
}

function errcodeOf(error: unknown): number {
  return typeof error === 'object' && error !== null && 'errcode' in error ? Number(error.errcode) : 0;
}
