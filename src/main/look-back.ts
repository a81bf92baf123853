// The read models as of a moment: folded into a folder of their own beside a service that goes on, or opened where they were kept.
//
// The folder is SQLite on either set of engines: nothing is written where the service works, and no right to make a database is needed.

import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { DataDirLockedError, lockDataDir, lockFile, makeDataDir } from '../adapters/node/data-dir.ts';
import { openReadModelReader } from '../adapters/sqlite/read-models/reader.ts';
import { openReadModelStore } from '../adapters/sqlite/read-models/store.ts';
import { createCodec } from '../codec/index.ts';
import { allTopics } from '../domain/topics.ts';
import { cutAt, cutLog, type LogBeside } from '../lookback/cut-log.ts';
import { anyErased, isAnyErasedSince, knownErasures } from '../lookback/erased-since.ts';
import { foldLookBack } from '../lookback/fold.ts';
import { checkKept, clearFolder, type KeptFold, LookBackRefusedError, readKept } from '../lookback/kept.ts';
import { viewsIn, writeKept } from '../lookback/kept.ts';
import type { DocumentScan } from '../ports/document-scan.ts';
import type { ReadModelDefinition, ReadModelReader } from '../ports/read-model-store.ts';
import { projectedReadModels } from '../projections/index.ts';
import type { Config } from './config.ts';
import { openOrExplain } from './data-file.ts';
import { openLogBeside } from './engines.ts';
import { patiently, patientLog } from './patient-log.ts';
import type { Process } from './process.ts';
import { createProgress } from './progress.ts';
import { StartError } from './start-error.ts';
import { openTemporaryFolder, type TemporaryFolder } from './temporary-folder.ts';
import { readVersion } from './version.ts';

export interface LookBackOptions {
  /** UTC ms. */
  readonly asOf: number;
  /** A folder to fold into, or to open again; null: one that is removed at the end. */
  readonly keep: string | null;
  /** Of read models of which the documents are to be those of another store. */
  readonly secrets?: ReadonlyMap<string, string>;
}

export interface LookBack {
  readonly asOf: number;
  /** Which ends there. */
  readonly log: LogBeside;
  readonly reader: ReadModelReader & DocumentScan;
  readonly definitions: readonly ReadModelDefinition[];
  /** Resolves once something is erased that it shows; not when the signal aborts before. @throws StartError when the log can't be read */
  erased(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Those that queries go to: timers are the scheduler's alone, and no answer comes from them. */
const definitions = projectedReadModels.map(({ definition }) => definition);

/** @throws StartError when there is no log, or the folder is of something else */
export async function openLookBack(config: Config, parts: Process, options: LookBackOptions): Promise<LookBack> {
  const beside = await openLogBeside({ ...parts, config, codec: createCodec() });
  const folder = await openFolder(options.keep).catch(async (error: unknown) => {
    await beside.close();
    throw error;
  });
  try {
    const { id } = beside;
    const offsetAt: LogBeside['offsetAt'] = (...at) => patiently(parts, () => beside.offsetAt(...at));
    const log: LogBeside = { id, offsetAt, ...patientLog(beside, parts) };
    const { cut, erasures } = await explained(() => foldedOrKept(log, folder.path, parts, options));
    const reader = openReadModelReader({ path: viewsIn(folder.path), turns: parts.turns });
    return {
      asOf: options.asOf,
      log: cutLog(log, cut),
      reader,
      definitions,
      erased: (signal) => anyErased(log, erasures, { clock: parts.clock, signal }),
      async close() {
        reader.close();
        folder.close();
        await beside.close();
      },
    };
  } catch (error) {
    folder.close();
    await beside.close();
    throw error;
  }
}

/** One that was kept, whatever has folded it. @throws StartError when there is none */
export async function openKept(folder: string, { turns }: Process) {
  const kept = await explained(async () => readKept(folder));
  if (kept === null) throw new StartError(`${folder} holds no look-back that is complete (as-of.json).`);
  const reader = openReadModelReader({ path: viewsIn(folder), turns });
  return { ...kept, reader, close: async () => reader.close() };
}

type Folded = Pick<KeptFold, 'cut' | 'erasures'>;

async function foldedOrKept(log: LogBeside, folder: string, parts: Process, options: LookBackOptions): Promise<Folded> {
  const { asOf } = options;
  const asked = { asOf, log: log.id, version: readVersion(), definitions };
  const kept = readKept(folder);
  if (kept !== null) {
    checkKept(folder, kept, asked);
    await checkEnds(log, folder, kept);
    await checkErasures(log, folder, kept);
    return kept;
  }
  const lock = options.keep === null ? null : lockOrExplain(folder);
  try {
    // Folded since it was looked for.
    if (readKept(folder) !== null) return await foldedOrKept(log, folder, parts, options);
    clearFolder(folder);
    const erasures = await knownErasures(log);
    const cut = await cutAt(log, allTopics, asOf);
    await fold(cutLog(log, cut), folder, parts, options);
    writeKept(folder, { ...asked, cut, erasures });
    return { cut, erasures };
  } finally {
    lock?.release();
    if (lock !== null) rmSync(join(folder, lockFile), { force: true });
  }
}

async function fold(log: LogBeside, folder: string, { clock, logger }: Process, { asOf, secrets }: LookBackOptions) {
  const progress = createProgress(`as of ${new Date(asOf).toISOString()}`);
  const more = secrets === undefined ? {} : { secrets };
  const store = openReadModelStore({ path: viewsIn(folder), clock, logger, ...more });
  let [events, before] = [0, 0];
  try {
    await foldLookBack({
      log,
      store,
      readModels: projectedReadModels,
      onProgress(done, total) {
        [events, before] = [done, total];
        progress.update(done, total);
      },
    });
  } finally {
    await store.close();
  }
  const deleted = before - events;
  const gone = `; ${deleted} more, which the log had then, are deleted: what they told isn't shown`;
  progress.end(`${events} events folded${deleted > 0 ? gone : ''}`);
}

/** A log that was put back from a backup since goes on with other events. */
async function checkEnds(log: LogBeside, folder: string, { cut }: KeptFold): Promise<void> {
  for (const [topic, ends] of cut) {
    const now = await log.ends(topic);
    if (ends.some((end, partition) => end > (now[partition] ?? 0)))
      throw new LookBackRefusedError(
        `${folder} was folded from events that the log does not hold: it was put back from a backup since. Fold it anew into another folder.`,
      );
  }
}

/** What was erased at once is shown by no look-back. */
async function checkErasures(log: LogBeside, folder: string, { erasures }: KeptFold): Promise<void> {
  if (await isAnyErasedSince(log, erasures))
    throw new LookBackRefusedError(
      `${folder} was folded before a recipient or a tenant was erased, and holds what is to be forgotten: remove it, and fold it anew.`,
    );
}

/** One that isn't kept goes with the process. */
async function openFolder(keep: string | null): Promise<TemporaryFolder> {
  if (keep === null) return openTemporaryFolder('herald-as-of-');
  await openOrExplain(keep, 'target', () => makeDataDir(keep));
  return { path: keep, close: () => undefined };
}

function lockOrExplain(folder: string) {
  try {
    return lockDataDir(folder);
  } catch (error) {
    throw error instanceof DataDirLockedError ? new StartError(`--keep: ${error.message}`) : error;
  }
}

async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof LookBackRefusedError ? new StartError(error.message) : error;
  }
}
