// The sockets of a server: many connections in one turn of the event loop, and a port that somebody has is refused.

import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { connect } from 'node:net';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { Listeners } from '../../src/api/listeners.ts';
import { openListeners } from '../../src/api/listeners.ts';
import { until } from '../support/until.ts';

const host = '127.0.0.1';
const isLinux = process.platform === 'linux';
let server: Server;
let opened: Listeners[];
let clients: Socket[];

beforeEach(() => {
  server = createServer((_, res) => res.end('here'));
  [opened, clients] = [[], []];
});
afterEach(async () => {
  for (const client of clients) client.destroy();
  server.closeAllConnections();
  await Promise.all(opened.map((listeners) => listeners.close()));
});

async function open(port = 0, on = server): Promise<Listeners> {
  const listeners = await openListeners(on, { host, port });
  opened.push(listeners);
  return listeners;
}

function connectAll(port: number, count: number): void {
  for (let i = 0; i < count; i++) clients.push(connect({ port, host }).on('error', () => undefined));
}

describe('listeners', () => {
  (isLinux ? it : it.skip)('take many connections in one turn of the event loop, whoever opens them', async () => {
    const { port } = await open();
    let [all, inTurn, most] = [0, 0, 0];
    server.on('connection', () => {
      all++;
      most = Math.max(most, ++inTurn);
      setImmediate(() => (inTurn = 0));
    });
    connectAll(port, 200);
    await until(() => all === 200, { what: 'all of them' });
    expect(most).toBeGreaterThan(4);
  });

  it('answer over each of them', async () => {
    const { port } = await open();
    const answers = await Promise.all(
      Array.from({ length: 64 }, async () =>
        (await fetch(`http://${host}:${port}`, { headers: { connection: 'close' } })).text(),
      ),
    );
    expect(new Set(answers)).toEqual(new Set(['here']));
  });

  it('are not had of a port that another server has, though that shares it with itself', async () => {
    const { port } = await open();
    const other = createServer();
    await expect(openListeners(other, { host, port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    const plain = createServer();
    plain.listen(0, host);
    await once(plain, 'listening');
    const taken = plain.address() as { readonly port: number };
    await expect(openListeners(other, { host, port: taken.port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    plain.close();
  });

  it.each(['ENOTSUP', 'ENOPROTOOPT'])('are one where the system refuses more of a port: %s', async (code) => {
    const listen = server.listen.bind(server);
    server.listen = ((at: { reusePort?: boolean }, done: () => void) => {
      if (at.reusePort !== true) return listen(at, done);
      queueMicrotask(() => server.emit('error', Object.assign(new Error('no such option'), { code })));
      return server;
    }) as typeof server.listen;
    const { port } = await open();
    expect(await (await fetch(`http://${host}:${port}`, { headers: { connection: 'close' } })).text()).toBe('here');
  });

  it('are closed when all connections have ended; none is taken meanwhile', async () => {
    const { port, close } = await open();
    connectAll(port, 40);
    let all = 0;
    server.on('connection', () => all++);
    await until(() => all === 40, { what: 'all of them' });
    let isClosed = false;
    const closing = close().then(() => (isClosed = true));
    const late = connect({ port, host });
    const [err] = (await once(late, 'error')) as [NodeJS.ErrnoException];
    expect(err.code).toBe('ECONNREFUSED');
    expect(isClosed).toBe(false);
    for (const client of clients) client.destroy();
    await closing;
    opened = [];
    // The port is free again, for one that asks for it.
    await open(port, createServer());
  });
});
