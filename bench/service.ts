// The service as a user starts it: `node bin/herald.js serve` in a fresh data folder, tenants by `token` and provision-tenant.

import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { readCpu } from './cpu.ts';
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
  /** null: it wasn't asked for. */
  readonly inspectorUrl: string | null;
  /** From the start of the process until all of it was started. */
  readonly startedInMs: number;
  /** From the start of the process until it says that it is ready. */
  readyInMs(): Promise<number>;
  /** Resolves when the process has used almost no CPU for a while: everything behind the 202s is done. */
  settle(): Promise<void>;
  /** SIGTERM, and waits for its end. */
  stop(): Promise<void>;
}

/** null: all of them. */
export type BenchedRole = 'api' | 'projector' | null;

/** With an inspector on a port of its own choice: for profiles. */
export const inspected = ['--inspect=127.0.0.1:0'] as const;

const root = fileURLToPath(new URL('..', import.meta.url));
/** `node <flags> bin/herald.js`: as `npm run herald` has it, without npm in between. */
export const serviceCommand = nodeArguments(readFileSync(join(root, 'package.json'), 'utf8'));
/** Of Node, as users start it. */
export const serviceFlags = serviceCommand.filter((argument) => argument.startsWith('--'));
/** Topics and indexes are made at the first start, which a machine that others use as well takes most of a minute for. */
const startWithinMs = 180_000;
/** A crowd leaves gigabytes of bodies behind, which are folded until they are searchable; 5,000,000 notifications take 20 minutes. */
const settleWithinMs = 1_800_000;
const lookEveryMs = 200;
/** A tenth of a core; a profile of two threads takes 14 % of one by itself. */
const quietUs = lookEveryMs * 100;
const quietProfiledUs = lookEveryMs * 300;

/** The settings of a measured service, whatever the engines. */
export function placeOf(dataDir: string, environment: Readonly<Record<string, string>>): Place {
  const settings = {
    DATA_DIR: dataDir,
    LOG_LEVEL: 'info',
    PORT: '0',
    OPS_PORT: '0',
    RATE_LIMIT: '100000000/10s',
    READ_LIMIT: '100000000/10s',
    ITEM_LIMIT: '100000000/10s',
    // The crowd comes from one address.
    CONNECTIONS_PER_ADDRESS: '4000',
    OUTBOUND_ALLOW: '127.0.0.1/32',
  };
  return { dataDir, environment: { ...settings, ...environment } };
}

/** @param nodeFlags beside those of `npm start` */
export async function startService(
  { dataDir, environment }: Place,
  role: BenchedRole,
  nodeFlags: readonly string[] = [],
): Promise<Service> {
  const log = join(dataDir, 'service.log');
  const stderr = openSync(log, 'a');
  const startedAt = monotonicMs();
  const roles = role === null ? [] : ['--role', role];
  const child = spawn(process.execPath, [...nodeFlags, ...serviceCommand, 'serve', ...roles], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'ignore', stderr],
  });
  closeSync(stderr);
  const { url, operationsUrl, inspectorUrl } = await startedLine(child, log);
  const startedInMs = monotonicMs() - startedAt;
  const { pid } = child;
  if (pid === undefined) throw new Error('the service has no process id');
  return {
    port: url === null ? Number.NaN : Number(new URL(url).port),
    operationsUrl,
    pid,
    inspectorUrl: nodeFlags.length === 0 ? null : inspectorUrl,
    startedInMs,
    readyInMs: async () => {
      await untilReady(operationsUrl);
      return monotonicMs() - startedAt;
    },
    settle: () => settle(pid, nodeFlags.length === 0 ? quietUs : quietProfiledUs),
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
  return (await promisify(execFile)(process.execPath, [...serviceCommand, ...args], options)).stdout;
}

export interface BenchedTenant {
  readonly id: string;
  readonly apiKey: string;
}

/** So many new ones; the same again where they were made before. */
export async function provisionTenants(place: Place, port: number, count: number): Promise<BenchedTenant[]> {
  const tenants: BenchedTenant[] = [];
  for (let i = 0; i < count; i++) {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/auth/provision-tenant`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await ownerToken(place, i)}` },
    });
    const answer = (await response.json()) as { tenant?: { id?: string; apiKey?: string } };
    const { id, apiKey } = answer.tenant ?? {};
    if (id === undefined || apiKey === undefined)
      throw new Error(`provision-tenant answered ${response.status}: ${JSON.stringify(answer)}`);
    tenants.push({ id, apiKey });
  }
  return tenants;
}

/** A bearer token of the nth tenant's owner. */
export async function ownerToken(place: Place, nth: number): Promise<string> {
  const person = ['--sub', `bench-${nth}`, '--email', `bench-${nth}@example.com`, '--name', `Bench ${nth}`];
  return (await runCommand(place, ['token', ...person])).trim();
}

/** Resident memory in MiB, now and at its highest since the start; null where there is no /proc. */
export function residentMemory(pid: number): { readonly nowMiB: number; readonly peakMiB: number } | null {
  const status = readProc(pid, 'status');
  if (status === null) return null;
  const kib = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.NaN);
  return { nowMiB: kib('VmRSS') / 1024, peakMiB: kib('VmHWM') / 1024 };
}

/** Of SQLite's files of the read models, what isn't merged yet included; null: they are elsewhere. */
export async function bytesOfViews({ dataDir }: Place): Promise<number | null> {
  const files = (await readdir(dataDir)).filter((name) => name.startsWith('views.db'));
  const sizes = await Promise.all(files.map(async (name) => (await stat(join(dataDir, name))).size));
  return files.length === 0 ? null : sizes.reduce((a, b) => a + b, 0);
}

/** Resolves when the process has used almost no CPU for a while. */
export async function settle(pid: number, quietLookUs = quietUs): Promise<void> {
  const deadline = monotonicMs() + settleWithinMs;
  let quietLooks = 0;
  let before = readCpu(pid)?.processUs ?? 0;
  while (quietLooks < 3) {
    if (monotonicMs() > deadline) throw new Error(`the service was still busy after ${settleWithinMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    const now = readCpu(pid)?.processUs ?? 0;
    quietLooks = now - before <= quietLookUs ? quietLooks + 1 : 0;
    before = now;
  }
}

async function untilReady(operationsUrl: string): Promise<void> {
  const deadline = monotonicMs() + startWithinMs;
  while (!(await fetch(`${operationsUrl}/health/ready`)).ok) {
    if (monotonicMs() > deadline) throw new Error(`the service was not ready within ${startWithinMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
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

interface Listening extends Started {
  readonly inspectorUrl: string | null;
}

/** What the service logs once all of it has been started. */
async function startedLine(child: ChildProcess, log: string): Promise<Listening> {
  const deadline = monotonicMs() + startWithinMs;
  for (;;) {
    const said = readFileSync(log, 'utf8');
    const line = said
      .split('\n')
      .find((text) => text.includes('"msg":"started"') && text.includes(`"pid":${child.pid},`));
    if (line !== undefined) {
      // Said again by the process that goes on with the allocator's settings.
      const inspectorUrl = [...said.matchAll(/^Debugger listening on (ws:\S+)$/gm)].at(-1)?.[1] ?? null;
      return { ...(JSON.parse(line) as Started), inspectorUrl };
    }
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
