// The proxy that faults are tested with must itself do what it says.

import type { AddressInfo, Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { type FaultyProxy, startFaultyProxy } from './faulty-proxy.ts';
import { until } from './until.ts';

let server: Server;
let target: string;
let atServer: { text: string; ended: number };
let proxy: FaultyProxy;
const clients: Socket[] = [];

beforeEach(async () => {
  const seen = { text: '', ended: 0 };
  atServer = seen;
  server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('close', () => seen.ended++);
    socket.on('data', (chunk) => {
      seen.text += chunk.toString();
      socket.write(chunk);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  target = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  proxy = await startFaultyProxy({ target });
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await proxy.close();
  await new Promise((resolve) => server.close(resolve));
});

/** Says something, and has heard it again when it resolves. */
async function greeted(): Promise<Client> {
  const client = dial();
  client.say('hello ');
  await until(() => client.heard() === 'hello ');
  return client;
}

interface Client {
  say(text: string): void;
  heard(): string;
  isEnded(): boolean;
}

function dial(to = proxy): Client {
  let heard = '';
  const socket = connect(to.port, '127.0.0.1');
  clients.push(socket);
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => void (heard += chunk.toString()));
  return { say: (text) => socket.write(text), heard: () => heard, isEnded: () => socket.destroyed };
}

/** A way there and back through another proxy: what could pass the first has passed. */
async function passedBeside(): Promise<void> {
  const other = await startFaultyProxy({ target });
  const client = dial(other);
  client.say('x');
  await until(() => client.heard() === 'x');
  await other.close();
}

describe('The faulty proxy', () => {
  it('delays both ways and keeps the order when the delay ends', async () => {
    const client = await greeted();
    proxy.delay(60);
    const from = performance.now();
    client.say('late ');
    await until(() => atServer.text === 'hello late ');
    proxy.delay(0);
    client.say('later');
    await until(() => client.heard() === 'hello late later');
    expect(performance.now() - from).toBeGreaterThan(50);
  });

  it('frozen lets nothing pass and ends nothing, and loses nothing of it', async () => {
    const client = await greeted();
    proxy.freeze();
    const late = dial();
    late.say('new ');
    client.say('kept');
    await passedBeside();
    expect(atServer.text).toBe('hello x');
    expect(client.isEnded()).toBe(false);
    proxy.mend();
    await until(() => client.heard() === 'hello kept' && late.heard() === 'new ');
  });

  it('half-open takes the other end away without a word, for good', async () => {
    const client = await greeted();
    proxy.halfOpen();
    await until(() => atServer.ended === 1);
    client.say('lost');
    proxy.mend();
    await greeted();
    await passedBeside();
    expect(atServer.text).not.toContain('lost');
    expect(client.isEnded()).toBe(false);
  });

  it('cut ends what there is and refuses what comes until it is mended; drop ends what there is', async () => {
    const client = await greeted();
    proxy.cut();
    await until(() => client.isEnded());
    const refused = dial();
    await until(() => refused.isEnded());
    proxy.mend();
    const again = await greeted();
    proxy.drop();
    await until(() => again.isEnded());
    await greeted();
  });
});
