// The engines that a run measures the service on, and what is aimed at on each: the embedded ones, or real ones that run already.

import { readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';

import { engineVariables } from '../test/support/engines.ts';
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

export interface Targets {
  readonly apiToExpress: Target;
  readonly allRolesToExpress: Target | null;
  readonly latencyP50Ms: Target;
  readonly latencyP99Ms: Target;
  readonly foldPerSecond: Target;
  /** Until the search has caught up too, which lets the others go first. */
  readonly foldSearchedPerSecond: Target;
  readonly searchP99Ms: Target;
  /** null: other than files of SQLite. */
  readonly viewsBytes: Target | null;
  readonly memoryMiB: Target | null;
  /** Beside 4,000 connections with any bodies. */
  readonly crowdMiB: Target | null;
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
    if (!(await answers(given)))
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

const embedded: Engines = {
  set: 'embedded',
  heading: 'Herald on the embedded engines (SQLite)',
  targets: {
    apiToExpress: atLeast(0.9),
    allRolesToExpress: atLeast(0.5),
    latencyP50Ms: atMost(4),
    latencyP99Ms: atMost(15),
    foldPerSecond: atLeast(12_000),
    foldSearchedPerSecond: atLeast(10_000),
    searchP99Ms: atMost(10),
    viewsBytes: atMost(2000),
    memoryMiB: atMost(250),
    crowdMiB: atMost(350),
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
    apiToExpress: atLeast(0.5),
    allRolesToExpress: null,
    latencyP50Ms: atMost(12),
    latencyP99Ms: atMost(40),
    foldPerSecond: atLeast(10_000),
    foldSearchedPerSecond: atLeast(8000),
    searchP99Ms: atMost(20),
    viewsBytes: null,
    memoryMiB: null,
    crowdMiB: null,
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

const answerWithinMs = 2000;

/** Whether anything listens at the first host and port of an address. */
function answers(address: string): Promise<boolean> {
  const [, host = '', port = ''] = hostAndPort.exec(address) ?? [];
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port), timeout: answerWithinMs });
    const end = (isThere: boolean) => {
      socket.destroy();
      resolve(isThere);
    };
    socket
      .once('connect', () => end(true))
      .once('error', () => end(false))
      .once('timeout', () => end(false));
  });
}

const hostAndPort = /^(?:[a-z+]+:\/\/)?(?:[^@/]*@)?([^:/,]+):(\d+)/;

/** Without a user and a password. */
function shown(address: string): string {
  return address.replace(/\/\/[^@/]*@/, '//');
}
