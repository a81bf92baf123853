// npm run bench: measures the service as a user runs it, and prints what was aimed at beside it.
//
//   main ──IPC──> load ──HTTP──> express | node:http | herald ──HTTP──> sink <──IPC── main

import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';

import { measureAccept } from './parts/accept.ts';
import { measureDelivery } from './parts/delivery.ts';
import { measureFold } from './parts/fold.ts';
import { measureLatency } from './parts/latency.ts';
import { createResults, isMet } from './results.ts';
import { openStage } from './stage.ts';
import type { Stage } from './stage.ts';

const parts: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  accept: measureAccept,
  delivery: measureDelivery,
  latency: measureLatency,
  fold: measureFold,
};

const usage = `npm run bench -- [--only ${Object.keys(parts).join(',')}] [--json FILE]`;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { only: { type: 'string' }, json: { type: 'string' } } });
  const chosen = values.only?.split(',') ?? Object.keys(parts);
  if (!chosen.every((name) => Object.hasOwn(parts, name))) {
    console.error(usage);
    process.exitCode = 2;
    return;
  }
  const results = createResults((line) => console.log(line));
  const stage = await openStage(results);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      void stage.close().finally(() => process.exit(1));
    });
  }
  try {
    for (const [name, measure] of Object.entries(parts)) {
      if (chosen.includes(name)) await measure(stage);
    }
    await stage.addMemory();
  } finally {
    await stage.close();
  }
  console.log(`\n${results.table()}`);
  if (values.json !== undefined) {
    const rows = results.rows().map((row) => ({ ...row, ok: isMet(row) }));
    const machine = { node: process.version, cpus: cpus().length, model: cpus()[0]?.model ?? '' };
    await writeFile(values.json, `${JSON.stringify({ at: new Date().toISOString(), machine, rows }, null, 2)}\n`);
  }
}

await main();
