// The service as a user starts it: `node bin/herald.js serve` in a fresh data folder, tenants by `token` and provision-tenant.

import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { monotonicMs } from './protocol.ts';

export interface Service {
  readonly port: number;
  readonly pid: number;
  /** From the start of the process until it listened. */
  readonly startedInMs: number;
  /** Resolves when the process has used almost no CPU for a while: everything behind the 202s is done. */
  settle(): Promise<void>;
  /** SIGTERM, and waits for its end. */
  stop(): Promise<void>;
}

export interface ServiceOptions {
  readonly dataDir: string;
  readonly role: 'api' | null;
}

const root = fileURLToPath(new URL('..', import.meta.url));
/** `node <flags> bin/herald.js`: as `npm run herald` has it, without npm in between. */
const command = nodeArguments(readFileSync(join(root, 'package.json'), 'utf8'));
const startWithinMs = 20_000;
const settleWithinMs = 120_000;

function environment(dataDir: string): NodeJS.ProcessEnv {
  const settings = {
    DATA_DIR: dataDir,
    PORT: '0',
    OPS_PORT: '0',
    RATE_LIMIT: '100000000/10s',
    OUTBOUND_ALLOW: '127.0.0.1/32',
  };
  return { ...process.env, ...settings };
}

export async function startService({ dataDir, role }: ServiceOptions): Promise<Service> {
  const log = join(dataDir, 'service.log');
  const stderr = openSync(log, 'a');
  const startedAt = monotonicMs();
  const child = spawn(process.execPath, [...command, 'serve', ...(role === null ? [] : ['--role', role])], {
    env: environment(dataDir),
    stdio: ['ignore', 'pipe', stderr],
  });
  closeSync(stderr);
  const port = await portInBanner(child, log);
  const { pid } = child;
  if (pid === undefined) throw new Error('the service has no process id');
  return {
    port,
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

/** Runs another command of the service over the same data folder and answers what it printed. */
export async function runCommand(dataDir: string, args: readonly string[]): Promise<string> {
  const options = { env: environment(dataDir), maxBuffer: 16 * 1024 * 1024 };
  return (await promisify(execFile)(process.execPath, [...command, ...args], options)).stdout;
}

/** The API keys of so many new tenants. */
export async function provisionTenants(dataDir: string, port: number, count: number): Promise<string[]> {
  const keys: string[] = [];
  for (let i = 0; i < count; i++) {
    const token = await runCommand(dataDir, [
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

function portInBanner(child: ChildProcess, log: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let said = '';
    const fail = (why: string) => {
      child.kill('SIGKILL');
      reject(new Error(`the service ${why}; its log ends:\n${readFileSync(log, 'utf8').slice(-2000)}`));
    };
    const timer = setTimeout(() => fail(`printed no address within ${startWithinMs / 1000} s`), startWithinMs);
    child.once('exit', (code) => fail(`ended with ${code}`));
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      const port = /http:\/\/[^\s/:]+:(\d+)/.exec(said)?.[1];
      if (port === undefined) return;
      clearTimeout(timer);
      resolve(Number(port));
    });
  });
}

function nodeArguments(packageJson: string): string[] {
  const { scripts } = JSON.parse(packageJson) as { scripts: { herald: string } };
  const [, ...rest] = scripts.herald.split(' ');
  return rest.map((argument) => (argument.startsWith('--') ? argument : join(root, argument)));
}
