// One request over fetch, tried again as long as that can do no harm.

import { HeraldConnectionError, HeraldError } from './errors.ts';
import type { TokenSource } from './held-token.ts';
import { holdToken } from './held-token.ts';
import type { CallOptions, Schemas } from './operations.ts';
import { retryAfterMsOf, sleep, waitMs } from './waiting.ts';

export interface TransportOptions {
  /** Where the service is reached, without the API's own path: `https://herald.example.com`. */
  readonly url: string;
  /** Of a backend: a secret, which no page may hold. */
  readonly apiKey?: string;
  /** A bearer token: of a person of the tenant, or of an inbox. */
  readonly token?: string | TokenSource;
  /** Of each attempt; 30 s unless it is said, and of a batch 75 s at least. */
  readonly timeoutMs?: number;
  /** 4 unless it is said. */
  readonly attemptsMax?: number;
  /** What asks for a longer wait is not tried again; 60 s unless it is said. */
  readonly retryAfterMaxMs?: number;
  readonly fetch?: typeof fetch;
}

export interface Outgoing extends CallOptions {
  readonly method: string;
  /** With its query, below `/api/v1`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Asked twice it does nothing twice: it is repeated where no answer came. */
  readonly isRepeatable: boolean;
}

export interface Incoming {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export function createTransport(options: TransportOptions) {
  const { timeoutMs: usualTimeoutMs = 30_000, attemptsMax = 4, retryAfterMaxMs = 60_000 } = options;
  const base = `${options.url.replace(/\/+$/, '')}/api/v1`;
  const call = options.fetch ?? globalThis.fetch.bind(globalThis);
  const tokens = holdToken(options.token);

  /** The answer, whatever it says. Rejects where none came. */
  const fetchOnce = async (out: Omit<Outgoing, 'isRepeatable'>, signal: AbortSignal | undefined): Promise<Response> => {
    const once = async (isRenewed: boolean): Promise<Response> => {
      const token = await abortable(tokens.now(), signal);
      const headers = new Headers(out.headers);
      if (options.apiKey !== undefined) headers.set('x-api-key', options.apiKey);
      if (token !== null) headers.set('authorization', `Bearer ${token}`);
      const { method, body } = out;
      const response = await call(base + out.path, {
        method,
        headers,
        ...(body === undefined ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
      });
      if (response.status !== 401 || token === null || isRenewed || !(await tokens.isRenewed(token))) return response;
      await response.body?.cancel();
      return once(true);
    };
    return once(false);
  };

  const attempt = async (out: Outgoing): Promise<Incoming | HeraldError | HeraldConnectionError> => {
    const limit = AbortSignal.timeout(out.timeoutMs ?? usualTimeoutMs);
    const signal = out.signal === undefined ? limit : AbortSignal.any([out.signal, limit]);
    try {
      const response = await fetchOnce(out, signal);
      const { status, headers } = response;
      const text = await response.text();
      return response.ok ? { status, headers, text } : refusal(response, text);
    } catch (cause) {
      out.signal?.throwIfAborted();
      return new HeraldConnectionError(cause);
    }
  };

  return {
    /** @throws HeraldError, HeraldConnectionError, and the signal's reason */
    async send(out: Outgoing): Promise<Incoming> {
      for (let failures = 1; ; failures++) {
        const result = await attempt(out);
        if (!(result instanceof Error)) return result;
        const retryAfterMs = result instanceof HeraldError ? result.retryAfterMs : null;
        const isOver = failures >= attemptsMax || (retryAfterMs ?? 0) > retryAfterMaxMs;
        if (isOver || !mayRepeat(result, out.isRepeatable)) throw result;
        await sleep(waitMs(failures, retryAfterMs), out.signal);
      }
    },

    /** An answer whose body is read as it comes, without a time limit of its own: who reads it has one. @throws HeraldError, HeraldConnectionError, and the signal's reason */
    async open(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response> {
      let response: Response;
      try {
        response = await fetchOnce({ method: 'GET', path, headers }, signal);
      } catch (cause) {
        throw new HeraldConnectionError(cause);
      }
      if (response.ok) return response;
      throw refusal(response, await response.text().catch(() => ''));
    },
  };
}

/** A token may be long in coming. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/** Nothing was done for a 429; what a proxy or a stopping service has answered may have been done, and may be asked for again where that does nothing twice. */
function mayRepeat(failure: HeraldError | HeraldConnectionError, isRepeatable: boolean): boolean {
  if (failure instanceof HeraldConnectionError) return isRepeatable;
  const { status, retryAfterMs } = failure;
  if (status === 429) return true;
  // A request of the same key is under way.
  if (status === 409) return isRepeatable && retryAfterMs !== null;
  return isRepeatable && (status === 408 || status === 502 || status === 503 || status === 504);
}

function refusal({ status, headers }: Response, text: string): HeraldError {
  return new HeraldError(status, jsonOf(text), retryAfterMsOf(headers));
}

function jsonOf(text: string): Partial<Schemas['Error']> {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null ? body : {};
  } catch {
    return {};
  }
}
