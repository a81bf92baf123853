// The wall: what a connection brings at once that is an object and microseconds of the thread each, with a key or without one.

import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { MetricsRegistry } from '../../../src/adapters/node/metrics.ts';
import type { App } from '../../support/app.ts';
import { startApp } from '../../support/app.ts';
import { rawPost } from '../../support/hostile.ts';
import { rawRequest } from '../../support/raw-http.ts';
import { expectAlive } from '../../support/unharmed.ts';
import { until } from '../../support/until.ts';

let app: App;
let port: number;
let apiKey: string;
/** Of loopback: an address of each test's own, since what is cut slows its address down. */
let addresses = 1;
const address = () => `127.0.0.${++addresses}`;

beforeAll(async () => {
  app = await startApp({ delivers: false });
  port = Number(new URL(app.url).port);
  ({ apiKey } = await app.tenant('owner'));
});
afterAll(async () => {
  await expectAlive(app);
  await app.close();
});

const json = 'Content-Type: application/json';
const chunked = 'Transfer-Encoding: chunked';
const ofBytes = (bytes: number) =>
  `{"channel":"IN_APP","recipient":"u","body":"${'b'.repeat(bytes - '{"channel":"IN_APP","recipient":"u","body":""}'.length)}"}`;

/** The body in chunks of so many bytes. */
function inChunks(body: string, size: number): string {
  let text = '';
  for (let at = 0; at < body.length; at += size) {
    const piece = body.slice(at, at + size);
    text += `${piece.length.toString(16)}\r\n${piece}\r\n`;
  }
  return `${text}0\r\n\r\n`;
}
const post = (key: string, body: string, size: number) => rawPost(key, [json, chunked], inChunks(body, size));

async function cuts(reason: string): Promise<number> {
  const text = await (app.deps.metrics as MetricsRegistry).read();
  return Number(new RegExp(`^herald_connections_cut_total\\{reason="${reason}"\\} (\\d+)$`, 'm').exec(text)?.[1]);
}

async function waiting(): Promise<number> {
  const text = await (app.deps.metrics as MetricsRegistry).read();
  return Number(/^herald_connections_waiting (\d+)$/m.exec(text)?.[1]);
}

describe('a body in pieces', () => {
  it.each([
    [900, 1],
    [32_000, 32],
    [200_000, 40],
  ])('of %i bytes in chunks of %i is taken', async (bytes, size) => {
    const { statuses } = await rawRequest(port, post(apiKey, ofBytes(bytes), size), { from: address() });
    expect(statuses).toEqual([202]);
  });

  it.each([
    ['with a key', true],
    ['with a key that opens nothing', false],
  ])('of a byte each ends the connection, %s', async (_, isKnown) => {
    const before = await cuts('pieces');
    const bytes = post(isKnown ? apiKey : 'nonsense', ofBytes(100_000), 1);
    const { statuses, closed } = await rawRequest(port, bytes, { answers: 9, from: address() });
    expect(closed).toBe(true);
    expect(statuses).not.toContain(202);
    expect(await cuts('pieces')).toBe(before + 1);
  });

  it('is refused with what would be right', async () => {
    const { text } = await rawRequest(port, post(apiKey, ofBytes(4000), 1), { answers: 9, from: address() });
    expect(text).toMatch(/"code":"PAYLOAD_TOO_LARGE","error":"[^"]*32 bytes/);
  });
});

describe('requests without waiting for their answers', () => {
  const one = 'GET /api/v1/nowhere HTTP/1.1\r\nHost: x\r\n\r\n';

  it('are answered up to a hundred', async () => {
    const { statuses, closed } = await rawRequest(port, one.repeat(100), { answers: 100, from: address() });
    expect([statuses.length, closed]).toEqual([100, false]);
  });

  it('end the connection from there on, and none of those behind is served', async () => {
    const before = await cuts('unanswered');
    const { statuses, closed } = await rawRequest(port, one.repeat(1500), { answers: 1500, from: address() });
    expect(closed).toBe(true);
    expect(statuses.length).toBeLessThanOrEqual(100);
    expect(await cuts('unanswered')).toBe(before + 1);
  });
});

describe('an address of which a connection was cut', () => {
  it('has its new connections read one after another; others do not wait', async () => {
    const [from, other] = [address(), address()];
    await rawRequest(port, post(apiKey, ofBytes(100_000), 1), { answers: 9, from });
    // One who has written nothing: its reads wait for nothing.
    const { apiKey: reader } = await app.tenant('reader');
    const inbox = `GET /api/v1/notify/inapp/u HTTP/1.1\r\nHost: x\r\nx-api-key: ${reader}\r\n\r\n`;
    const ask = (of: string) => rawRequest(port, inbox, { from: of });
    const answers = await Promise.all([...Array.from({ length: 5 }, () => ask(from)), ask(other)]);
    expect(answers.map(({ statuses }) => statuses)).toEqual(Array.from({ length: 6 }, () => [200]));
    const took = answers.map(({ tookMs }) => tookMs);
    const [own, [others = 0]] = [took.slice(0, -1), took.slice(-1)];
    expect(Math.max(...own) - Math.min(...own)).toBeGreaterThan(350);
    expect(others).toBeLessThan(Math.max(...own));
  });

  it('has those that it opened before read one after another, too, when they all bring what costs at once', async () => {
    const from = address();
    const sockets = await Promise.all(Array.from({ length: 40 }, () => answered(from)));
    const before = await cuts('pieces');
    const costly = post('nonsense', ofBytes(100_000), 1);
    for (const socket of sockets) socket.write(costly);
    await until(async () => (await cuts('pieces')) > before, { everyMs: 1, what: 'the first of them to be cut' });
    const { statuses } = await rawRequest(port, 'GET /api/v1/nowhere HTTP/1.1\r\nHost: x\r\n\r\n', { from: address() });
    expect(statuses).toEqual([404]);
    expect((await cuts('pieces')) - before).toBeLessThan(10);
    await until(async () => (await cuts('pieces')) >= before + 10, { what: 'the next of them to be read' });
    for (const socket of sockets) socket.destroy();
    await until(async () => (await waiting()) === 0, { what: 'all of them to be read' });
  });
});

describe('an address whose bodies come in many pieces', () => {
  it('has its connections read one after another, and cut none; others do not wait', async () => {
    const from = address();
    const sockets = await Promise.all(Array.from({ length: 40 }, () => answered(from)));
    const before = await cuts('pieces');
    const inPieces = post('nonsense', ofBytes(60_000), 40);
    for (const socket of sockets) socket.write(inPieces);
    await until(async () => (await waiting()) > 20, { everyMs: 1, what: 'most of them to wait' });
    const { statuses } = await rawRequest(port, 'GET /api/v1/nowhere HTTP/1.1\r\nHost: x\r\n\r\n', { from: address() });
    expect(statuses).toEqual([404]);
    expect(await waiting()).toBeGreaterThan(0);
    await until(async () => (await waiting()) === 0, { what: 'all of them to be read' });
    expect(await cuts('pieces')).toBe(before);
    for (const socket of sockets) socket.destroy();
  });
});

/** A connection that has had an answer, and is kept. */
async function answered(from: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  socket.on('error', () => undefined);
  socket.write('GET /api/v1/nowhere HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'data');
  return socket;
}
