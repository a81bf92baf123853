// The files of one round: one, or one for each day or tenant, and further ones where their footers would take too much memory. They are there, whole and on
// the disk, once the round has ended; until then they end in .tmp.
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
  /** Of the first files. */
  readonly number: number;
}

export interface Round {
  readonly rows: number;
  /** Of the next round's files. */
  readonly nextNumber: number;
  add(rows: readonly Row[]): void;
  /** Durable when it returns. */
  end(): ExportedFile[];
}

/** Of what waits in the memory of all files of a round, about. */
const heldBytesMax = 24 * 1024 * 1024;
/** Of what stays in memory until the files end, of all of them: some 1,900 groups of rows of events, 750 of notifications. */
const footerBytesMax = 32 * 1024 * 1024;
/** Hive's name for rows that belong nowhere, which DuckDB and Spark read as null. */
const nowhere = '__HIVE_DEFAULT_PARTITION__';

export function beginRound(options: RoundOptions): Round {
  const { folder, table, format, split, openPart } = options;
  const folderOf = folderBy(split, table);
  const open = new Map<string, { readonly path: string; readonly part: Part; rows: number }>();
  const ended: { readonly path: string; readonly rows: number }[] = [];
  let { number } = options;
  let rows = 0;

  const partOf = (within: string) => {
    const known = open.get(within);
    if (known !== undefined) return known;
    mkdirSync(join(folder, within), { recursive: true });
    const path = join(folder, within, `${table.name}-${String(number).padStart(5, '0')}.${format}`);
    const opened = { path, part: openPart(`${path}.tmp`), rows: 0 };
    open.set(within, opened);
    return opened;
  };

  /** The fullest first: a group of rows is the better the larger it is. */
  const flushBeyondMax = () => {
    const parts = [...open.values()].map(({ part }) => part);
    let held = parts.reduce((sum, { heldBytes }) => sum + heldBytes, 0);
    if (held <= heldBytesMax) return;
    for (const part of parts.sort((one, other) => other.heldBytes - one.heldBytes)) {
      if (held <= heldBytesMax / 2) return;
      held -= part.heldBytes;
      part.flush();
    }
  };

  const endFiles = () => {
    for (const [within, { path, part, rows }] of open) {
      part.end();
      open.delete(within);
      ended.push({ path, rows });
    }
    number++;
  };

  return {
    get rows() {
      return rows;
    },
    get nextNumber() {
      return number;
    },
    add(added) {
      for (const row of added) {
        const to = partOf(folderOf(row));
        to.part.add(row);
        to.rows++;
      }
      rows += added.length;
      flushBeyondMax();
      let footerBytes = 0;
      for (const { part } of open.values()) footerBytes += part.footerBytes;
      if (footerBytes > footerBytesMax) endFiles();
    },
    end() {
      if (open.size > 0) endFiles();
      return ended.map(({ path, rows }) => {
        sync(`${path}.tmp`);
        renameSync(`${path}.tmp`, path);
        sync(dirname(path));
        return { path: relative(folder, path).split(sep).join('/'), rows, ...digestOf(path) };
      });
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
