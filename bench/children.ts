// The benchmark's own child processes: started, asked, ended.

import { fork } from 'node:child_process';
import type { ChildProcess, Serializable, StdioOptions } from 'node:child_process';
import type {
  Appended,
  AppendPlan,
  CrowdPlan,
  CrowdResult,
  Filled,
  FillPlan,
  LoadPlan,
  LoadResult,
  SinkReport,
} from './protocol.ts';
import { serviceFlags } from './service.ts';
import type { Place } from './service.ts';

export interface Reference {
  readonly port: number;
  readonly pid: number;
  stop(): void;
}

export interface Load {
  run(plan: LoadPlan): Promise<LoadResult>;
  stop(): void;
}

export interface Crowd {
  run(plan: CrowdPlan): Promise<CrowdResult>;
  stop(): void;
}

export interface Sink {
  readonly url: string;
  reset(): void;
  /** As soon as so many distinct ids have arrived, or after `withinMs`. */
  report(distinct: number, withinMs: number): Promise<SinkReport>;
  stop(): void;
}

export async function startReference(name: 'express' | 'http'): Promise<Reference> {
  const child = start(`references/${name}.ts`);
  return { port: await portOf(child), pid: child.pid ?? 0, stop: () => void child.kill() };
}

export async function startPeerApp(environment: Readonly<Record<string, string>>): Promise<Reference> {
  const child = start('peers/bullmq.js', environment);
  return { port: await portOf(child), pid: child.pid ?? 0, stop: () => void child.kill() };
}

export function startLoad(): Load {
  const child = start('load.ts');
  return { run: (plan) => ask<LoadResult>(child, plan), stop: () => void child.kill() };
}

export function startCrowd(): Crowd {
  const child = start('crowd.ts');
  return { run: (plan) => ask<CrowdResult>(child, plan), stop: () => void child.kill() };
}

export async function startSink(): Promise<Sink> {
  const child = start('sink.ts');
  return {
    url: `http://127.0.0.1:${await portOf(child)}/hook`,
    reset: () => void child.send({ kind: 'reset' }),
    report: (distinct, withinMs) => ask<SinkReport>(child, { kind: 'report', distinct, withinMs }),
    stop: () => void child.kill(),
  };
}

export interface Appending {
  readonly pid: number;
  /** Another round; resolves with the ms that it took. */
  append(): Promise<number>;
  stop(): void;
}

export async function startAppending({ environment }: Place, plan: AppendPlan): Promise<Appending> {
  const child = start('appending.ts', environment, serviceFlags);
  return {
    pid: child.pid ?? 0,
    append: async () => (await ask<Appended>(child, plan)).tookMs,
    stop: () => void child.kill(),
  };
}

/** Runs to its end. */
export async function fillLog({ environment }: Place, plan: FillPlan): Promise<Filled> {
  return ask<Filled>(start('fill.ts', environment), plan);
}

/** @param flags of Node */
function start(
  file: string,
  environment: Readonly<Record<string, string>> = {},
  flags: readonly string[] = [],
): ChildProcess {
  const stdio: StdioOptions = ['ignore', 'inherit', 'inherit', 'ipc'];
  const env = { ...process.env, ...environment };
  return fork(new URL(file, import.meta.url), { env, stdio, execArgv: [...process.execArgv, ...flags] });
}

async function portOf(child: ChildProcess): Promise<number> {
  return (await answerOf<{ port: number }>(child)).port;
}

function ask<Answer>(child: ChildProcess, message: Serializable): Promise<Answer> {
  const answer = answerOf<Answer>(child);
  child.send(message);
  return answer;
}

function answerOf<Answer>(child: ChildProcess): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`${child.spawnargs.at(-1)} ended with ${code}`));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.off('exit', ended);
      resolve(message as Answer);
    });
  });
}
