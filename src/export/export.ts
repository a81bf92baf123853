// Exports a table of the log into a folder, in rounds. What a round has written counts once progress.json says so; killed, the next run begins with the
// round that hadn't ended: no row is missing, none is there twice.
//
//   ranges ──> source ──pieces──> round (files) ──full──> rename, progress.json ──> next round ... ──> manifest.json

import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { settingsTopic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { TableName } from './columns.ts';
import { beginRound, sweep } from './files.ts';
import type { Filter } from './filter.ts';
import { type Format, partsOf } from './formats/index.ts';
import type { Manifest, Progress, Split } from './manifest.ts';
import {
  asOfOf,
  ExportRefusedError,
  manifestFile,
  progressFile,
  readManifest,
  readProgress,
  writeManifest,
  writeProgress,
} from './manifest.ts';
import { knownUpTo, checkEnds, checkLog, type ExportedLog, rangesOf } from './plan.ts';
import { beginning, usualPieceRows } from './source.ts';
import { sourceOf, tables } from './tables/index.ts';

/** What is asked for. */
export interface Asked {
  readonly table: TableName;
  readonly filter: Filter;
  /** UTC ms of the append; null: from the log's beginning, to its end. */
  readonly from: number | null;
  readonly to: number | null;
  /** The last export: this one goes on where it ended. */
  readonly since: { readonly manifest: Manifest; readonly text: string } | null;
}

export interface ExportOptions extends Asked {
  readonly log: ExportedLog;
  readonly clock: Pick<Clock, 'now'>;
  readonly folder: string;
  readonly format: Format;
  readonly split: Split;
  /** A round ends with so many. */
  readonly roundRows: number;
  onProgress(read: number, total: number): void;
}

/** What folds need on the disk while they run, in the export's folder. */
const scratchFolder = '.scratch';
/** So many events for each row that fits: where few rows are asked for, what was read through isn't read again. */
const readPerRow = 10;
/** Of the process that holds the folder. */
const lockFiles = ['lock.db', 'lock.db-journal', 'lock.pid'];

/** @throws ExportRefusedError when the folder isn't empty, and holds no export of this log that this is the rest of; Error when something can't be read or written */
export async function exportToFolder(options: ExportOptions): Promise<Manifest> {
  const { folder, log, clock, onProgress } = options;
  mkdirSync(folder, { recursive: true });
  const state = (await resumed(options)) ?? (await begun(options));
  const table = tables[state.table];
  sweep(folder, table, state.files);
  const scratch = join(folder, scratchFolder);
  const pieceRows = Math.min(usualPieceRows, options.roundRows);
  const source = sourceOf({ ...state, asOf: asOfOf(state), log, scratch, pieceRows });
  const openPart = await partsOf(state.format, table.columns);
  const roundOf = ({ round }: Progress) => beginRound({ ...state, folder, table, openPart, number: round });
  let read = state.ranges.reduce((sum, { events }) => sum + events, 0);
  let round = roundOf(state);
  let readOfRound = 0;

  const endRound = (next: Progress['next']) => {
    const files = round.end();
    state.files.push(...files);
    state.rows += round.rows;
    state.next = next;
    state.round = round.nextNumber;
    writeProgress(folder, state);
    round = roundOf(state);
    readOfRound = 0;
  };

  for await (const piece of source.pieces(state.next)) {
    round.add(piece.rows);
    read += piece.read;
    readOfRound += piece.read;
    onProgress(Math.min(read, source.total), source.total);
    const isFull = round.rows >= options.roundRows || readOfRound >= options.roundRows * readPerRow;
    if (isFull && piece.next !== null) endRound(piece.next);
  }
  if (round.rows > 0) endRound({ unit: Number.MAX_SAFE_INTEGER, at: 0 });
  rmSync(scratch, { recursive: true, force: true });
  const { round: _, next: __, ...told } = state;
  const manifest: Manifest = { ...told, completedAt: new Date(clock.now()).toISOString() };
  writeManifest(folder, manifest);
  rmSync(join(folder, progressFile), { force: true });
  return manifest;
}

/** The export that stands in the folder, to go on with; null: it is empty. @throws ExportRefusedError */
async function resumed(options: ExportOptions): Promise<Progress | null> {
  const { folder, log } = options;
  if (readManifest(folder) !== null)
    throw new ExportRefusedError(
      `${folder} holds an export that is complete: name another folder. What came since: --since ${folder}`,
    );
  const progress = readProgress(folder);
  if (progress === null) {
    const others = readdirSync(folder).filter((name) => !lockFiles.includes(name) && name !== `${progressFile}.tmp`);
    if (others.length === 0) return null;
    throw new ExportRefusedError(`${folder} is not empty (${others[0]}): name a folder of its own for the export.`);
  }
  const { table, format, split, filter, from, to, since } = progress;
  const other = differing({ table, format, split, filter, from, to, since }, wantedOf(options));
  const hasOtherColumns = JSON.stringify(progress.columns) !== JSON.stringify(tables[table].columns);
  if (other === null && hasOtherColumns)
    throw new ExportRefusedError(
      `${folder} holds an export that another version of Herald has begun, with other columns: name another folder.`,
    );
  if (other !== null)
    throw new ExportRefusedError(
      `${folder} holds an export that was begun with another --${other} and is not complete: run it as it was begun, or name another folder.`,
    );
  checkLog(log, progress);
  await checkEnds(log, progress);
  return progress;
}

async function begun(options: ExportOptions): Promise<Progress> {
  const { log, clock, folder } = options;
  const erasures = [...(await log.ends(settingsTopic))];
  const since = options.since?.manifest ?? null;
  const begunAt = new Date(clock.now()).toISOString();
  const asOf = knownUpTo(clock, { ...options, since });
  const ranges = await rangesOf(log, { ...options, since });
  const progress: Progress = {
    version: 1,
    ...wantedOf(options),
    log: { id: log.id, ...log.partitioning },
    begunAt,
    asOf,
    columns: tables[options.table].columns.map((column) => ({ ...column })),
    ranges,
    erasures,
    rows: 0,
    files: [],
    round: 1,
    next: beginning,
  };
  writeProgress(folder, progress);
  return progress;
}

function wantedOf({ table, format, split, filter, from, to, since }: ExportOptions) {
  const { tenant, channels, types } = filter;
  const wanted = {
    tenant,
    channels: channels === null ? null : [...channels],
    types: types === null ? null : [...types],
  };
  const time = (timeMs: number | null) => (timeMs === null ? null : new Date(timeMs).toISOString());
  const hash = since === null ? null : createHash('sha256').update(since.text).digest('hex');
  return { table, format, split, filter: wanted, from: time(from), to: time(to), since: hash };
}

type Compared = ReturnType<typeof wantedOf>;

/** The option that says something else; null: none. */
function differing(a: Compared, b: Compared): string | null {
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ['table', a.table, b.table],
    ['format', a.format, b.format],
    ['split', a.split, b.split],
    ['tenant', a.filter.tenant, b.filter.tenant],
    ['channel', a.filter.channels, b.filter.channels],
    ['type', a.filter.types, b.filter.types],
    ['from', a.from, b.from],
    ['to', a.to, b.to],
    ['since', a.since, b.since],
  ];
  return pairs.find(([, one, other]) => JSON.stringify(one) !== JSON.stringify(other))?.[0] ?? null;
}

/** @throws ExportRefusedError when there is none to go on from */
export function sinceFolder(folder: string): NonNullable<Asked['since']> {
  const found = readManifest(folder);
  if (found !== null) return found;
  throw new ExportRefusedError(
    readProgress(folder) === null
      ? `${folder} holds no export (${manifestFile}).`
      : `${folder} holds an export that is not complete: run it again until it is.`,
  );
}

/** Once nobody holds the folder any more. */
export function removeLock(folder: string): void {
  for (const name of lockFiles) rmSync(join(folder, name), { force: true });
}
