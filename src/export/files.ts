// The files of one round: one, or one for each day or tenant. They are there, whole and on the disk, once the round has ended; until then they end in .tmp.
//
//   events-00001.ndjson      day=2026-11-22/events-00001.ndjson      tenant=tnt_.../events-00001.ndjson

import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readdirSync, readSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

import { assertNever } from '../domain/assert-never.ts';
import type { Row, Table } from './columns.ts';
import { columnAt } from './columns.ts';
import type { Format, OpenPart, Part } from './formats/index.ts';
import type { ExportedFile, Split } from './manifest.ts';
import { sync } from './manifest.ts';

export interface RoundOptions {
  readonly folder: string;
  readonly table: Table;
  readonly format: Format;
  readonly split: Split;
  readonly openPart: OpenPart;
  readonly round: number;
}

export interface Round {
  readonly rows: number;
  add(rows: readonly Row[]): void;
  /** Durable when it returns. */
  end(): ExportedFile[];
}

/** Of what waits in the memory of all files of a round, about. */
const heldBytesMax = 24 * 1024 * 1024;
/** Hive's name for rows that belong nowhere, which DuckDB and Spark read as null. */
const nowhere = '__HIVE_DEFAULT_PARTITION__';

export function beginRound(options: RoundOptions): Round {
  const { folder, table, format, split, openPart, round } = options;
  const name = `${table.name}-${String(round).padStart(5, '0')}.${format}`;
  const folderOf = folderBy(split, table);
  const parts = new Map<string, { readonly part: Part; rows: number }>();
  let rows = 0;

  const partOf = (within: string) => {
    const known = parts.get(within);
    if (known !== undefined) return known;
    mkdirSync(join(folder, within), { recursive: true });
    const opened = { part: openPart(join(folder, within, `${name}.tmp`)), rows: 0 };
    parts.set(within, opened);
    return opened;
  };

  const flushBeyondMax = () => {
    let held = 0;
    for (const { part } of parts.values()) held += part.heldBytes;
    if (held > heldBytesMax) for (const { part } of parts.values()) part.flush();
  };

  return {
    get rows() {
      return rows;
    },
    add(added) {
      for (const row of added) {
        const to = partOf(folderOf(row));
        to.part.add(row);
        to.rows++;
      }
      rows += added.length;
      flushBeyondMax();
    },
    end() {
      const files: ExportedFile[] = [];
      for (const [within, { part, rows }] of parts) {
        const path = join(folder, within, name);
        part.end();
        sync(`${path}.tmp`);
        renameSync(`${path}.tmp`, path);
        sync(dirname(path));
        files.push({ path: relative(folder, path).split(sep).join('/'), rows, ...digestOf(path) });
      }
      return files;
    },
  };
}

/** Leaves of an export's folder what the given files say; the rest was of a round that didn't come to its end. */
export function sweep(folder: string, { name }: Table, files: readonly ExportedFile[]): void {
  const kept = new Set(files.map(({ path }) => path));
  const ours = new RegExp(`^(?:${name}-\\d{5,}\\.[a-z]+(?:\\.tmp)?|(?:manifest|progress)\\.json\\.tmp)$`);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || !ours.test(entry.name) || kept.has(relative(folder, path).split(sep).join('/'))) continue;
    rmSync(path);
  }
}

/** Of what the disk has, not of what was written to it. @throws Error when it isn't there or can't be read */
export function digestOf(path: string): { readonly bytes: number; readonly sha256: string } {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(readBytes);
  const file = openSync(path, 'r');
  try {
    let bytes = 0;
    for (;;) {
      const read = readSync(file, buffer);
      if (read === 0) return { bytes, sha256: hash.digest('hex') };
      hash.update(buffer.subarray(0, read));
      bytes += read;
    }
  } finally {
    closeSync(file);
  }
}

const readBytes = 1024 * 1024;

/** In Hive's form, which DuckDB and Spark read as a column. */
function folderBy(split: Split, table: Table): (row: Row) => string {
  switch (split) {
    case 'none':
      return () => '';
    case 'day': {
      const at = columnAt(table, table.day);
      return (row) => `day=${dayOf(row[at])}`;
    }
    case 'tenant': {
      const at = columnAt(table, table.tenant);
      return (row) => `tenant=${typeof row[at] === 'string' ? encodeURIComponent(row[at]) : nowhere}`;
    }
    default:
      return assertNever(split);
  }
}

function dayOf(time: Row[number] | undefined): string {
  return typeof time === 'number' ? new Date(time).toISOString().slice(0, 10) : nowhere;
}
