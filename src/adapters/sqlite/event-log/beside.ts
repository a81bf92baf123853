// The log read beside the process that writes it: a read-only connection, which holds nothing up and makes nothing.

import type { DatabaseSync } from 'node:sqlite';

import type { Codec } from '../../../codec/index.ts';
import type { EventLog } from '../../../ports/event-log.ts';
import { UnfitFileError } from '../../../ports/unfit-file.ts';
import { openDatabase } from '../sqlite.ts';
import { createCatalog, formatVersion, hasChecksums, topicsOf } from './catalog.ts';
import { createErasureFeed } from './erasure-feed.ts';
import { readingOf } from './reading.ts';
import { createRows } from './rows.ts';

export interface LogBeside extends Pick<EventLog, 'partitioning' | 'read' | 'ends' | 'offsetAt'> {
  /** Made with the log, for good. */
  readonly id: string;
  close(): Promise<void>;
}

/** @throws Error when the file can't be opened; UnfitFileError when another version made it, or it isn't a log */
export function openLogBeside({ path, codec }: { readonly path: string; readonly codec: Codec }): LogBeside {
  const db = openDatabase(path, { readOnly: true, holds: 'meta' });
  try {
    const meta = (key: string): string =>
      String(db.prepare('SELECT value FROM meta WHERE key = ?').get(key)?.['value']);
    if (meta('format') !== formatVersion)
      throw new UnfitFileError(`is of a format that this version of Herald does not read: ${meta('format')}.`);
    if (!hasChecksums(db) || meta('id') === 'undefined')
      throw new UnfitFileError(
        'was made by an earlier version of Herald: start the service once, it brings it up to date.',
      );
    const partitioning = { partitions: Number(meta('partitions')), shards: Number(meta('shards')) };
    const { partitions } = partitioning;
    const catalog = createCatalog(topicsOf(db), partitioning);
    const end = db.prepare(endStatement(db));
    const endOf = (slot: number) => Number(end.get(Math.floor(slot / partitions), slot % partitions)?.['end'] ?? 0);
    const { rows } = createErasureFeed({
      rows: createRows({ db, catalog, codec }),
      catalog,
      ends: { get: endOf },
    });
    const { read, ends, offsetAt } = readingOf({
      catalog,
      rows,
      ends: { get: endOf },
      erasures: codec.erasures,
    });
    return { id: meta('id'), partitioning, read, ends, offsetAt, close: async () => db.close() };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** A partition that retention has emptied ends where it did. */
function endStatement(db: DatabaseSync): string {
  const last = 'coalesce((SELECT max("offset") + 1 FROM events WHERE topic = ?1 AND "partition" = ?2), 0)';
  const isTold = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'trimmed'").get() !== undefined;
  const noted = 'coalesce((SELECT "end" FROM trimmed WHERE topic = ?1 AND "partition" = ?2), 0)';
  return isTold ? `SELECT max(${last}, ${noted}) AS "end"` : `SELECT ${last} AS "end"`;
}
