// Calls of the API: typed by its document, as whoever is signed in. What a token that has ended refused is asked again with the next one.

import { noAnswer, problemOf } from './problem.ts';
import { noteReached, noteUnreachable, untilFollowed } from './reachable.ts';
import { noteInUse, tokenInUse, tokenAfter } from './session.ts';
import type { Answer, Body, MethodOf, Params, Path, Query, Template } from './wire.ts';

export interface Asked<P extends Path, M extends MethodOf<P>> {
  readonly params?: Params<P, M>;
  /** An absent value is left out. */
  readonly query?: Query<P, M> | Readonly<Record<string, string | undefined>>;
  readonly body?: Body<P, M>;
  /** In place of the token: what takes an API key alone. */
  readonly apiKey?: string;
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

/** Below whatever path a proxy has it. */
const base = new URL('api/v1/', document.baseURI);

/** Rejects with ApiProblem, or AbortError when `signal` aborts. */
export async function call<P extends Path, M extends MethodOf<P>>(
  method: M,
  path: P,
  asked: Asked<P, M> = {},
): Promise<Answer<P, M>> {
  return (await callWhole(method, path, asked)).body;
}

/** With the headers, which say of some answers what they are as of. */
export async function callWhole<P extends Path, M extends MethodOf<P>>(
  method: M,
  path: P,
  asked: Asked<P, M> = {},
): Promise<{ readonly body: Answer<P, M>; readonly headers: Headers }> {
  await untilFollowed();
  const response = await answerOf(method, addressOf(path, asked.params, asked.query), asked);
  return { body: (await response.json()) as Answer<P, M>, headers: response.headers };
}

/** All pages of a list that says by its header `Link` where it goes on. */
export async function allTemplates(signal: AbortSignal): Promise<readonly Template[]> {
  const all: Template[] = [];
  let next: URL | null = addressOf('/templates');
  while (next !== null) {
    const response: Response = await answerOf('get', next, { signal });
    all.push(...((await response.json()) as readonly Template[]));
    const link = /<([^>]+)>;\s*rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
    const cursor = link === undefined ? null : new URL(link, base).searchParams.get('cursor');
    next = cursor === null ? null : addressOf('/templates', undefined, { cursor });
  }
  return all;
}

/** The list as lines, while they come. Rejects with ApiProblem. */
export async function openCsv(query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response> {
  return answerOf('get', addressOf('/notifications.csv', {}, query), { signal }, { accept: 'text/csv' });
}

/** Rejects with ApiProblem. @param answerMaxMs until its answer begins; a person who signs in meanwhile may take longer */
export async function openStream(
  lastEventId: string | null,
  answerMaxMs: number,
  signal: AbortSignal,
): Promise<Response> {
  const headers = { accept: 'text/event-stream', ...(lastEventId === null ? {} : { 'last-event-id': lastEventId }) };
  return answerOf('get', addressOf('/dashboard/stream'), { signal, answerMaxMs }, headers);
}

function addressOf(path: string, params: object = {}, query: object = {}): URL {
  const values = new Map(Object.entries(params));
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values.get(name))));
  const url = new URL(filled.slice(1), base);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') url.searchParams.set(name, String(value));
  }
  return url;
}

/** Until an answer begins: the service takes some 10 s for a read at most, and what waits for an answer (the next round, a dialog that is kept) goes on then. */
const readMaxMs = 30_000;
/** Of what changes something: a test waits for its provider, an append for the log. */
const changeMaxMs = 60_000;

interface Sent {
  readonly body?: unknown;
  readonly apiKey?: string;
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
  /** Absent: what is enough for each other call. */
  readonly answerMaxMs?: number;
}

async function answerOf(
  method: string,
  url: URL,
  sent: Sent,
  more: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const { body, apiKey, idempotencyKey, signal, answerMaxMs = method === 'get' ? readMaxMs : changeMaxMs } = sent;
  const token = tokenInUse();
  const unanswered = new AbortController();
  const limit = setTimeout(() => unanswered.abort(), answerMaxMs);
  const init: RequestInit = {
    method: method.toUpperCase(),
    headers: {
      ...(apiKey === undefined ? { authorization: `Bearer ${token}` } : { 'x-api-key': apiKey }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      ...more,
    },
    cache: 'no-store',
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: signal === undefined ? unanswered.signal : AbortSignal.any([signal, unanswered.signal]),
  };
  const response = await fetch(url, init)
    .catch((failure: unknown) => {
      if (signal?.aborted === true) throw failure;
      noteUnreachable();
      throw noAnswer();
    })
    .finally(() => clearTimeout(limit));
  noteReached();
  if (response.status !== 401 && apiKey === undefined) noteInUse();
  if (response.ok) return response;
  const problem = problemOf(response.status, await response.text(), response.headers.get('retry-after'));
  if (response.status === 401 && apiKey === undefined) {
    await tokenAfter(token, problem.message, signal);
    return answerOf(method, url, sent, more);
  }
  throw problem;
}
