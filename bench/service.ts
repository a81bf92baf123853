// The service as a user starts it: `node bin/herald.js serve` in a fresh data folder, tenants by `token` and provision-tenant.

import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { monotonicMs } from './protocol.ts';

/** A data folder, and the settings of everything that runs on it. */
export interface Place {
  readonly dataDir: string;
  readonly environment: Readonly<Record<string, string>>;
}

export interface Service {
  /** Of the API; NaN without that role. */
  readonly port: number;
  readonly operationsUrl: string;
  readonly pid: number;
  /** From the start of the process until all of it was started. */
  readonly startedInMs: number;
  /** Resolves when the process has used almost no CPU for a while: everything behind the 202s is done. */
  settle(): Promise<void>;
  /** SIGTERM, and waits for its end. */
  stop(): Promise<void>;
}

/** null: all of them. */
export type BenchedRole = 'api' | 'projector' | null;

const root = fileURLToPath(new URL('..', import.meta.url));
/** `node <flags> bin/herald.js`: as `npm run herald` has it, without npm in between. */
const command = nodeArguments(readFileSync(join(root, 'package.json'), 'utf8'));
/** Topics and indexes are made at the first start. */
const startWithinMs = 60_000;
/** A crowd leaves gigabytes of bodies behind, which are folded until they are searchable. */
const settleWithinMs = 600_000;

/** The settings of a measured service, whatever the engines. */
export function placeOf(dataDir: string, environment: Readonly<Record<string, string>>): Place {
  const settings = {
    DATA_DIR: dataDir,
    LOG_LEVEL: 'info',
    PORT: '0',
    OPS_PORT: '0',
    RATE_LIMIT: '100000000/10s',
    READ_LIMIT: '100000000/10s',
    // The crowd comes from one address.
    CONNECTIONS_PER_ADDRESS: '4000',
    OUTBOUND_ALLOW: '127.0.0.1/32',
  };
  return { dataDir, environment: { ...settings, ...environment } };
}

export async function startService({ dataDir, environment }: Place, role: BenchedRole): Promise<Service> {
  const log = join(dataDir, 'service.log');
  const stderr = openSync(log, 'a');
  const startedAt = monotonicMs();
  const child = spawn(process.execPath, [...command, 'serve', ...(role === null ? [] : ['--role', role])], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'ignore', stderr],
  });
  closeSync(stderr);
  const { url, operationsUrl } = await startedLine(child, log);
  const { pid } = child;
  if (pid === undefined) throw new Error('the service has no process id');
  return {
    port: url === null ? Number.NaN : Number(new URL(url).port),
    operationsUrl,
    pid,
    startedInMs: monotonicMs() - startedAt,
    settle: () => settle(pid),
    stop: async () => {
      if (child.exitCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** Runs another command of the service in the same place and answers what it printed. */
export async function runCommand(place: Place, args: readonly string[]): Promise<string> {
  const options = { env: { ...process.env, ...place.environment }, maxBuffer: 16 * 1024 * 1024 };
  return (await promisify(execFile)(process.execPath, [...command, ...args], options)).stdout;
}

/** The API keys of so many new tenants. */
export async function provisionTenants(place: Place, port: number, count: number): Promise<string[]> {
  const keys: string[] = [];
  for (let i = 0; i < count; i++) {
    const token = await runCommand(place, [
      'token',
      '--sub',
      `bench-${i}`,
      '--email',
      `bench-${i}@example.com`,
      '--name',
      `Bench ${i}`,
    ]);
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/auth/provision-tenant`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token.trim()}` },
    });
    const answer = (await response.json()) as { tenant?: { apiKey?: string } };
    const apiKey = answer.tenant?.apiKey;
    if (apiKey === undefined)
      throw new Error(`provision-tenant answered ${response.status}: ${JSON.stringify(answer)}`);
    keys.push(apiKey);
  }
  return keys;
}

/** Resident memory in MiB, now and at its highest since the start; null where there is no /proc. */
export function residentMemory(pid: number): { readonly nowMiB: number; readonly peakMiB: number } | null {
  const status = readProc(pid, 'status');
  if (status === null) return null;
  const kib = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.NaN);
  return { nowMiB: kib('VmRSS') / 1024, peakMiB: kib('VmHWM') / 1024 };
}

async function settle(pid: number): Promise<void> {
  const deadline = monotonicMs() + settleWithinMs;
  let quietLooks = 0;
  let before = cpuTicks(pid);
  while (quietLooks < 3) {
    if (monotonicMs() > deadline) throw new Error(`the service was still busy after ${settleWithinMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const now = cpuTicks(pid);
    // 100 ticks are a second of CPU: 2 in 200 ms are a tenth of a core.
    quietLooks = now - before <= 2 ? quietLooks + 1 : 0;
    before = now;
  }
}

/** User and system time that the process has used, in ticks of 10 ms; 0 where there is no /proc. */
function cpuTicks(pid: number): number {
  const stat = readProc(pid, 'stat');
  if (stat === null) return 0;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

function readProc(pid: number, file: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return null;
  }
}

interface Started {
  readonly url: string | null;
  readonly operationsUrl: string;
}

/** What the service logs once all of it has been started. */
async function startedLine(child: ChildProcess, log: string): Promise<Started> {
  const deadline = monotonicMs() + startWithinMs;
  for (;;) {
    const said = readFileSync(log, 'utf8');
    const line = said
      .split('\n')
      .find((text) => text.includes('"msg":"started"') && text.includes(`"pid":${child.pid},`));
    if (line !== undefined) return JSON.parse(line) as Started;
    const isLate = monotonicMs() > deadline;
    if (isLate || child.exitCode !== null) {
      child.kill('SIGKILL');
      const why = isLate ? `has not started within ${startWithinMs / 1000} s` : `ended with ${child.exitCode}`;
      throw new Error(`the service ${why}; its log ends:\n${said.slice(-2000)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function nodeArguments(packageJson: string): string[] {
  const { scripts } = JSON.parse(packageJson) as { scripts: { herald: string } };
  const words = scripts.herald.split(' ');
  return words
    .slice(words.indexOf('node') + 1)
    .map((argument) => (argument.startsWith('--') ? argument : join(root, argument)));
}
