// The log read beside the process that writes it: a read-only connection, which holds nothing up and makes nothing.

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
    const last = db.prepare('SELECT max("offset") AS last FROM events WHERE topic = ? AND "partition" = ?');
    const endOf = (slot: number) =>
      Number(last.get(Math.floor(slot / partitions), slot % partitions)?.['last'] ?? -1) + 1;
    const { rows } = createErasureFeed({
      rows: createRows({ db, catalog, codec }),
      catalog,
      ends: { get: endOf },
    });
    const { read, ends, offsetAt } = readingOf({ catalog, rows, ends: { get: endOf } });
    return { id: meta('id'), partitioning, read, ends, offsetAt, close: async () => db.close() };
  } catch (error) {
    db.close();
    throw error;
  }
}
