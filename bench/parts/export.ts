// herald export of the stored log, as a user runs it: all of its events in each format, into a folder beside it.

import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { type Format, formats } from '../../src/export/formats/index.ts';
import type { Manifest } from '../../src/export/manifest.ts';
import { measureCommand } from '../command.ts';
import { addCost } from '../cost.ts';
import { formatted } from '../results.ts';
import type { Stage } from '../stage.ts';
import type { Stored } from '../stored.ts';
import { storedLog } from '../stored.ts';

export async function measureExport(stage: Stage): Promise<void> {
  const stored = await storedLog(stage);
  for (const format of formats) await measureFormat(stage, stored, format);
}

async function measureFormat(stage: Stage, { place, notifications }: Stored, format: Format): Promise<void> {
  const { results, engines } = stage;
  const targets = engines.targets.exported;
  const folder = join(place.dataDir, `exported-${format}`);
  // Of a run that was ended.
  await rm(folder, { recursive: true, force: true });
  const args = ['export', '--out', folder, '--table', 'events', '--format', format];
  const { tookMs, spent, peakMiB } = await measureCommand(place, args);
  const events = await exportedEvents(folder, notifications);
  await rm(folder, { recursive: true, force: true });
  const name = `export of ${formatted(notifications)} as ${format}`;
  results.progress(`${name}: ${events} events in ${formatted(tookMs / 1000)} s`);
  results.add(name, (events / tookMs) * 1000, 'events/s', targets.perSecond[format]);
  if (peakMiB !== null) results.add(`${name}: resident memory, highest`, peakMiB, 'MiB', targets.memoryMiB);
  addCost(stage, `an event, ${format}`, [spent], events, null, {
    busiestThreadUs: targets.busiestThreadUs[format],
  });
}

/** @throws Error when it isn't all that there is */
async function exportedEvents(folder: string, notifications: number): Promise<number> {
  const { ranges, rows } = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as Manifest;
  const inLog = ranges.reduce((sum, { from, to }) => sum + to - from, 0);
  if (rows !== inLog || rows < 2 * notifications)
    throw new Error(`${rows} rows were exported of ${inLog} events, of ${notifications} notifications`);
  return rows;
}
