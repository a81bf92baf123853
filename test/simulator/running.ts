// Starts seeds on a Node of their own: virtual time replaces the event loop, and mutations the source, of a whole process.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface FailedSeed {
  readonly seed: number;
  readonly scenario: string;
  readonly problems: readonly string[];
}

export interface RanSeeds {
  readonly failed: readonly FailedSeed[];
  readonly seeds: number;
  readonly steps: number;
  readonly events: number;
  /** Equal for equal runs. */
  readonly digest: number;
  readonly tookMs: number;
}

const program = fileURLToPath(new URL('seeds.ts', import.meta.url));
/** Worlds come and go: a young generation that holds one spares the collector most of its work. */
const flags = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=64'];
const outputBytesMax = 64 * 1024 * 1024;

export interface RunOptions {
  /** The first failure ends it. */
  readonly mutation?: string;
  /** Once `min` have run none begins after so many seconds. */
  readonly within?: { readonly seconds: number; readonly min: number } | null;
}

export async function runSeeds(
  from: number,
  count: number,
  { mutation, within = null }: RunOptions = {},
): Promise<RanSeeds> {
  const named = mutation === undefined ? [] : [mutation];
  const timed = within === null ? [] : [`--seconds=${within.seconds}`, `--min=${within.min}`];
  const lines = (await output([String(from), String(count), ...named, ...timed]))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  const summary = lines.pop() as Omit<RanSeeds, 'failed'> & { readonly failed: number };
  return { ...summary, failed: lines as FailedSeed[] };
}

/** Everything that happens in it. */
export function replayed(seed: number): Promise<string> {
  return output(['replay', String(seed)]);
}

async function output(args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program, ...args], {
    maxBuffer: outputBytesMax,
  });
  return stdout;
}
