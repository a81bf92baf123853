// The engines that a run measures the service on, and what is aimed at on each: the embedded ones, or real ones that run already.

import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import type { Format } from '../src/export/formats/index.ts';
import { engineVariables } from '../test/support/engines.ts';
import type { CostTargets } from './cost.ts';
import { isAnswered } from './listening.ts';
import type { Target } from './results.ts';

export const engineSets = ['embedded', 'real'] as const;
export type EngineSet = (typeof engineSets)[number];

/** What one service has of the engines for itself. */
export interface Share {
  /** The settings that say so. */
  readonly environment: Readonly<Record<string, string>>;
  /** While no process runs: as if nothing had ever been folded. */
  dropReadModels(): Promise<void>;
  remove(): Promise<void>;
}

export interface ExportTargets {
  readonly perSecond: Readonly<Record<Format, Target>>;
  /** What that leaves of its thread for an event. */
  readonly busiestThreadUs: Readonly<Record<Format, Target>>;
  readonly memoryMiB: Target;
}

export interface Targets {
  readonly apiToExpress: Target;
  readonly allRolesToExpress: Target | null;
  /** Of the time that appending its events alone takes: items a second. */
  readonly batchToAppends: Target;
  readonly latencyP50Ms: Target;
  readonly latencyP99Ms: Target;
  readonly foldPerSecond: Target;
  /** Until the search has caught up too, which lets the others go first. */
  readonly foldSearchedPerSecond: Target;
  readonly webhook: CostTargets;
  /** Of the dashboard's queries and of searches. */
  readonly queryP99Ms: Target;
  readonly deepPageP99Ms: Target | null;
  readonly searchBehindSeconds: Target | null;
  readonly storedViewsGiB: Target | null;
  readonly startSeconds: Target | null;
  /** Events of the log into files: a process of one thread. */
  readonly exported: ExportTargets;
  /** Of a core, by a service of which nobody asks anything. */
  readonly idlePercent: Target;
  /** null: other than files of SQLite. */
  readonly viewsBytes: Target | null;
  readonly memoryMiB: Target | null;
  readonly largeBodiesMiB: Target | null;
  /** Beside 4,000 connections with any bodies. */
  readonly crowdMiB: Target | null;
  /** Webhooks a second, end to end, against BullMQ with Express. */
  readonly deliveredToPeer: Target | null;
  /** Given the requests per second of the empty Express app. */
  deliveredPerSecond(express: number): Target | null;
}

export interface Engines {
  readonly set: EngineSet;
  /** For the table's heading. */
  readonly heading: string;
  readonly targets: Targets;
  share(dataDir: string): Share;
}

/** @throws EnginesAwayError when one of the real ones doesn't answer */
export async function chooseEngines(set: EngineSet): Promise<Engines> {
  if (set === 'embedded') return embedded;
  for (const [name, address] of Object.entries(defaultAddresses)) {
    const variable = engineVariables[name as keyof typeof defaultAddresses];
    process.env[variable] ??= address;
    const given = process.env[variable];
    if (!(await isAnswered(given)))
      throw new EnginesAwayError(
        `${name} doesn't answer at ${shown(given)}: run "npm run engines:up", or set ${variable}`,
      );
  }
  const { makeShare } = await import('../test/support/engines-share.ts');
  return { ...real, share: makeShare };
}

export class EnginesAwayError extends Error {}

const atLeast = (value: number): Target => ({ kind: 'at least', value });
const atMost = (value: number): Target => ({ kind: 'at most', value });

function exportedBy({ ndjson, csv, parquet }: Readonly<Record<Format, number>>): ExportTargets {
  const us = (perSecond: number) => atMost(1_000_000 / perSecond);
  return {
    perSecond: { ndjson: atLeast(ndjson), csv: atLeast(csv), parquet: atLeast(parquet) },
    busiestThreadUs: { ndjson: us(ndjson), csv: us(csv), parquet: us(parquet) },
    memoryMiB: atMost(300),
  };
}

const embedded: Engines = {
  set: 'embedded',
  heading: 'Herald on the embedded engines (SQLite)',
  targets: {
    apiToExpress: atLeast(1),
    allRolesToExpress: atLeast(0.55),
    batchToAppends: atLeast(0.7),
    latencyP50Ms: atMost(1.2),
    latencyP99Ms: atMost(6),
    foldPerSecond: atLeast(16_000),
    foldSearchedPerSecond: atLeast(10_000),
    webhook: { inExpressRequests: atMost(3), busiestThreadUs: atMost(112) },
    queryP99Ms: atMost(10),
    deepPageP99Ms: atMost(15),
    searchBehindSeconds: atMost(20),
    storedViewsGiB: atMost(2),
    startSeconds: atMost(1.7),
    exported: exportedBy({ ndjson: 40_000, csv: 40_000, parquet: 25_000 }),
    idlePercent: atMost(1),
    viewsBytes: atMost(2000),
    memoryMiB: atMost(220),
    largeBodiesMiB: atMost(300),
    crowdMiB: atMost(350),
    deliveredToPeer: atLeast(1.6),
    deliveredPerSecond: (express) => atLeast(Math.min(0.38 * express, 5000)),
  },
  share: (dataDir) => ({
    environment: {},
    async dropReadModels() {
      for (const name of await readdir(dataDir)) if (name.startsWith('views.db')) await rm(join(dataDir, name));
    },
    async remove() {
      // All of it is in the data folder.
    },
  }),
};

/** Servers, load and service share the machine: less is aimed at. */
const real: Omit<Engines, 'share'> = {
  set: 'real',
  heading: 'Herald on real engines (Kafka, MongoDB, Redis, on the same machine)',
  targets: {
    apiToExpress: atLeast(0.85),
    allRolesToExpress: null,
    batchToAppends: atLeast(0.7),
    latencyP50Ms: atMost(12),
    latencyP99Ms: atMost(25),
    foldPerSecond: atLeast(14_000),
    foldSearchedPerSecond: atLeast(8000),
    webhook: {},
    queryP99Ms: atMost(20),
    deepPageP99Ms: null,
    searchBehindSeconds: null,
    storedViewsGiB: null,
    startSeconds: null,
    exported: exportedBy({ ndjson: 25_000, csv: 25_000, parquet: 25_000 }),
    idlePercent: atMost(3),
    viewsBytes: null,
    memoryMiB: null,
    largeBodiesMiB: null,
    crowdMiB: null,
    deliveredToPeer: null,
    deliveredPerSecond: () => null,
  },
};

/** Of `npm run engines:up`. */
const defaultAddresses = {
  kafka: '127.0.0.1:19092',
  registry: 'http://127.0.0.1:18081/apis/ccompat/v7',
  mongo: 'mongodb://127.0.0.1:27017/?replicaSet=rs0',
  redis: 'redis://127.0.0.1:16379',
};

/** Without a user and a password. */
function shown(address: string): string {
  return address.replace(/\/\/[^@/]*@/, '//');
}
