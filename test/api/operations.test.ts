// The operations port, the server around an app, and keys of a remote identity provider.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';

import { afterEach, describe, expect, it } from '@jest/globals';

import { createClock } from '../../src/adapters/node/clock.ts';
import { createRemoteTokenKeys } from '../../src/adapters/node/jwks.ts';
import { createOperations } from '../../src/api/operations.ts';
import type { HttpServer } from '../../src/api/server.ts';
import { listen } from '../../src/api/server.ts';
import type { Logger } from '../../src/ports/logger.ts';
import { UnknownTokenKeyError } from '../../src/ports/token-keys.ts';
import { createManualClock } from '../adapters/memory/manual-clock.ts';
import { startApp } from '../support/app.ts';
import { rawRequest } from '../support/raw-http.ts';
import { until } from '../support/until.ts';

const logger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const serve = async (app: Parameters<typeof listen>[0]): Promise<HttpServer & { url: string }> => {
  const server = await listen(app, { host: '127.0.0.1', port: 0, logger });
  closers.push(() => server.close(100));
  return { ...server, url: `http://127.0.0.1:${server.port}` };
};

describe('the operations port', () => {
  it('makes a page of metrics and looks at what is needed once for all who ask at the same moment, and has a line for each address that asks on', async () => {
    let [pages, looks, asked] = [0, 0, 0];
    let goesOn = Promise.withResolvers<void>();
    const clock = createManualClock();
    const operations = createOperations({
      dependencies: {
        async eventLog() {
          looks++;
          await goesOn.promise;
          return true;
        },
      },
      version: '1.2.3',
      metrics: {
        async read() {
          pages++;
          await goesOn.promise;
          return '';
        },
        contentType: 'text/plain; version=0.0.4',
      },
      closing: new AbortController().signal,
      // By a clock that stands nothing takes time, so nothing rests.
      clock: { ...clock, sleep: async (ms) => (ms > 0 ? clock.sleep(ms) : undefined) },
      logger,
    });
    const { port } = await serve((req, res) => {
      asked++;
      operations(req, res);
    });
    const get = (path: string, from = '127.0.0.1') =>
      rawRequest(port, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, { from });
    for (const path of ['/metrics', '/health/ready']) {
      asked = 0;
      goesOn = Promise.withResolvers();
      const answers = Array.from({ length: 40 }, () => get(path));
      await until(() => asked === 40, { what: 'all to ask' });
      goesOn.resolve();
      expect((await Promise.all(answers)).map(({ statuses }) => statuses)).toEqual(answers.map(() => [200]));
    }
    expect([pages, looks]).toEqual([1, 1]);
    let answered = 0;
    const lined = Array.from({ length: 60 }, () => get('/health/live').then(() => answered++));
    await until(() => answered === 21, { what: 'those that are answered at once' });
    expect((await get('/health/live', '127.0.0.2')).statuses).toEqual([200]);
    expect(answered).toBe(21);
    clock.advance(1000);
    await Promise.all(lined);
  });

  it('names each dependency and is ready only when all of them are up', async () => {
    const up = { log: true, views: true };
    const closing = new AbortController();
    const dependencies = {
      eventLog: async () => up.log,
      readModels: () => (up.views ? Promise.resolve(true) : Promise.reject(new Error('gone'))),
    };
    const metrics = { read: async () => 'herald_accepted_total 1\n', contentType: 'text/plain; version=0.0.4' };
    const { url } = await serve(
      createOperations({
        dependencies,
        version: '1.2.3',
        metrics,
        closing: closing.signal,
        clock: createClock(),
        logger,
      }),
    );
    const ready = async () => {
      const response = await fetch(`${url}/health/ready`);
      return [response.status, await response.json()];
    };
    expect(await ready()).toEqual([200, { status: 'ready', dependencies: { eventLog: 'up', readModels: 'up' } }]);
    up.log = false;
    up.views = false;
    expect(await ready()).toEqual([
      503,
      { status: 'not ready', dependencies: { eventLog: 'down', readModels: 'down' } },
    ]);
    const live = await fetch(`${url}/health/live`);
    expect([live.status, await live.json()]).toEqual([200, { status: 'live', version: '1.2.3' }]);
    up.log = true;
    up.views = true;
    closing.abort();
    expect((await ready())[0]).toBe(503);
    const page = await fetch(`${url}/metrics`);
    expect([page.headers.get('content-type'), await page.text()]).toEqual([
      'text/plain; version=0.0.4',
      'herald_accepted_total 1\n',
    ]);
    expect((await fetch(`${url}/api/v1/tenant`)).status).toBe(404);
  });
});

describe('the server', () => {
  const raw = (port: number, text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      let answer = '';
      const socket = connect(port, '127.0.0.1', () => socket.write(text));
      socket.on('data', (chunk) => (answer += chunk.toString()));
      socket.on('close', () => resolve(answer));
      socket.on('error', reject);
    });

  it('answers what is no HTTP, and headers beyond 16 KiB, in the one shape', async () => {
    const { port } = await serve((_req, res) => res.end());
    const nonsense = await raw(port, 'nonsense\r\n\r\n');
    expect(nonsense).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(nonsense.split('\r\n\r\n')[1] ?? '')).toMatchObject({ code: 'BAD_REQUEST', details: [] });
    expect(await raw(port, `GET / HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(17_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 /,
    );
  });

  it('finishes what is in flight when it closes', async () => {
    let finish = () => {};
    const arrived = Promise.withResolvers<void>();
    const server = await listen(
      (_req, res) => {
        finish = () => res.end('done');
        arrived.resolve();
      },
      { host: '127.0.0.1', port: 0, logger },
    );
    const response = fetch(`http://127.0.0.1:${server.port}/`);
    await arrived.promise;
    const closed = server.close(5000);
    finish();
    expect(await (await response).text()).toBe('done');
    await closed;
  });
});

describe('the keys of a remote identity provider', () => {
  it('are fetched once for all that they have, verify its tokens, and an unknown one is told from an unreachable provider', async () => {
    const app = await startApp({ delivers: false });
    closers.push(() => app.close());
    const jwks = app.tokens.jwks();
    const fetched: string[] = [];
    const idp = createServer((req, res) => {
      fetched.push(req.url ?? '');
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(JSON.stringify(jwks));
    });
    await new Promise<void>((resolve) => idp.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(idp.address() as AddressInfo).port}/jwks`;
    const keys = createRemoteTokenKeys({ url });
    const kid = jwks.keys[0]?.kid;
    const [key, again] = [await keys.keyFor({ kid, alg: 'ES256' }), await keys.keyFor({ kid, alg: 'ES256' })];
    expect(key.export({ format: 'jwk' })).toMatchObject({ kty: 'EC', x: jwks.keys[0]?.x });
    expect(again).toBe(key);
    await expect(keys.keyFor({ kid: 'other', alg: 'ES256' })).rejects.toBeInstanceOf(UnknownTokenKeyError);
    await expect(keys.keyFor({ kid, alg: 'HS256' })).rejects.toBeInstanceOf(UnknownTokenKeyError);
    // Once more for a key that isn't known.
    expect(fetched).toEqual(['/jwks', '/jwks']);
    idp.closeAllConnections();
    await new Promise((resolve) => idp.close(resolve));
    const unreachable = createRemoteTokenKeys({ url }).keyFor({ kid, alg: 'ES256' });
    await expect(unreachable).rejects.toThrow();
    await expect(unreachable).rejects.not.toBeInstanceOf(UnknownTokenKeyError);
  });
});
