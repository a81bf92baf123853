// Starts the service as a user does, as a process of its own, and speaks to it over HTTP alone.

import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import type { DataDir, Environment } from './data-dir.ts';
import { until } from './until.ts';

export type { DataDir, Environment } from './data-dir.ts';
export { makeDataDir } from './data-dir.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** `exec node <flags> bin/herald.js`: as `npm run herald` has it, without npm in between. */
export const heraldCommand = nodeArguments(readFileSync(join(root, 'package.json'), 'utf8'));
const run = promisify(execFile);

/** On real engines topics and indexes are made first, and a group waits for the members that a kill has left in it; and any machine may be busy. */
const startTimeoutMs = 150_000;

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

/** Longer than any command takes here; jest, which ends a test after 240 s, would leave its process behind. */
const commandTimeoutMs = 180_000;

/** Runs one command of the command line to its end; `code` is null when it had to be killed. */
export async function herald(
  args: readonly string[],
  environment: Environment,
): Promise<{ stdout: string; stderr: string; code: number | null }> {
  try {
    const { stdout, stderr } = await run(process.execPath, [...heraldCommand, ...args], {
      env: processEnvironment(environment),
      timeout: commandTimeoutMs,
      killSignal: 'SIGKILL',
    });
    return { stdout, stderr, code: 0 };
  } catch (error) {
    const failed = error as { stdout: string; stderr: string; code: number | null };
    return { stdout: failed.stdout, stderr: failed.stderr, code: failed.code };
  }
}

/** The same, of which nobody reads what it prints: `herald ... | true`. */
export async function heraldUnread(
  args: readonly string[],
  environment: Environment,
): Promise<{ stderr: string; code: number | null }> {
  const child = spawn(process.execPath, [...heraldCommand, ...args], {
    env: processEnvironment(environment),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: commandTimeoutMs,
    killSignal: 'SIGKILL',
  });
  child.stdout.destroy();
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { stderr, code };
}

export async function startHerald(
  dataDir: DataDir,
  environment: Environment = {},
  args: readonly string[] = [],
  command: readonly string[] = heraldCommand,
): Promise<Herald> {
  const env = processEnvironment({ PORT: '0', OPS_PORT: '0', ...dataDir.environment, ...environment });
  const child = spawn(process.execPath, [...command, 'serve', ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let banner = '';
  let logs = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (banner += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (logs += text));
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  await until(() => banner.includes('api/v1/notify/inapp') || child.exitCode !== null, {
    timeoutMs: startTimeoutMs,
    what: 'the banner',
  }).catch((error: unknown) => {
    child.kill('SIGKILL');
    throw new Error(`${String(error)}; the service said:\n${logs}`);
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
  dataDir: DataDir,
  environment: Environment = {},
  args: readonly string[] = [],
): Promise<string> {
  const { stdout } = await herald(['token', ...args], { ...dataDir.environment, ...environment });
  return stdout.trim();
}

function found(text: string, pattern: RegExp): string {
  const match = pattern.exec(text)?.[1];
  if (match === undefined) throw new Error(`nothing like ${pattern.source} in:\n${text}`);
  return match;
}

/** Tests wait by asking again and again. */
const readOften = '1000000/10s';

/** What a process of the service gets: nothing of the environment of the tests but PATH, and THREADS, which the same tests are run with. */
export function processEnvironment(environment: Environment): Record<string, string> {
  const { PATH = '', THREADS } = process.env;
  const threads = THREADS === undefined ? {} : { THREADS };
  return { PATH, LOG_LEVEL: 'warn', READ_LIMIT: readOften, ...threads, ...environment };
}

function nodeArguments(packageJson: string): string[] {
  const { scripts } = JSON.parse(packageJson) as { scripts: { herald: string } };
  const [, , ...rest] = scripts.herald.split(' ');
  return rest.map((argument) => (argument.startsWith('--') ? argument : join(root, argument)));
}
