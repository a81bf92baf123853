// The options of a run.

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import type { EngineSet } from './engines.ts';
import { engineSets } from './engines.ts';
import type { Sizes } from './sizes.ts';
import { shortSizes, usualSizes } from './sizes.ts';

/** In the order in which they run. */
export const partNames = [
  'accept',
  'batch',
  'delivery',
  'latency',
  'idle',
  'fold',
  'search',
  'queries',
  'start',
  'export',
  'bodies',
  'memory',
  'peers',
] as const;
export type PartName = (typeof partNames)[number];

export interface Options {
  readonly engines: EngineSet;
  readonly parts: readonly PartName[];
  readonly repeat: number;
  readonly sizes: Sizes;
  readonly cache: string;
  /** Of files; null: none is written. */
  readonly profile: string | null;
  readonly json: string | null;
  readonly html: string | null;
}

export class OptionsError extends Error {}

const repeatMax = 9;
const storedMin = 1000;
const storedMax = 10_000_000;

const usual: readonly PartName[] = partNames.filter((name) => name !== 'peers');

export const usage = `npm run bench -- [options]
  --engines ${engineSets.join('|')}   embedded unless said
  --only PARTS             of ${usual.join(',')}; all unless said
  --peers                  the same load against BullMQ with Express and Redis as well; installs them in bench/peers
  --repeat N               that often, medians of all: 3 for figures to be quoted
  --stored N               notifications for search, queries, start and export; 1,000,000 unless said
  --cache DIR              where they are kept from run to run
  --short                  everything small: whether it runs, no figures
  --profile DIR            CPU profiles of every thread, and tables by module; the figures are those of a profiled service then
  --json FILE, --html FILE keep the figures`;

const declared = {
  engines: { type: 'string', default: 'embedded' },
  only: { type: 'string', default: usual.join(',') },
  peers: { type: 'boolean', default: false },
  repeat: { type: 'string', default: '1' },
  stored: { type: 'string' },
  cache: { type: 'string', default: join(tmpdir(), 'herald-bench-kept') },
  short: { type: 'boolean', default: false },
  profile: { type: 'string' },
  json: { type: 'string' },
  html: { type: 'string' },
} as const;

/** @throws OptionsError saying what should be where */
export function readOptions(args: readonly string[]): Options {
  const values = parsed(args);
  const engines = engineSets.find((name) => name === values.engines);
  if (engines === undefined) throw new OptionsError(`--engines: should be ${engineSets.join(' or ')}`);
  const asked = [...values.only.split(','), ...(values.peers ? ['peers'] : [])];
  const unknown = asked.filter((name) => !(partNames as readonly string[]).includes(name));
  if (unknown.length > 0) throw new OptionsError(`--only: there is no part ${unknown.join(', ')}`);
  const sizes = values.short ? shortSizes : usualSizes;
  const { stored } = values;
  return {
    engines,
    parts: partNames.filter((name) => asked.includes(name)),
    repeat: whole('--repeat', values.repeat, 1, repeatMax),
    sizes: stored === undefined ? sizes : { ...sizes, stored: whole('--stored', stored, storedMin, storedMax) },
    cache: values.cache,
    profile: values.profile ?? null,
    json: values.json ?? null,
    html: values.html ?? null,
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: declared }).values;
  } catch (error) {
    throw new OptionsError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function whole(name: string, text: string, min: number, max: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new OptionsError(`${name}: should be a whole number from ${min} to ${max}`);
}
