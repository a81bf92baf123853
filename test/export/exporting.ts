// Exports of a log in the tests' hands, and what their files hold.

import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { SqliteEventLog } from '../../src/adapters/sqlite/event-log/event-log.ts';
import type { ExportOptions } from '../../src/export/export.ts';
import { exportToFolder, sinceFolder } from '../../src/export/export.ts';
import type { Manifest } from '../../src/export/manifest.ts';
import { readManifest } from '../../src/export/manifest.ts';
import type { ExportedLog } from '../../src/export/plan.ts';
import type { Verified } from '../../src/export/verify.ts';
import { verifyExport } from '../../src/export/verify.ts';

export type Exported = Readonly<Record<string, unknown>>;

export interface Exporting {
  readonly folder: string;
  /** @param name of a folder of its own */
  export(name: string, options?: Partial<ExportOptions>): Promise<Manifest>;
  /** Goes on from an export of the same folder. */
  exportSince(name: string, since: string, options?: Partial<ExportOptions>): Promise<Manifest>;
  /** What is wrong. */
  verify(name: string): Promise<readonly string[]>;
  verified(name: string): Promise<Verified>;
  /** Of an NDJSON export, the files one after another. */
  rows(name: string): Exported[];
  path(name: string, file?: string): string;
  remove(): Promise<void>;
}

export const everything: ExportOptions['filter'] = { tenant: null, channels: null, types: null };

/** @param log of the process that writes it, or beside that */
export async function startExporting(log: SqliteEventLog | ExportedLog): Promise<Exporting> {
  const folder = await mkdtemp(join(tmpdir(), 'herald-export-'));
  const exported: ExportedLog = 'history' in log ? { ...log, id: log.history.id } : log;
  const path = (name: string, file = '') => join(folder, name, file);
  const run = (name: string, options: Partial<ExportOptions> = {}) =>
    exportToFolder({
      log: exported,
      clock: { now: () => Date.UTC(2026, 10, 22) },
      folder: path(name),
      table: 'events',
      filter: everything,
      from: null,
      to: null,
      since: null,
      format: 'ndjson',
      split: 'none',
      roundRows: 1_000,
      onProgress: () => undefined,
      ...options,
    });
  const verified = (name: string) => {
    const manifest = manifestOf(path(name));
    const scratch = path(name, '.verified');
    return verifyExport({ log: exported, folder: path(name), manifest, scratch, onProgress: () => undefined });
  };
  return {
    folder,
    path,
    export: run,
    exportSince: (name, since, options = {}) => run(name, { since: sinceFolder(path(since)), ...options }),
    verify: async (name) => (await verified(name)).wrong,
    verified,
    rows: (name) => manifestOf(path(name)).files.flatMap((file) => linesOf(path(name, file.path))),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

function manifestOf(folder: string): Manifest {
  const found = readManifest(folder);
  if (found === null) throw new Error(`${folder} has no manifest`);
  return found.manifest;
}

export function linesOf(path: string): Exported[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  if (lines.pop() !== '') throw new Error(`${path} ends within a line`);
  return lines.map((line) => JSON.parse(line) as Exported);
}
