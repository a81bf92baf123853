// A short run of the bench, as a person starts it, and the figures that it keeps.

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { processEnvironment } from '../support/herald.ts';

/** A busy machine takes minutes. */
export const runMsMax = 900_000;

export interface Figures {
  readonly machine: Readonly<Record<string, string>>;
  readonly rows: readonly { readonly what: string; readonly value: number; readonly values: readonly number[] }[];
}

const root = fileURLToPath(new URL('../..', import.meta.url));

/** How this machine reaches the registry of packages, which --peers installs from: its certificates, its proxy, its npm's settings. */
const registryAccess = [
  'HOME',
  'NODE_EXTRA_CA_CERTS',
  'HTTPS_PROXY',
  'https_proxy',
  'NO_PROXY',
  'no_proxy',
  'npm_config_registry',
  'npm_config_userconfig',
];

/** @param work a folder for what it writes and keeps */
export async function runBench(work: string, args: readonly string[]): Promise<Figures> {
  const json = join(work, 'figures.json');
  const all = ['run', '-s', 'bench', '--', '--short', '--cache', join(work, 'kept'), '--json', json, ...args];
  const access = registryAccess.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const env = processEnvironment(Object.fromEntries(access));
  await promisify(execFile)('npm', all, { cwd: root, env, maxBuffer: 64 * 1024 * 1024 });
  return JSON.parse(await readFile(json, 'utf8')) as Figures;
}

/** Of rows whose value is a figure. */
export function known({ rows }: Figures): string[] {
  return rows.filter(({ value }) => Number.isFinite(value)).map(({ what }) => what);
}
