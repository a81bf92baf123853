// The HTTP client of the terminal's tools: which Herald, as whom, and a sentence for whatever goes wrong.

import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import type { ErrorBody } from '../../api/errors.ts';
import type { Config } from '../config.ts';
import { readClientVariables, readConfig } from '../config.ts';
import { dataFiles } from '../data-files.ts';
import { StartError } from '../start-error.ts';
import { demoOwner, embeddedIssuerOf } from '../tokens.ts';
import { UsageError } from '../usage-error.ts';
import { localUrl } from './local-service.ts';
import { printable } from './printable.ts';

export interface ClientOptions {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly token?: string | undefined;
}

/** `key`: with the tenant's API key, which a token can show; `reader`: with a token where there is one, else with the key. */
export type CallAs = 'key' | 'reader';

export interface Client {
  /** Without a slash at its end. */
  readonly url: string;
  /** null: there is a key alone. Made anew where Herald issues tokens itself. */
  readonly token: (() => Promise<string>) | null;
  /** @throws HeraldRefusal for whatever isn't 2xx, Unreachable when there was no answer, StartError */
  call<T>(method: 'GET' | 'POST', path: string, as: CallAs, request?: RequestParts): Promise<T>;
}

export interface RequestParts {
  /** JSON text. */
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What Herald answered that isn't 2xx. */
export class HeraldRefusal extends StartError {
  readonly status: number;
  /** Whole seconds; null: it said none. */
  readonly retryAfterSeconds: number | null;

  constructor(status: number, message: string, retryAfterSeconds: number | null) {
    super(message);
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** No answer came, or one was cut. */
export class Unreachable extends StartError {
  /** Whether the request may have arrived. */
  readonly wasSent: boolean;

  constructor(message: string, { wasSent }: { readonly wasSent: boolean } = { wasSent: true }) {
    super(message);
    this.wasSent = wasSent;
  }
}

/** How long to wait before asking again; null: that would change nothing. @param failures in a row before this one */
export function passesAfterMs(error: unknown, failures: number): number | null {
  const ownMs = Math.min(againMinMs * 2 ** failures, againMaxMs);
  if (error instanceof Unreachable) return ownMs;
  if (!(error instanceof HeraldRefusal) || (error.status !== 429 && error.status < 500)) return null;
  return Math.max(ownMs, (error.retryAfterSeconds ?? 0) * 1000);
}

/** Asks again, as long as that may help and there is time. @param until by the monotonic clock, in ms */
export async function patiently<T>(ask: () => Promise<T>, until: number, say: (sentence: string) => void): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      return await ask();
    } catch (error) {
      const waitMs = passesAfterMs(error, failures);
      if (waitMs === null || performance.now() + waitMs > until) throw error;
      say(`${(error as Error).message} Asking again in ${waitMs / 1000} s.`);
      await sleep(waitMs);
    }
  }
}

const againMinMs = 500;
const againMaxMs = 10_000;

/** Longer than any answer takes: a read may wait 6 s for its store, a write for its log. */
const answerMaxMs = 30_000;

/** Options win over variables; without any URL it is this machine's own service. @throws UsageError, ConfigError, StartError */
export function createClient(options: ClientOptions): Client {
  const { url, key, token } = credentialsOf(options);
  const call = async <T>(
    method: string,
    path: string,
    as: CallAs,
    { body, headers }: RequestParts = {},
  ): Promise<T> => {
    const sent = {
      ...(as === 'key' || token === null
        ? { 'x-api-key': await apiKey() }
        : { authorization: `Bearer ${await token()}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    };
    const init = {
      method,
      headers: sent,
      signal: AbortSignal.timeout(answerMaxMs),
      ...(body === undefined ? {} : { body }),
    };
    return (await answerOf(url, path, init)) as T;
  };
  let shown: string | null = null;
  const apiKey = async (): Promise<string> => {
    if (key !== undefined) return key;
    shown ??= (await call<{ readonly apiKey: string }>('GET', '/tenant', 'reader')).apiKey;
    return shown;
  };
  return { url, token, call };
}

interface Credentials {
  readonly url: string;
  readonly key: string | undefined;
  readonly token: Client['token'];
}

/** A key or token that is given as an option is the one that is meant, whatever the variables hold. */
function credentialsOf(options: ClientOptions): Credentials {
  const variables = readClientVariables();
  const isGiven = options.key !== undefined || options.token !== undefined;
  const { key, token } = isGiven ? options : variables;
  const fixed = token === undefined ? null : async () => token;
  const url = options.url ?? variables.url;
  if (url !== undefined) {
    if (key === undefined && fixed === null)
      throw new UsageError('--key or --token: say who asks (or set HERALD_API_KEY or HERALD_TOKEN)');
    return { url: checkedUrl(url), key, token: fixed };
  }
  const config = readConfig();
  if (key !== undefined || fixed !== null) return { url: localUrl(config), key, token: fixed };
  if (config.AUTH_JWKS_URL !== null)
    throw new UsageError('--key or --token: AUTH_JWKS_URL is set, so there is no demo tenant to ask as');
  return { url: localUrl(config), key: undefined, token: () => issuedToken(config) };
}

/** Of the demo tenant's owner. */
async function issuedToken(config: Config): Promise<string> {
  if (!existsSync(dataFiles(config.DATA_DIR).issuerKey)) {
    // Whether anything is there at all is said first.
    await fetchOrSay(localUrl(config), '/tenant', {});
    throw new StartError(
      `DATA_DIR: ${config.DATA_DIR} isn't the folder of the service that listens at ${localUrl(config)}; or say --key or --token.`,
    );
  }
  return (await embeddedIssuerOf(config)).token({ ...demoOwner, hours: 1 });
}

function checkedUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '')
    throw new UsageError('--url: should be an http(s) URL, such as https://herald.example.com');
  return url.href.replace(/\/+$/, '').replace(/\/(?:api\/)?v1$/, '');
}

async function answerOf(url: string, path: string, init: RequestInit): Promise<unknown> {
  const response = await fetchOrSay(url, path, init);
  const text = await response.text().catch((error: unknown) => {
    throw unreachable(url, error);
  });
  if (!response.ok) throw refusalOf(url, response, text);
  const answer = parsed(text);
  if (answer === null) throw notHerald(url, response);
  return answer;
}

/** A redirect is told, not followed: the key would go along to wherever it leads. @throws Unreachable */
export async function fetchOrSay(url: string, path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(`${url}/api/v1${path}`, { redirect: 'manual', ...init });
  } catch (error) {
    throw unreachable(url, error);
  }
}

/** @param text the answer's body */
export function refusalOf(url: string, response: Response, text: string): Error {
  const { status, headers } = response;
  const location = headers.get('location');
  if (status >= 300 && status < 400 && location !== null)
    return new StartError(
      `${url} leads elsewhere: --url should be the address that ${URL.parse(location, url)?.origin ?? location} is of`,
    );
  const body: Partial<ErrorBody> | null = parsed(text);
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const retryAfterSeconds = Number.isNaN(seconds) ? null : seconds;
  if (body === null || typeof body.error !== 'string') {
    // A proxy before a Herald that is being started again.
    if (status >= 500) return new HeraldRefusal(status, `${url} answered ${status}.`, retryAfterSeconds);
    return notHerald(url, response);
  }
  const { code, error, details = [], requestId } = body;
  const more = details.slice(1).map(({ path, message }) => `\n  ${printable(`${path}: ${message}`)}`);
  const sentence = `${status} ${printable(`${code}: ${error}`)}${more.join('')}\n(${printable(String(requestId))})`;
  return new HeraldRefusal(status, sentence, retryAfterSeconds);
}

const unsent = { wasSent: false };

function notHerald(url: string, { status, headers }: Response): StartError {
  return new StartError(
    `${url} answered ${status} with ${headers.get('content-type') ?? 'nothing'}, not as Herald does: does --url name it?`,
  );
}

function parsed(text: string): object | null {
  try {
    return JSON.parse(text) as object | null;
  } catch {
    return null;
  }
}

function unreachable(url: string, error: unknown): Unreachable {
  const { name, cause } = error instanceof Error ? error : { name: '', cause: undefined };
  const { code = '', message = String(error) } = (cause ?? {}) as { code?: string; message?: string };
  const { hostname = url } = URL.parse(url) ?? {};
  if (name === 'TimeoutError') return new Unreachable(`${url} didn't answer within ${answerMaxMs / 1000} s.`);
  if (code === 'ECONNREFUSED')
    return new Unreachable(
      `Nothing listens at ${url}: start Herald (npm start), or say with --url where it is.`,
      unsent,
    );
  if (code === 'ENOTFOUND') return new Unreachable(`There is no host ${hostname}: does --url name it rightly?`, unsent);
  return new Unreachable(`${url} can't be reached: ${code === '' ? message : `${message} (${code})`}`);
}
