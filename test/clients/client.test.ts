// The typed client against the service: the main job, pages, streams that are cut, and what it repeats and what it doesn't.

import type { ServerResponse } from 'node:http';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Herald, HeraldOptions } from '../../clients/typescript/src/index.ts';
import { createHerald, HeraldConnectionError, HeraldError } from '../../clients/typescript/src/index.ts';
import { follow } from '../../clients/typescript/src/server-sent-events.ts';
import { waitMs } from '../../clients/typescript/src/waiting.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { FaultyProxy } from '../support/faulty-proxy.ts';
import { startFaultyProxy } from '../support/faulty-proxy.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';

let app: App;
let proxy: FaultyProxy;
let tenant: Awaited<ReturnType<App['tenant']>>;
let herald: Herald;

beforeAll(async () => {
  app = await startApp();
  proxy = await startFaultyProxy({ target: new URL(app.url).host });
  tenant = await app.tenant('client', { email: 'owner@example.com' });
  herald = createHerald({ url: `${app.url}/`, apiKey: tenant.apiKey, token: tenant.token });
});

afterAll(async () => {
  await app.close();
  await proxy.close();
});

const to = (recipient: string, body = 'World') => ({ channel: 'IN_APP', recipient, subject: 'Hello', body }) as const;
const has = (recipient: string, count: number) =>
  until(
    async () =>
      (await herald.request('GET /notify/inapp/{userId}', { path: { userId: recipient } })).unreadCount === count,
    { what: `${count} items` },
  );

describe('a call', () => {
  it('sends, and reads back what became of it', async () => {
    const { data, headers } = await herald.receive('POST /notify', { body: to('ada/ä b') });
    const afterPosition = headers.get('x-event-position') ?? '';
    const path = { id: data.notificationId };
    expect(await herald.request('GET /notifications/{id}', { path, afterPosition })).toMatchObject({
      notification: { id: data.notificationId, recipient: 'ada/ä b' },
    });
    await has('ada/ä b', 1);
    const { notifications } = await herald.request('GET /notify/inapp/{userId}', { path: { userId: 'ada/ä b' } });
    expect(notifications).toMatchObject([{ title: 'Hello', read: false }]);
    const read = { path: { userId: 'ada/ä b' }, body: { ids: [notifications[0]?.id ?? ''] } };
    expect(await herald.request('POST /notify/inapp/{userId}/read', read)).toEqual({ success: true, updated: 1 });
  });

  it('rejects with what the service said', async () => {
    const refused = herald.notify({ channel: 'SMS', recipient: 'nobody', body: 'x' });
    await expect(refused).rejects.toBeInstanceOf(HeraldError);
    await expect(refused).rejects.toMatchObject({
      status: 400,
      code: 'BAD_REQUEST',
      details: [{ path: 'recipient' }],
      requestId: expect.stringMatching(/^req_/),
    });
  });

  it.each(['', '.', '..', undefined])(
    'to %j, which no address can hold, is refused before it is another one',
    async (none) => {
      const path = { userId: none as string };
      await expect(herald.request('GET /notify/inapp/{userId}', { path })).rejects.toBeInstanceOf(TypeError);
      await expect(herald.stream('GET /notify/inapp/{userId}/stream', { path }).next()).rejects.toBeInstanceOf(
        TypeError,
      );
      for (const dotted of ['...', '.a', '%2e%2e'])
        expect(await herald.request('GET /notify/inapp/{userId}', { path: { userId: dotted } })).toMatchObject({
          unreadCount: 0,
        });
    },
  );

  it('takes the items of a batch one by one, each under a key of its own', async () => {
    const { accepted, results } = await herald.notifyBatch([
      to('batch', 'a'),
      { ...to('batch', 'b'), idempotencyKey: '1' },
    ]);
    expect(accepted).toBe(2);
    expect(results).toHaveLength(2);
    await has('batch', 2);
  });

  it('filters by metadata, as the query of an object', async () => {
    await herald.notify({ ...to('meta'), metadata: { order: '17' } });
    await herald.notify({ ...to('meta'), metadata: { order: '18' } });
    const found = await until(async () => {
      const { data } = await herald.request('GET /notifications', { query: { metadata: { order: '17' } } });
      return data.length > 0 ? data : null;
    });
    expect(found).toMatchObject([{ metadata: { order: '17' } }]);
    expect(await herald.request('GET /notifications.csv', { query: { recipient: 'meta' } })).toMatch(/^[^{]+,[^]*meta/);
  });

  it('goes through all pages, by either kind of cursor', async () => {
    await herald.notifyBatch(Array.from({ length: 7 }, (_, i) => to('pages', String(i))));
    await has('pages', 7);
    const bodies: string[] = [];
    const inbox = { path: { userId: 'pages' }, query: { limit: 3 } };
    for await (const { body } of herald.each('GET /notify/inapp/{userId}', inbox)) bodies.push(body);
    expect(bodies.toSorted()).toEqual(['0', '1', '2', '3', '4', '5', '6']);
    const sizes: number[] = [];
    for await (const { data } of herald.pages('GET /notifications', { query: { recipient: 'pages', limit: 4 } }))
      sizes.push(data.length);
    expect(sizes).toEqual([4, 3]);
    for (const name of ['a', 'b', 'c'])
      await herald.request('POST /templates', { body: { name, channel: 'IN_APP', subject: null, body: name } });
    const names: string[] = [];
    for await (const { name } of herald.each('GET /templates', { query: { limit: 1 } })) names.push(name);
    expect(names).toEqual(['c', 'b', 'a']);
  });
});

describe('a stream', () => {
  it('tells each message once, however often it is cut', async () => {
    const { token } = await herald.request('POST /notify/inapp/{userId}/token', { path: { userId: 'cut' } });
    const browser = createHerald({ url: `http://${proxy.address}`, token });
    const [seen, cuts]: [string[], unknown[]] = [[], []];
    let opened = 0;
    const ending = new AbortController();
    const listening = (async () => {
      const options = { signal: ending.signal, onCut: (cause: unknown) => cuts.push(cause) };
      for await (const { event, data } of browser.stream('GET /notify/inapp/{userId}/stream', {
        path: { userId: 'cut' },
        ...options,
      })) {
        if (event === 'connected') opened++;
        if (event === 'notification') seen.push(data.body);
      }
    })();
    await until(() => opened > 0, { what: 'the stream' });
    for (let i = 0; i < 5; i++) {
      proxy.cut();
      await herald.notifyBatch(Array.from({ length: 10 }, (_, j) => to('cut', `${i * 10 + j}`)));
      proxy.mend();
      await until(() => seen.length >= (i + 1) * 10, { what: `${(i + 1) * 10} items` });
    }
    expect(seen.map(Number).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i));
    expect(cuts.length).toBeGreaterThanOrEqual(5);
    ending.abort(new Error('enough'));
    await expect(listening).rejects.toThrow('enough');
  }, 60_000);

  it('of the dashboard tells changes, and ends with its loop', async () => {
    const statuses: string[] = [];
    let isOpen = false;
    const listening = (async () => {
      for await (const { data } of herald.stream('GET /dashboard/stream')) {
        if ('event' in data) isOpen = true;
        else if (data.recipient === 'watched') statuses.push(data.status);
        if (statuses.includes('DELIVERED')) break;
      }
    })();
    await until(() => isOpen, { what: 'the stream' });
    await herald.notify(to('watched'));
    await listening;
    expect(statuses.at(-1)).toBe('DELIVERED');
  });

  it('ends with a refusal that trying again does not mend', async () => {
    const stranger = createHerald({ url: app.url, token: 'none' });
    const first = stranger.stream('GET /notify/inapp/{userId}/stream', { path: { userId: 'ada' } }).next();
    await expect(first).rejects.toMatchObject({ status: 401 });
  });

  it('asks for another token when its own has ended, and goes on', async () => {
    const asked: (string | null)[] = [];
    const fresh = async (refused: string | null) => {
      asked.push(refused);
      const body = { expiresInSeconds: asked.length === 1 ? 2 : 60 };
      return (await herald.request('POST /notify/inapp/{userId}/token', { path: { userId: 'eve' }, body })).token;
    };
    const browser = createHerald({ url: app.url, token: fresh });
    const bodies: string[] = [];
    for await (const { event, data } of browser.stream('GET /notify/inapp/{userId}/stream', {
      path: { userId: 'eve' },
    })) {
      if (event === 'connected') await herald.notify(to('eve', `under token ${asked.length}`));
      if (event === 'notification') bodies.push(data.body);
      if (bodies.length === 2) break;
    }
    expect(asked).toEqual([null, expect.any(String)]);
    expect(bodies).toEqual(['under token 1', 'under token 2']);
  });
});

it('a stream begins behind the message that is named, and is told where it goes on from then', async () => {
  const opened: (string | null)[] = [];
  const stream = follow({
    open: (lastEventId) => {
      opened.push(lastEventId);
      return Promise.resolve(new Response(`id: ${opened.length}\ndata: x\n\n`));
    },
    signal: undefined,
    onCut: undefined,
    lastEventId: 'left-here',
  });
  for (let i = 0; i < 3; i++) await stream.next();
  await stream.return();
  expect(opened).toEqual(['left-here', '1', '2']);
});

it('what was left is told where a stream is taken up again by another client', async () => {
  const path = { userId: 'left' };
  const next = async (lastEventId?: string) => {
    const options = { path, ...(lastEventId !== undefined && { lastEventId }) };
    for await (const { event, id, data } of herald.stream('GET /notify/inapp/{userId}/stream', options))
      if (event === (lastEventId === undefined ? 'connected' : 'notification')) return { id, data };
    return null;
  };
  const left = await next();
  await herald.notify(to('left', 'meanwhile'));
  expect((await next(left?.id))?.data).toMatchObject({ body: 'meanwhile' });
});

it('clients that are refused in one moment come again spread over half of what they are told to wait', () => {
  const waits = Array.from({ length: 200 }, () => waitMs(1, 60_000));
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(60_000);
  expect(Math.max(...waits)).toBeLessThanOrEqual(90_000);
  expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(20_000);
});

it('a stream whose opening is never answered is opened again', async () => {
  const ending = new AbortController();
  let opened = 0;
  const unanswered = (signal: AbortSignal) =>
    new Promise<Response>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
  const stream = follow({
    open: (_, signal) => (++opened === 1 ? unanswered(signal) : Promise.resolve(new Response('data: it is open\n\n'))),
    signal: ending.signal,
    onCut: undefined,
    silenceMaxMs: 50,
  });
  expect((await stream.next()).value).toMatchObject({ data: 'it is open' });
  ending.abort();
});

describe('what is answered with trouble', () => {
  let sink: HttpSink;
  let answers: ((response: ServerResponse) => void)[];

  beforeEach(async () => {
    answers = [];
    sink = await startHttpSink({
      respond: (_, response) => {
        const answer = answers.shift() ?? done;
        answer(response);
      },
    });
  });
  afterEach(() => sink.close());

  const done = (response: ServerResponse) =>
    response.writeHead(202).end('{"notificationId":"notif_1","status":"queued"}');
  const status =
    (code: number, headers: Record<string, string> = {}) =>
    (response: ServerResponse) =>
      response.writeHead(code, headers).end('{}');
  const cut = (response: ServerResponse) => response.destroy();
  const client = (more: Partial<HeraldOptions> = {}) => createHerald({ url: sink.url, apiKey: 'nk_1', ...more });
  const keys = () => sink.requests.map(({ headers }) => headers['idempotency-key']);

  it('is sent again under the same key, until it is answered', async () => {
    answers = [cut, status(503), status(502)];
    expect(await client().notify(to('ada'))).toMatchObject({ notificationId: 'notif_1' });
    expect(sink.requests).toHaveLength(4);
    expect(new Set(keys()).size).toBe(1);
    expect(keys()[0]).toMatch(/^[\w-]{36}$/);
    await client().notify(to('ada'), { idempotencyKey: 'order-17' });
    expect(keys().at(-1)).toBe('order-17');
  });

  it('waits as long as Retry-After says, and no longer than it may', async () => {
    answers = [status(429, { 'retry-after': '1' })];
    const from = performance.now();
    await client().notify(to('ada'));
    expect(performance.now() - from).toBeGreaterThan(990);
    answers = [status(429, { 'retry-after': '61' })];
    await expect(client().notify(to('ada'))).rejects.toMatchObject({ status: 429, retryAfterMs: 61_000 });
    answers = [status(503, { 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() })];
    await expect(client().notify(to('ada'))).rejects.toMatchObject({ status: 503 });
  });

  it('is said to be where a 200 is none of the service', async () => {
    const page = (response: ServerResponse) => response.end('<html>Sign in to this network</html>');
    answers = [page, page, page];
    const none = { name: 'HeraldError', status: 200, code: null, message: 'The answer was 200, without JSON.' };
    await expect(client().notify(to('ada'))).rejects.toMatchObject(none);
    await expect(client().request('GET /tenant')).rejects.toMatchObject(none);
    await expect(client().each('GET /notifications').next()).rejects.toMatchObject(none);
    expect(sink.requests).toHaveLength(3);
  });

  it('is given up after so many attempts', async () => {
    answers = [status(503), status(503), status(503)];
    await expect(client({ attemptsMax: 2 }).notify(to('ada'))).rejects.toMatchObject({ status: 503 });
    expect(sink.requests).toHaveLength(2);
  });

  it('is not repeated where that could do something twice, unless nothing was done', async () => {
    const path = { id: 'notif_1' };
    for (const answer of [cut, status(503), status(502)]) {
      answers = [answer];
      await expect(client().request('POST /notifications/{id}/retry', { path })).rejects.toThrow();
    }
    expect(sink.requests).toHaveLength(3);
    answers = [status(429)];
    await client().request('POST /notifications/{id}/retry', { path });
    expect(sink.requests).toHaveLength(5);
    for (const code of [400, 401, 403, 404, 422, 500]) {
      answers = [status(code)];
      await expect(client().notify(to('ada'))).rejects.toMatchObject({ status: code, code: null });
    }
    expect(sink.requests).toHaveLength(11);
  });

  it('is repeated where it marks an inbox by ids, and not where it marks all up to now: those are others by then', async () => {
    const read = 'POST /notify/inapp/{userId}/read';
    const path = { userId: 'ada' };
    const marked = (response: ServerResponse) => response.end('{"success":true,"updated":1}');
    answers = [cut, marked];
    expect(await client().request(read, { path, body: { ids: ['notif_1'] } })).toEqual({ success: true, updated: 1 });
    for (const body of [undefined, {}]) {
      answers = [cut, marked];
      await expect(client().request(read, { path, ...(body && { body }) })).rejects.toBeInstanceOf(
        HeraldConnectionError,
      );
    }
    expect(sink.requests).toHaveLength(4);
  });

  it('waits for a batch as long as one may take, unless the call says otherwise', async () => {
    const batch = '{"batchId":"batch_1","accepted":1,"rejected":0,"results":[]}';
    const late = (response: ServerResponse) => void setTimeout(() => response.end(batch), 300);
    const impatient = client({ timeoutMs: 50, attemptsMax: 1 });
    answers = [late, late];
    expect((await impatient.notifyBatch([to('ada')])).accepted).toBe(1);
    await expect(impatient.notifyBatch([to('ada')], { timeoutMs: 50 })).rejects.toBeInstanceOf(HeraldConnectionError);
  });

  it('ends by its time limit, and by its signal at once, between attempts too', async () => {
    const silent = () => undefined;
    answers = [silent, silent];
    await expect(client({ timeoutMs: 50, attemptsMax: 2 }).notify(to('ada'))).rejects.toBeInstanceOf(
      HeraldConnectionError,
    );
    answers = [silent];
    const stop = new AbortController();
    const call = client().notify(to('ada'), { signal: stop.signal });
    await until(() => sink.requests.length === 3);
    stop.abort(new Error('stopped'));
    await expect(call).rejects.toThrow('stopped');
    answers = [status(503, { 'retry-after': '30' })];
    const waiting = client().notify(to('ada'), { signal: AbortSignal.timeout(200) });
    await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  it('asks for another token once, however many calls were refused', async () => {
    let asked = 0;
    const refusing = await startHttpSink({
      respond: ({ headers }, response) =>
        response.writeHead(headers.authorization === 'Bearer 2' ? 200 : 401).end('{"data":[]}'),
    });
    const own = createHerald({ url: refusing.url, token: () => String(++asked) });
    await Promise.all([own.request('GET /refusals'), own.request('GET /refusals'), own.request('GET /refusals')]);
    expect(asked).toBe(2);
    const given = createHerald({ url: refusing.url, token: 'ended' });
    await expect(given.request('GET /refusals')).rejects.toMatchObject({ status: 401 });
    await refusing.close();
  });
});

it('a token holds until its end, however often another one was not to be had', async () => {
  const part = (claims: object) => Buffer.from(JSON.stringify(claims)).toString('base64url');
  // Whole seconds: it holds for one to two.
  const lasting = `${part({ alg: 'none' })}.${part({ exp: Math.floor(Date.now() / 1000) + 2 })}.x`;
  const asked: (string | null)[] = [];
  let sent = 0;
  const own = createHerald({
    url: 'http://service.invalid',
    attemptsMax: 1,
    token: (last) => {
      asked.push(last);
      if (asked.length === 1) return lasting;
      throw new Error('the backend is away');
    },
    fetch: async (_, init) => {
      expect(new Headers(init?.headers).get('authorization')).toBe(`Bearer ${lasting}`);
      sent++;
      return new Response('{"data":[]}');
    },
  });
  await own.request('GET /refusals');
  await until(async () => (await own.request('GET /refusals'), asked.length >= 3), { what: 'other tokens' });
  await Promise.all([own.request('GET /refusals'), own.request('GET /refusals')]);
  expect(new Set(asked)).toEqual(new Set([null, lasting]));
  expect(sent).toBeGreaterThanOrEqual(5);
});

it.each(['<html>\r\n<h1>502</h1>\r\n</html>', 'Bad gateway', ''])(
  'asks again for a token where what was given is none: %j',
  async (none) => {
    const given = [none, 'ended', none];
    const sink = await startHttpSink({
      respond: ({ headers }, response) =>
        response.writeHead(headers.authorization === 'Bearer good' ? 200 : 401).end('{"data":[]}'),
    });
    const own = createHerald({ url: sink.url, token: () => given.shift() ?? 'good' });
    await own.request('GET /refusals');
    // What is none has never been sent.
    expect(sink.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer ended', 'Bearer good']);
    await sink.close();
  },
);

it('keeps a key for every operation that takes one, and for no other', async () => {
  const { body: document } = await app.call('GET', '/openapi.json', {});
  const sink = await startHttpSink({ respond: (_, response) => response.end('{}') });
  const all = createHerald({ url: sink.url, apiKey: 'nk_1' }) as unknown as {
    request(name: string, input: object): Promise<unknown>;
  };
  const path = { id: '1', userId: '1', channel: '1', recipient: '1', provider: '1', token: '1', version: '1' };
  for (const [pattern, methods] of Object.entries<Record<string, { parameters?: { name: string }[] }>>(document.paths))
    for (const [method, { parameters = [] }] of Object.entries(methods)) {
      await all.request(`${method.toUpperCase()} ${pattern}`, { path });
      const takesKey = parameters.some(({ name }) => name === 'idempotency-key');
      expect([pattern, sink.requests.at(-1)?.headers['idempotency-key'] !== undefined]).toEqual([pattern, takesKey]);
    }
  await sink.close();
});
