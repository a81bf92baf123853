// npm run bench: measures the service as a user runs it, and prints what was aimed at beside it.
//
//   main ──IPC──> load ──HTTP──> express | node:http | herald ──HTTP──> sink <──IPC── main

import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';

import { chooseEngines, EnginesAwayError, engineSets } from './engines.ts';
import type { Engines } from './engines.ts';
import { measureAccept } from './parts/accept.ts';
import { measureDelivery } from './parts/delivery.ts';
import { measureFold } from './parts/fold.ts';
import { measureLatency } from './parts/latency.ts';
import { measureMemory } from './parts/memory.ts';
import { createResults, isMet } from './results.ts';
import type { Results } from './results.ts';
import { openStage } from './stage.ts';
import type { Stage } from './stage.ts';

const parts: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  accept: measureAccept,
  delivery: measureDelivery,
  latency: measureLatency,
  fold: measureFold,
  memory: measureMemory,
};

const usage = `npm run bench -- [--engines ${engineSets.join('|')}] [--only ${Object.keys(parts).join(',')}] [--json FILE]`;

const options = {
  engines: { type: 'string', default: 'embedded' },
  only: { type: 'string', default: Object.keys(parts).join(',') },
  json: { type: 'string' },
} as const;

async function main(): Promise<void> {
  const { values } = parseArgs({ options });
  const set = engineSets.find((name) => name === values.engines);
  const chosen = values.only.split(',');
  if (set === undefined || !chosen.every((name) => Object.hasOwn(parts, name))) return fail(usage, 2);
  let engines: Engines;
  try {
    engines = await chooseEngines(set);
  } catch (error) {
    if (error instanceof EnginesAwayError) return fail(error.message, 1);
    throw error;
  }
  const results = createResults((line) => console.log(line));
  await measure(engines, chosen, results);
  console.log(`\n${results.table(engines.heading)}`);
  if (values.json !== undefined) {
    const rows = results.rows().map((row) => ({ ...row, ok: isMet(row) }));
    const machine = { node: process.version, cpus: cpus().length, model: cpus()[0]?.model ?? '' };
    const figures = { at: new Date().toISOString(), engines: set, machine, rows };
    await writeFile(values.json, `${JSON.stringify(figures, null, 2)}\n`);
  }
}

async function measure(engines: Engines, chosen: readonly string[], results: Results): Promise<void> {
  const stage = await openStage(engines, results);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      void stage.close().finally(() => process.exit(1));
    });
  }
  try {
    for (const [name, part] of Object.entries(parts)) if (chosen.includes(name)) await part(stage);
    await stage.addMemory();
  } finally {
    await stage.close();
  }
}

function fail(message: string, code: number): void {
  console.error(message);
  process.exitCode = code;
}

await main();
