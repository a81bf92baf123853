// The wall: what is no HTTP, what means two things at once, clients that send or read slowly, and too many of them.

import { connect } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { listen, serverLimits } from '../../../src/api/server.ts';
import type { MetricsRegistry } from '../../../src/adapters/node/metrics.ts';
import type { App } from '../../support/app.ts';
import { startApp } from '../../support/app.ts';
import { ambiguousRequests, hardlyHttp, rawPost } from '../../support/hostile.ts';
import { rawRequest } from '../../support/raw-http.ts';
import { expectAlive, expectHarmless } from '../../support/unharmed.ts';
import { until } from '../../support/until.ts';

/** The shipped ones, a hundred times faster. */
const server = {
  headersTimeout: 300,
  requestTimeout: 600,
  connectionsCheckingInterval: 50,
  silenceTimeout: 2000,
  maxConnections: 60,
};
const cutWithinMs = 1500;

let app: App;
let port: number;
let apiKey: string;

beforeAll(async () => {
  app = await startApp({ delivers: false, server });
  port = Number(new URL(app.url).port);
  ({ apiKey } = await app.tenant('owner'));
});

afterAll(async () => {
  await expectAlive(app);
  await app.close();
});

const notification = '{"channel":"IN_APP","recipient":"u","body":"b"}';
const json = 'Content-Type: application/json';
const length = (bytes: number | string) => `Content-Length: ${bytes}`;
const post = (headers: readonly string[], body = '', path = '/api/v1/notify') => rawPost(apiKey, headers, body, path);

describe('a request that means two things', () => {
  it.each(Object.entries(ambiguousRequests))('is refused, and its connection closed: %s', async (_, make) => {
    const answer = await rawRequest(port, make(apiKey), { answers: 2, withinMs: 900 });
    expect(answer.statuses.length).toBeLessThanOrEqual(1);
    expect(answer.statuses[0] ?? 400).toBe(400);
    expect(answer.closed).toBe(true);
    expectHarmless({ status: 400, text: answer.text, tookMs: answer.tookMs });
  });
});

describe('what is hardly HTTP', () => {
  it.each(Object.entries(hardlyHttp))('gets an answer of one shape: %s', async (_, [bytes, status]) => {
    const answer = await rawRequest(port, Buffer.from(bytes, 'latin1'), { withinMs: 900 });
    expect(answer.statuses).toEqual([status]);
    expectHarmless({ status, text: answer.text, tookMs: answer.tookMs });
    expect(answer.text).toMatch(/content-type: application\/json/i);
    expect(answer.text).toMatch(/\{"code":"[A-Z_]+","error":"[^"]+/);
    expect(answer.text).not.toContain('X-Echo');
  });

  it('CONNECT is hung up on', async () => {
    const answer = await rawRequest(port, 'CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: x\r\n\r\n', { withinMs: 900 });
    expect([answer.text, answer.closed]).toEqual(['', true]);
  });
});

describe('a client that is slow', () => {
  const cut = { answers: 2, withinMs: cutWithinMs * 2 };

  it.each([
    ['that says nothing', '', undefined],
    ['in the first line', 'GET /api', { bytes: 'x', everyMs: 40 }],
    ['in its headers', 'GET /api/v1/tenant HTTP/1.1\r\nHost: x\r\n', { bytes: 'X-a: b\r\n', everyMs: 40 }],
  ])('%s is cut', async (_, bytes, drip) => {
    const answer = await rawRequest(port, bytes, { ...cut, ...(drip === undefined ? {} : { drip }) });
    expect(answer.closed).toBe(true);
    expect(answer.tookMs).toBeLessThan(cutWithinMs);
    expect(answer.statuses.every((status) => status === 408)).toBe(true);
  });

  it.each([
    ['in a body with a length', ['Content-Length: 1000'], '{'],
    ['in a body of chunks', ['Transfer-Encoding: chunked'], '1\r\n{\r\n'],
  ])('%s is cut, on every kind of route', async (_, headers, begun) => {
    const drip = { bytes: headers[0] === 'Transfer-Encoding: chunked' ? '1\r\n \r\n' : ' ', everyMs: 40 };
    for (const path of ['/api/v1/notify', '/api/v1/notify/inapp/u/read', '/api/v1/nothing']) {
      const answer = await rawRequest(port, post([json, ...headers], begun, path), { ...cut, drip });
      expect([path, answer.closed]).toEqual([path, true]);
      // What is refused before its body has come is read on for 2 s at most, so that the answer arrives.
      expect(answer.tookMs).toBeLessThan(cutWithinMs + 1000);
      expect(answer.statuses.every((status) => status < 500)).toBe(true);
    }
  });

  it('that sends without end to a refusal is cut', async () => {
    const bytes = post(['Transfer-Encoding: chunked'], '1\r\n{\r\n').replace(apiKey, 'nk_wrong');
    const answer = await rawRequest(port, bytes, {
      withinMs: 4000,
      drip: { bytes: `400\r\n${'x'.repeat(1024)}\r\n`, everyMs: 20 },
    });
    expect(answer.statuses[0]).toBe(401);
    expect(answer.closed).toBe(true);
  });

  it('does not hold up the others', async () => {
    const slow = Array.from({ length: 40 }, () => rawRequest(port, 'POST /api/v1/notify HTTP/1.1\r\n', cut));
    const startedAt = performance.now();
    const answer = await rawRequest(port, post([json, length(notification.length)], notification));
    expect(answer.statuses).toEqual([202]);
    expect(performance.now() - startedAt).toBeLessThan(cutWithinMs);
    expect((await Promise.all(slow)).every(({ closed }) => closed)).toBe(true);
  });
});

describe('connections', () => {
  it('over the cap are closed as they come, and there is room again when others end', async () => {
    await until(async () => (await rawRequest(port, 'GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n')).statuses[0] === 404);
    const open = Array.from({ length: server.maxConnections + 20 }, () => connect({ port, host: '127.0.0.1' }));
    let closed = 0;
    for (const socket of open) socket.on('error', () => undefined).on('close', () => closed++);
    await until(() => closed >= 20, { what: 'those over the cap to be closed' });
    for (const socket of open) socket.destroy();
    await until(async () => (await rawRequest(port, 'GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n')).statuses[0] === 404);
  });

  it('of clients that were cut and ignore it are free a second later', async () => {
    const slow = await startApp({ delivers: false, server: { ...server, silenceTimeout: 60_000, maxConnections: 3 } });
    const slowPort = Number(new URL(slow.url).port);
    let told = 0;
    // Half a request, and a client that doesn't close its side.
    const half = Array.from({ length: 3 }, () => {
      const socket = connect({ port: slowPort, host: '127.0.0.1', allowHalfOpen: true });
      socket.on('error', () => undefined).on('end', () => told++);
      socket.resume().write('GET /api/v1/tenant HTTP/1.1\r\nHost: x\r\n');
      return socket;
    });
    await until(() => told === 3, { what: 'all to be told that they took too long' });
    const get = 'GET /api/v1/tenant HTTP/1.1\r\nHost: x\r\n\r\n';
    await until(async () => (await rawRequest(slowPort, get)).statuses[0] === 401, { what: 'a place' });
    for (const socket of half) socket.destroy();
    await slow.close();
  });

  describe('of one address', () => {
    const get = 'GET /api/v1/tenant HTTP/1.1\r\nHost: x\r\n\r\n';
    const forwarded = (to: string, method = 'GET') =>
      `${method} /api/v1/tenant HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${to}\r\n`;
    const refused = async (from: App) => {
      const { deps } = from;
      return (deps.metrics as MetricsRegistry).read();
    };

    it('are capped: half requests of one lock nobody else out, and it has its places back when they have ended', async () => {
      const capped = await startApp({
        delivers: false,
        server: { maxConnections: 50, connectionsPerAddress: 10 },
      });
      const cappedPort = Number(new URL(capped.url).port);
      let closed = 0;
      const half = Array.from({ length: 60 }, () => {
        const socket = connect({ port: cappedPort, host: '127.0.0.1', localAddress: '127.0.0.2' });
        socket.on('error', () => undefined).on('close', () => closed++);
        socket.write('GET /api/v1/tenant HTTP/1.1\r\n');
        return socket;
      });
      await until(() => closed === 50, { what: 'those over the cap to be closed' });
      expect((await rawRequest(cappedPort, get)).statuses).toEqual([401]);
      // Whatever it says of itself: it is no proxy that is trusted.
      const spoofed = await rawRequest(cappedPort, `${forwarded('203.0.113.7')}\r\n`, { from: '127.0.0.2' });
      expect([spoofed.statuses, spoofed.closed]).toEqual([[], true]);
      expect(await refused(capped)).toMatch(/herald_connections_refused_total\{reason="address"\} 51/);
      for (const socket of half) socket.destroy();
      await until(async () => (await rawRequest(cappedPort, get, { from: '127.0.0.2' })).statuses[0] === 401);
      await capped.close();
    });

    it('are requests at once behind a trusted proxy, by the address that it names', async () => {
      const capped = await startApp({
        delivers: false,
        server: { connectionsPerAddress: 3 },
        trustedProxies: ['127.0.0.1/32'],
      });
      const cappedPort = Number(new URL(capped.url).port);
      const { apiKey: key } = await capped.tenant('owner');
      const post = (client: string) =>
        `POST /api/v1/notify HTTP/1.1\r\nHost: x\r\nx-api-key: ${key}\r\n${json}\r\nX-Forwarded-For: ${client}\r\n`;
      // Bodies that don't come, claimed to be of others.
      const slow = Array.from({ length: 3 }, (_, i) => {
        const socket = connect({ port: cappedPort, host: '127.0.0.1' });
        socket.on('error', () => undefined);
        socket.write(`${post(`198.51.100.${i}, 203.0.113.7`)}${length(1000)}\r\n\r\n{`);
        return socket;
      });
      const whole = (client: string) => `${post(client)}${length(notification.length)}\r\n\r\n${notification}`;
      const again = () => rawRequest(cappedPort, whole('198.51.100.9, 203.0.113.7'));
      await until(async () => (await again()).statuses[0] === 429, { what: 'the address to be full' });
      const { text } = await again();
      expect(text).toMatch(/\{"code":"TOO_MANY_REQUESTS","error":"[^"]+","details":\[\],"requestId":"req_/);
      expect(text).toMatch(/retry-after: 1\r\n/i);
      // The proxy's own connections have no such cap, and nobody else is in the way.
      const others = await Promise.all(
        Array.from({ length: 8 }, (_, i) => rawRequest(cappedPort, whole(`203.0.113.${100 + i}`))),
      );
      expect(others.map(({ statuses }) => statuses[0])).toEqual(others.map(() => 202));
      for (const socket of slow) socket.destroy();
      await until(async () => (await again()).statuses[0] === 202, { what: 'room for the address' });
      await capped.close();
    });
  });

  it('take requests one behind the other, each answered in its turn', async () => {
    const one = post([json, length(notification.length)], notification);
    const answer = await rawRequest(port, one.repeat(50), { answers: 50 });
    expect(answer.statuses).toEqual(Array.from({ length: 50 }, () => 202));
  });

  it('of a client that does not take its answer are cut', async () => {
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    let ended = false;
    const large = await listen(
      (_, res) => {
        res.on('close', () => (ended = true));
        res.end(Buffer.alloc(64 * 1024 * 1024));
      },
      { host: '127.0.0.1', port: 0, logger, limits: { silenceTimeout: 200 } },
    );
    const socket = connect({ port: large.port, host: '127.0.0.1' });
    socket.on('error', () => undefined).pause();
    socket.write('GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => ended, { timeoutMs: 5000, what: 'the stalled answer to be cut' });
    socket.destroy();
    await large.close(0);
  });

  it('are limited as shipped', () => {
    expect(serverLimits).toEqual({
      maxHeaderSize: 16 * 1024,
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: 5000,
      silenceTimeout: 60_000,
      maxConnections: 4000,
      connectionsPerAddress: 1500,
    });
  });
});
