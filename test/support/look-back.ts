// A service that looks back, as a process of its own, and GETs that are answered the same by it and by the one that runs.

import { spawn } from 'node:child_process';

import type { DataDir, Environment } from './data-dir.ts';
import { heraldCommand, processEnvironment } from './herald.ts';
import { inParallel } from './posting.ts';
import { until } from './until.ts';

export interface LookBack {
  readonly url: string;
  /** stderr so far. */
  logs(): string;
  /** null while it runs. */
  exitCode(): number | null;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
}

export async function startLookBack(
  dataDir: Pick<DataDir, 'environment'>,
  asOf: number,
  { args = [], environment = {} }: { readonly args?: readonly string[]; readonly environment?: Environment } = {},
): Promise<LookBack> {
  const all = [...heraldCommand, 'serve', '--as-of', new Date(asOf).toISOString(), ...args];
  const child = spawn(process.execPath, all, {
    env: processEnvironment({ ...dataDir.environment, ...environment }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, logs] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (logs += text));
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  const listening = () => /listens on (\S+)\n/.exec(out)?.[1];
  await until(() => listening() !== undefined || child.exitCode !== null, {
    timeoutMs: 60_000,
    what: 'the look-back to listen',
  }).catch((error: unknown) => {
    child.kill('SIGKILL');
    throw new Error(`${String(error)}; it said:\n${logs}`);
  });
  const url = listening();
  if (url === undefined) throw new Error(`the look-back stopped at once:\n${logs}`);
  return {
    url,
    logs: () => logs,
    exitCode: () => child.exitCode,
    async stop() {
      child.kill('SIGTERM');
      return exited;
    },
  };
}

/** A GET, and by what it is authenticated. */
export interface Asked {
  /** Each once among those that are asked together. */
  readonly path: string;
  readonly by: 'key' | 'token';
  /** JSON unless it says so. */
  readonly accept?: string;
}

export interface Credentials {
  readonly apiKey: string;
  readonly token: string;
}

/** By path: the status and the body, without what every answer has of its own. */
export type Answers = ReadonlyMap<string, { readonly status: number; readonly body: unknown }>;

/** As many as a tenant's reads may be at once. */
const besideMax = 4;

/** Asks again, as a client does, where a busy machine had no time: 429 or 503. */
export async function answersOf(
  url: string,
  asked: readonly Asked[],
  { apiKey, token }: Credentials,
  onAnswer: (path: string, headers: Headers) => void = () => undefined,
): Promise<Answers> {
  const answers = new Map<string, { status: number; body: unknown }>();
  // In the order asked, whichever comes first.
  for (const { path } of asked) answers.set(path, { status: 0, body: null });
  await inParallel(asked, besideMax, async ({ path, by, accept = 'application/json' }) => {
    const credentials = by === 'key' ? { 'x-api-key': apiKey } : { authorization: `Bearer ${token}` };
    const ask = async () => {
      const response = await fetch(`${url}/api/v1${path}`, { headers: { ...credentials, accept } });
      const body = await bodyOf(response);
      if (response.status === 429 || response.status === 503) return null;
      onAnswer(path, response.headers);
      return { status: response.status, body };
    };
    answers.set(path, await until(ask, { timeoutMs: 30_000, everyMs: 200, what: path }));
  });
  return answers;
}

/** A text as its lines, JSON without what every answer has of its own. */
async function bodyOf(response: Response): Promise<unknown> {
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  if (!isJson) return (await response.text()).split('\n');
  const { requestId: _, ...body } = (await response.json()) as Record<string, unknown>;
  return body;
}
