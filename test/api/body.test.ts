// A request's body on a thread that others wait for.

import { createServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';

import { afterEach, expect, it } from '@jest/globals';

import { readJson } from '../../src/api/body.ts';
import { isShallow } from '../../src/api/text-check.ts';

let server: Server | null = null;

afterEach(() => void server?.close());

it('one of 16 KiB and less is parsed at once, a longer one in a turn of its tenant’s that counts what follows from it', async () => {
  let [waits, charged] = [0, 0];
  const turns = {
    isOver: () => true,
    next: async () => void waits++,
    piece: <T>(work: () => T): T => work(),
    charge: (ms: number) => void (charged += ms),
  };
  const room = { belongsTo: () => undefined, take: async () => undefined, release: () => undefined };
  server = createServer((req, res) => {
    void readJson(req, { room, turns }).then((body) => res.end(JSON.stringify(body)));
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const post = async (length: number): Promise<number> => {
    const body = JSON.stringify({ text: 'x'.repeat(length - '{"text":""}'.length) });
    const answer = await fetch(`http://127.0.0.1:${port}/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    return (await answer.text()).length;
  };
  expect(await post(16 * 1024)).toBe(16 * 1024);
  expect([waits, charged]).toEqual([0, 0]);
  expect(await post(200 * 1024)).toBe(200 * 1024);
  expect([waits, charged]).toEqual([1, 8]);
});

it('its arrays are looked through by their items: none of their keys is made a text', () => {
  const keys = (): never => {
    throw new Error('its keys were asked for');
  };
  const array = (items: unknown[]): unknown => new Proxy(items, { ownKeys: keys });
  expect(isShallow({ a: array([1, { b: array([]) }, null]) })).toBe(true);
  let deep: unknown = array([]);
  for (let i = 0; i < 40; i++) deep = array([deep]);
  expect(isShallow(deep)).toBe(false);
});
