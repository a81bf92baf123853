// Whether an export is complete: its files are the ones that it wrote, and the log has, counted again, as many events and rows as it says.

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { digestOf } from './files.ts';
import type { Manifest } from './manifest.ts';
import { checkLog, type ExportedLog } from './plan.ts';
import { beginning, usualPieceRows } from './source.ts';
import { sourceOf } from './tables/index.ts';

export interface VerifyOptions {
  readonly log: ExportedLog;
  readonly folder: string;
  readonly manifest: Manifest;
  /** A folder for what a fold has to lay aside; removed. */
  readonly scratch: string;
  onProgress(read: number, total: number): void;
}

/** What is wrong, a sentence each; none: it is complete. @throws ExportRefusedError when it is of another log */
export async function verifyExport(options: VerifyOptions): Promise<readonly string[]> {
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
  return [...ofFiles, ...ofRows, ...(await countAgain(options))];
}

async function countAgain({ log, manifest, scratch, onProgress }: VerifyOptions): Promise<string[]> {
  const ranges = manifest.ranges.map((range) => ({ ...range, events: 0 }));
  const source = sourceOf({ ...manifest, log, ranges, scratch, pieceRows: usualPieceRows });
  let rows = 0;
  let read = 0;
  for await (const piece of source.pieces(beginning)) {
    rows += piece.rows.length;
    read += piece.read;
    onProgress(read, source.total);
  }
  rmSync(scratch, { recursive: true, force: true });
  const ofRanges = ranges.flatMap(({ topic, partition, from, to, events }, i) => {
    const told = manifest.ranges[i]?.events ?? 0;
    if (events === told) return [];
    return [
      `${topic}, partition ${partition} has ${events} events from ${from} to ${to} by now, the manifest says ${told}`,
    ];
  });
  return rows === manifest.rows
    ? ofRanges
    : [...ofRanges, `the log gives ${rows} rows by now, the manifest says ${manifest.rows}`];
}
