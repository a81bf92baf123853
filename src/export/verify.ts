// Whether an export is complete: its files are the ones that it wrote, and the log has, counted again, as many events and rows as it says. What retention has
// taken from the log since, the export holds nevertheless; what was erased since, it should not.

import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { erasedSince, type ErasedSince } from './erased-since.ts';
import { digestOf } from './files.ts';
import { asOfOf, type Manifest } from './manifest.ts';
import { checkLog, endsBefore, type ExportedLog } from './plan.ts';
import { beginning, usualPieceRows } from './source.ts';
import { sourceOf } from './tables/index.ts';

export interface VerifyOptions {
  readonly log: ExportedLog;
  readonly folder: string;
  readonly manifest: Manifest;
  /** A folder for what a fold has to lay aside. */
  readonly scratch: string;
  onProgress(read: number, total: number): void;
}

export interface Verified {
  /** A sentence each; none: it is complete. */
  readonly wrong: readonly string[];
  /** Events that it was made of and that the log has no more: of those that are left nothing is missing. */
  readonly deletedEvents: number;
  /** Rows that hold what was erased since it was begun, as far as the log still has them. */
  readonly erasedRows: number;
  /** Erased since it was begun: it may have rows of them. */
  readonly erasedTenants: number;
}

interface Counted {
  readonly ranges: Manifest['ranges'];
  readonly rows: number;
  readonly erasedRows: number;
  /** Of what it was made of some is gone. */
  readonly isShortened: boolean;
}

/** @throws ExportRefusedError when it is of another log */
export async function verifyExport(options: VerifyOptions): Promise<Verified> {
  const { log, folder, manifest } = options;
  checkLog(log, manifest);
  const ofFiles = manifest.files.flatMap(({ path, sha256 }) => {
    if (!existsSync(join(folder, path))) return [`${path} is not there`];
    const found = digestOf(join(folder, path)).sha256;
    return found === sha256 ? [] : [`${path} is not what was written: its SHA-256 is ${found}`];
  });
  const inFiles = manifest.files.reduce((sum, { rows }) => sum + rows, 0);
  const ofRows =
    inFiles === manifest.rows ? [] : [`the files have ${inFiles} rows, the manifest says ${manifest.rows}`];
  const since = await erasedSince(log, manifest);
  const counted = await countAgain(options, since);
  return {
    wrong: [...ofFiles, ...ofRows, ...(await problemsOf(log, manifest, counted))],
    deletedEvents: manifest.ranges.reduce((sum, { events }, i) => sum + events - (counted.ranges[i]?.events ?? 0), 0),
    erasedRows: counted.erasedRows,
    erasedTenants: since.tenants,
  };
}

async function countAgain(
  { log, manifest, scratch, onProgress }: VerifyOptions,
  { isErased }: ErasedSince,
): Promise<Counted> {
  const ranges = manifest.ranges.map((range) => ({ ...range, events: 0 }));
  const source = sourceOf({ ...manifest, asOf: asOfOf(manifest), log, ranges, scratch, pieceRows: usualPieceRows });
  let [rows, erasedRows, read] = [0, 0, 0];
  for await (const piece of source.pieces(beginning)) {
    rows += piece.rows.length;
    for (const row of piece.rows) if (isErased(row)) erasedRows++;
    read += piece.read;
    onProgress(read, source.total);
  }
  return { ranges, rows, erasedRows, isShortened: source.deleted() > 0 };
}

/** Fewer than it says there may be, once retention has ended for the others; more never. */
async function problemsOf(log: ExportedLog, manifest: Manifest, counted: Counted): Promise<string[]> {
  const ends = new Map(
    (await endsBefore(log, manifest.ranges)).map(({ topic, partition, end }) => [`${topic} ${partition}`, end]),
  );
  const ofRanges = manifest.ranges.flatMap(({ topic, partition, from, to, events }, i) => {
    const end = ends.get(`${topic} ${partition}`);
    const place = `${topic}, partition ${partition}`;
    if (end !== undefined)
      return [`${place} ends at ${end}, and the export goes on to ${to}: the log was put back from a backup since`];
    const found = counted.ranges[i]?.events ?? 0;
    if (found <= events && events <= to - from) return [];
    return [`${place} has ${found} events from ${from} to ${to} by now, the manifest says ${events}`];
  });
  const isExplained = counted.rows <= manifest.rows && counted.isShortened;
  return counted.rows === manifest.rows || isExplained
    ? ofRanges
    : [...ofRanges, `the log gives ${counted.rows} rows by now, the manifest says ${manifest.rows}`];
}
