// npm run bench: measures the service as a user runs it, and prints what was aimed at beside it.
//
//   main ──IPC──> load ──HTTP──> express | node:http | herald | a peer ──HTTP──> sink <──IPC── main

import { writeFile } from 'node:fs/promises';

import { chooseEngines, EnginesAwayError } from './engines.ts';
import type { Engines } from './engines.ts';
import { page } from './html/page.ts';
import { describeMachine } from './machine.ts';
import type { Options, PartName } from './options.ts';
import { OptionsError, readOptions, usage } from './options.ts';
import { measureAccept } from './parts/accept.ts';
import { measureBatch } from './parts/batch.ts';
import { measureDelivery } from './parts/delivery.ts';
import { measureExport } from './parts/export.ts';
import { measureFold } from './parts/fold.ts';
import { measureIdle } from './parts/idle.ts';
import { measureLatency } from './parts/latency.ts';
import { measureBodies, measureMemory } from './parts/memory.ts';
import { measurePeers } from './parts/peers.ts';
import { measureQueries, measureSearch, measureStart } from './parts/stored.ts';
import { createProfiles, noProfiles } from './profiles.ts';
import { monotonicMs } from './protocol.ts';
import { createResults, isMet } from './results.ts';
import { openStage } from './stage.ts';
import type { Setting, Stage } from './stage.ts';
import { createProgress } from './terminal.ts';
import type { Progress } from './terminal.ts';

const parts: Readonly<Record<PartName, (stage: Stage) => Promise<void>>> = {
  accept: measureAccept,
  batch: measureBatch,
  delivery: measureDelivery,
  latency: measureLatency,
  idle: measureIdle,
  fold: measureFold,
  search: measureSearch,
  queries: measureQueries,
  start: measureStart,
  export: measureExport,
  bodies: measureBodies,
  memory: measureMemory,
  peers: measurePeers,
};

async function main(args: readonly string[]): Promise<void> {
  try {
    const options = readOptions(args);
    await run(options, await chooseEngines(options.engines), args);
  } catch (error) {
    if (error instanceof OptionsError) fail(`${error.message}\n\n${usage}`, 2);
    else if (error instanceof EnginesAwayError) fail(error.message, 1);
    else throw error;
  }
}

async function run(options: Options, engines: Engines, args: readonly string[]): Promise<void> {
  const { repeat, sizes, cache, profile } = options;
  const machine = await describeMachine(args);
  const all = Array.from({ length: repeat }, () => options.parts).flat();
  const progress = createProgress({ output: process.stdout, parts: all, sizes, nowMs: monotonicMs });
  const results = createResults(progress.line);
  const profiles = profile === null ? noProfiles : createProfiles(profile, progress.line);
  try {
    for (let nth = 1; nth <= repeat; nth++) {
      if (repeat > 1) progress.line(`run ${nth} of ${repeat}`);
      await measure({ engines, results, sizes, profiles, cache }, options.parts, progress);
    }
  } finally {
    progress.end();
  }
  const heading = repeat === 1 ? engines.heading : `${engines.heading}, medians of ${repeat} runs`;
  console.log(`\n${results.table(heading)}`);
  const rows = results.rows().map((row) => ({ ...row, ok: isMet(row) }));
  const series = results.series();
  const figures = { engines: options.engines, machine, rows, series };
  if (options.json !== null) await writeFile(options.json, `${JSON.stringify(figures, null, 2)}\n`);
  if (options.html !== null) await writeFile(options.html, page({ heading, machine, rows, series }));
}

async function measure(setting: Setting, chosen: readonly PartName[], progress: Progress): Promise<void> {
  const stage = await openStage(setting);
  // A terminal tells the whole group, and what started this passes it on: a second one doesn't cut the first one short.
  const end = () => void stage.close().finally(() => process.exit(1));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end);
  try {
    for (const name of chosen) {
      progress.begins();
      await parts[name](stage);
    }
    await stage.addMemory();
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, end);
    await stage.close();
  }
}

function fail(message: string, code: number): void {
  console.error(message);
  process.exitCode = code;
}

await main(process.argv.slice(2));
