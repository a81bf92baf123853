// Starts the service as a user does, as a process of its own, and speaks to it over HTTP alone.

import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { until } from './until.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** `node <flags> bin/herald.js`: as `npm run herald` has it, without npm in between. */
const command = nodeArguments(readFileSync(join(root, 'package.json'), 'utf8'));
const run = promisify(execFile);

export type Environment = Readonly<Record<string, string>>;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // What a black-box client knows of an answer is what it finds in it.
  readonly body: Record<string, unknown>;
}

export interface Herald {
  readonly url: string;
  readonly operationsUrl: string;
  readonly apiKey: string;
  readonly banner: string;
  readonly process: ChildProcess;
  /** stderr so far. */
  logs(): string;
  /** With the demo tenant's API key, or the one given. */
  notify(body: unknown, apiKey?: string): Promise<Answer>;
  call(
    method: string,
    path: string,
    options?: { body?: unknown; headers?: Readonly<Record<string, string>> },
  ): Promise<Answer>;
  /** With the demo tenant's bearer token. */
  dashboard(method: string, path: string, body?: unknown): Promise<Answer>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
  kill(): Promise<void>;
}

export interface DataDir {
  readonly path: string;
  remove(): Promise<void>;
}

export async function makeDataDir(): Promise<DataDir> {
  const path = await mkdtemp(join(tmpdir(), 'herald-e2e-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** Runs one command of the command line to its end. */
export async function herald(
  args: readonly string[],
  environment: Environment,
): Promise<{ stdout: string; stderr: string; code: number }> {
  try {
    const { stdout, stderr } = await run(process.execPath, [...command, ...args], { env: clean(environment) });
    return { stdout, stderr, code: 0 };
  } catch (error) {
    const failed = error as { stdout: string; stderr: string; code: number };
    return { stdout: failed.stdout, stderr: failed.stderr, code: failed.code };
  }
}

export async function startHerald(
  dataDir: string,
  environment: Environment = {},
  args: readonly string[] = [],
): Promise<Herald> {
  const env = clean({ PORT: '0', OPS_PORT: '0', DATA_DIR: dataDir, ...environment });
  const child = spawn(process.execPath, [...command, 'serve', ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let banner = '';
  let logs = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (banner += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (logs += text));
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  await until(() => banner.includes('api/v1/notify/inapp') || child.exitCode !== null, {
    timeoutMs: 15_000,
    what: 'the banner',
  });
  if (child.exitCode !== null) throw new Error(`the service stopped at once:\n${logs}`);
  const url = found(banner, /listens on (\S+)/);
  const operationsUrl = found(banner, /health, metrics\s+(\S+)/);
  const apiKey = found(banner, /API key: (\S+)/);
  let bearer: string | null = null;

  const call: Herald['call'] = async (method, path, { body, headers = {} } = {}) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
    };
  };

  return {
    url,
    operationsUrl,
    apiKey,
    banner,
    process: child,
    logs: () => logs,
    notify: (body, key = apiKey) => call('POST', '/api/v1/notify', { body, headers: { 'x-api-key': key } }),
    call,
    async dashboard(method, path, body) {
      bearer ??= await token(dataDir, environment);
      return call(method, `/api/v1${path}`, {
        ...(body === undefined ? {} : { body }),
        headers: { authorization: `Bearer ${bearer}` },
      });
    },
    async stop() {
      child.kill('SIGTERM');
      return exited;
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** A bearer token by the command line. */
export async function token(
  dataDir: string,
  environment: Environment = {},
  args: readonly string[] = [],
): Promise<string> {
  const { stdout } = await herald(['token', ...args], { ...environment, DATA_DIR: dataDir });
  return stdout.trim();
}

function found(text: string, pattern: RegExp): string {
  const match = pattern.exec(text)?.[1];
  if (match === undefined) throw new Error(`nothing like ${pattern.source} in:\n${text}`);
  return match;
}

function clean(environment: Environment): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', LOG_LEVEL: 'warn', ...environment };
}

function nodeArguments(packageJson: string): string[] {
  const { scripts } = JSON.parse(packageJson) as { scripts: { herald: string } };
  const [, ...rest] = scripts.herald.split(' ');
  return rest.map((argument) => (argument.startsWith('--') ? argument : join(root, argument)));
}
