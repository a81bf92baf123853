// herald export: the log as files for whoever analyses it, or as lines on stdout, beside a service that goes on.

import { once } from 'node:events';
import { join } from 'node:path';

import { DataDirLockedError, lockDataDir } from '../adapters/node/data-dir.ts';
import { createCodec } from '../codec/index.ts';
import type { EventType } from '../domain/events.ts';
import { type Asked, exportToFolder, removeLock, sinceFolder } from '../export/export.ts';
import { ExportRefusedError, type Manifest, readManifest } from '../export/manifest.ts';
import type { ExportedLog } from '../export/plan.ts';
import { exportToStream } from '../export/stream.ts';
import { type Verified, verifyExport } from '../export/verify.ts';
import type { Config } from './config.ts';
import { readConfig } from './config.ts';
import { openLogBeside } from './engines.ts';
import { type ExportOptions, exportOptions } from './export-options.ts';
import { keepHeapsSmall } from './heap.ts';
import { patientLog } from './patient-log.ts';
import { createProcess } from './process.ts';
import { createProgress, type Progress } from './progress.ts';
import { firstSignal } from './signals.ts';
import { StartError } from './start-error.ts';
import { openTemporaryFolder } from './temporary-folder.ts';
import { UsageError } from './usage-error.ts';

/** What it holds is written and gone a moment later: an event takes a sixth less than with 25, and memory stays where it was. */
const heapGrowsPercent = 60;

/** @throws UsageError; StartError when there is no log, or the folder isn't one to export into */
export async function exportCommand(args: string[]): Promise<void> {
  keepHeapsSmall(heapGrowsPercent);
  const codec = createCodec();
  const options = exportOptions(args, [...new Set(codec.newestSchemas().map(({ type }) => type as EventType))]);
  try {
    if ('verify' in options) await verify(readConfig(), options.verify);
    else if (options.out === '-') await exportToStdout(readConfig(), options);
    else await exportInto(readConfig(), options, options.out);
  } catch (error) {
    throw error instanceof ExportRefusedError ? new StartError(error.message) : error;
  }
}

async function exportInto(config: Config, options: ExportOptions, folder: string): Promise<void> {
  const asked = askedOf(options);
  const { format, split, rowsPerFile: roundRows } = options;
  const lock = lockOrExplain(folder);
  try {
    await withLog(config, 'export', async (log, { clock, progress }) => {
      const how = { log, clock, folder, format, split, roundRows, onProgress: progress.update };
      const manifest = await exportToFolder({ ...asked, ...how });
      progress.end(summaryOf(manifest, folder));
      for (const line of gapsOf(manifest)) process.stderr.write(`${line}\n`);
    });
  } finally {
    lock.release();
    removeLock(folder);
  }
}

async function exportToStdout(config: Config, options: ExportOptions): Promise<void> {
  const asked = askedOf(options);
  const format = options.format === 'csv' ? 'csv' : 'ndjson';
  await withLog(config, 'export', async (log, { clock, progress }) => {
    const write = async (text: string) => {
      if (!process.stdout.write(text)) await once(process.stdout, 'drain');
    };
    const rows = await withScratch('herald-export-', (scratch) =>
      exportToStream({ ...asked, log, clock, format, scratch, write, onProgress: progress.update }),
    );
    progress.end(`${rows} rows of ${asked.table}`);
  });
}

async function verify(config: Config, folder: string): Promise<void> {
  const found = readManifest(folder);
  if (found === null) throw new StartError(`${folder} holds no export that is complete (manifest.json).`);
  const { manifest } = found;
  await withLog(config, 'verify', async (log, { progress }) => {
    const found = await withScratch('herald-verify-', (scratch) =>
      verifyExport({ log, folder, manifest, scratch, onProgress: progress.update }),
    );
    const { wrong, erasedRows, erasedTenants } = found;
    progress.end(wrong.length === 0 ? `complete: ${summaryOf(manifest, folder)}` : 'not complete');
    for (const line of [...wrong, ...changesOf(found)]) process.stdout.write(`${line}\n`);
    if (wrong.length > 0 || erasedRows + erasedTenants > 0) process.exitCode = 1;
  });
}

/** What the log has done since to what was exported. */
function changesOf({ deletedEvents, erasedRows, erasedTenants }: Verified): string[] {
  return [
    ...(deletedEvents > 0
      ? [`${deletedEvents} of its events are deleted in the log by now: the others were counted`]
      : []),
    ...(erasedRows > 0
      ? [`${erasedRows} of its rows hold what was erased since it was begun: remove it, and export it anew`]
      : []),
    ...(erasedTenants > 0
      ? [
          `${erasedTenants} tenants were erased since it was begun: if it has rows of them, remove it, and export it anew`,
        ]
      : []),
  ];
}

/** What goes on from another export is of the same table and filter. @throws UsageError when something else is asked for */
function askedOf({ since: from, table, tenant, channels, types, ...range }: ExportOptions): Asked {
  if (from === null)
    return {
      table: table ?? 'events',
      filter: { tenant, channels, types },
      from: range.from,
      to: range.to,
      since: null,
    };
  const since = sinceFolder(from);
  const { manifest } = since;
  const said = { table, tenant, channel: channels, type: types };
  const before = {
    ...manifest.filter,
    table: manifest.table,
    channel: manifest.filter.channels,
    type: manifest.filter.types,
  };
  for (const name of ['table', 'tenant', 'channel', 'type'] as const)
    if (said[name] !== null && JSON.stringify(said[name]) !== JSON.stringify(before[name]))
      throw new UsageError(
        `--${name}: the export in ${from} was made with another one; leave it out to go on as it was`,
      );
  return { table: manifest.table, filter: manifest.filter, from: null, to: range.to, since };
}

/** What a fold lays aside are the notifications themselves: it goes with the process, whatever ends that. */
async function withScratch<T>(prefix: string, work: (scratch: string) => Promise<T>): Promise<T> {
  void firstSignal().then(() => process.exit(130));
  const { path, close } = openTemporaryFolder(prefix);
  try {
    return await work(path);
  } finally {
    close();
  }
}

interface Means {
  readonly clock: ReturnType<typeof createProcess>['clock'];
  readonly progress: Progress;
}

async function withLog(config: Config, label: string, work: (log: ExportedLog, means: Means) => Promise<void>) {
  const parts = createProcess(config);
  const log = await openLogBeside({ ...parts, config, codec: createCodec() });
  try {
    const { id, offsetAt } = log;
    await work({ id, offsetAt, ...patientLog(log, parts) }, { clock: parts.clock, progress: createProgress(label) });
  } finally {
    await log.close();
    parts.logger.flush();
  }
}

function lockOrExplain(folder: string) {
  try {
    return lockDataDir(folder);
  } catch (error) {
    throw error instanceof DataDirLockedError ? new StartError(`--out: ${error.message}`) : error;
  }
}

function summaryOf({ table, rows, files, ranges }: Manifest, folder: string): string {
  const events = ranges.reduce((sum, range) => sum + range.events, 0);
  return `${rows} rows of ${table} in ${files.length} files, of ${events} events; ${join(folder, 'manifest.json')} says which`;
}

/** What a log no longer had when it was read. */
function gapsOf({ ranges }: Manifest): string[] {
  return ranges.flatMap(({ topic, partition, from, to, events }) =>
    events === to - from
      ? []
      : [
          `${topic}, partition ${partition}: of offsets ${from} to ${to} the log has ${events} events; the others are deleted`,
        ],
  );
}
