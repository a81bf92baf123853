// What was run on what: versions, cores and flags, for the figures that are kept.

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os';
import { promisify } from 'node:util';

import { serviceFlags } from './service.ts';

/** By name, in the order to be shown. */
export type Machine = Readonly<Record<string, string>>;

/** As the run begins. @param args of the run itself */
export async function describeMachine(args: readonly string[]): Promise<Machine> {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const { node, v8, sqlite } = process.versions as Readonly<Record<string, string>>;
  return {
    at: new Date().toISOString(),
    herald: [version, await commit()].filter(Boolean).join(', '),
    node: `${node}, V8 ${v8}, SQLite ${sqlite}`,
    'service’s flags': serviceFlags.join(' '),
    'run’s options': args.join(' '),
    cores: `${availableParallelism()} of ${cpus()[0]?.model.trim() ?? 'an unknown processor'}`,
    memory: `${Math.round(totalmem() / 1024 ** 3)} GiB`,
    system: `${type()} ${release()}`,
    // What else ran: figures of a busy machine are told as such.
    'load before': loadavg()[0]?.toFixed(2) ?? '',
  };
}

/** Of one core, by everything that runs. */
const quietCores = 0.2;
const quietForMs = 5000;

/**
 * Until the whole machine is quiet for 5 s: a database that has just been filled goes on writing by itself for a minute or two.
 *
 * @returns false when it wasn't `withinMs`: something else runs there
 */
export async function machineIsQuiet(withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (performance.now() < deadline) {
    const before = busyMs();
    await new Promise((resolve) => setTimeout(resolve, quietForMs));
    if (busyMs() - before < quietCores * quietForMs) return true;
  }
  return false;
}

function busyMs(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
}

/** '' outside of a checkout. */
async function commit(): Promise<string> {
  const options = { cwd: new URL('.', import.meta.url) };
  try {
    const { stdout } = await promisify(execFile)('git', ['describe', '--always', '--dirty'], options);
    return `commit ${stdout.trim()}`;
  } catch {
    return '';
  }
}
