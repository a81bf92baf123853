// Names are looked up in the hosts file and at name servers, and names that never resolve hold nobody up.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { lookup } from 'node:dns/promises';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { LookUp } from '../../../src/adapters/http/guard-names.ts';
import { createLookUp } from '../../../src/adapters/http/name-servers.ts';
import { createOutbound } from '../../../src/adapters/http/outbound.ts';
import { startHttpSink } from '../../support/http-sink.ts';
import type { NameServer } from '../../support/name-server.ts';
import { startNameServer } from '../../support/name-server.ts';
import { wallClock } from '../../support/wall-clock.ts';

let folder: string;
let server: NameServer;
let lookUp: LookUp;
/** Four at a time, as getaddrinfo asks on the threads of the process, they would take minutes. A tenant has 32 attempts in flight at most. */
const deadNames = 100;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'herald-names-'));
  const [hostsPath, resolvConfPath] = [join(folder, 'hosts'), join(folder, 'resolv.conf')];
  await writeFile(hostsPath, '127.0.0.9\tmail Mail.Internal # ours\n::9 mail\nnonsense x\n');
  await writeFile(
    resolvConfPath,
    'nameserver 127.0.0.53\nsearch cluster.test. other.test\noptions ndots:2 timeout:9\n',
  );
  const silent = Object.fromEntries(Array.from({ length: deadNames }, (_, i) => [`dead-${i}.test`, 'silent' as const]));
  server = await startNameServer({
    ...silent,
    'shop.example.test': ['192.0.2.1', '192.0.2.2', '2001:db8::1'],
    'six.example.test': ['2001:db8::6'],
    'postbox.cluster.test': ['127.0.0.1'],
    'far.other.test': ['192.0.2.7'],
    'good.example.test': ['127.0.0.1'],
    'many.example.test': Array.from({ length: 60 }, (_, i) => `192.0.2.${i + 1}`),
  });
  lookUp = createLookUp({ clock: wallClock, servers: () => [server.address], hostsPath, resolvConfPath });
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

const addressesOf = async (name: string) => (await lookUp(name)).addresses.map(({ address }) => address);

describe('a name', () => {
  it('has the addresses of both families and the time to live that the name server says', async () => {
    expect(await lookUp('Shop.Example.test')).toEqual({
      addresses: [
        { address: '192.0.2.1', family: 4 },
        { address: '192.0.2.2', family: 4 },
        { address: '2001:db8::1', family: 6 },
      ],
      ttlMs: 7_000,
    });
    expect(await addressesOf('six.example.test')).toEqual(['2001:db8::6']);
  });

  it('of the hosts file, of localhost and an address in any spelling are asked of nobody', async () => {
    const before = server.asked.length;
    expect(await addressesOf('mail')).toEqual(['127.0.0.9', '::9']);
    expect(await addressesOf('MAIL.internal')).toEqual(['127.0.0.9']);
    expect(await addressesOf('localhost')).toEqual(['127.0.0.1', '::1']);
    expect(await addressesOf('any.localhost')).toEqual(['127.0.0.1', '::1']);
    expect(await addressesOf('0x7f.1')).toEqual(['127.0.0.1']);
    expect(await addressesOf('2001:db8::1')).toEqual(['2001:db8::1']);
    expect(server.asked.length).toBe(before);
  });

  it('with very many addresses has the first ones', async () => {
    expect(await addressesOf('many.example.test')).toEqual(Array.from({ length: 16 }, (_, i) => `192.0.2.${i + 1}`));
  });

  it('with few dots is looked for in the domains of the system as well, in their order', async () => {
    expect(await addressesOf('postbox')).toEqual(['127.0.0.1']);
    expect(await addressesOf('far')).toEqual(['192.0.2.7']);
    await expect(addressesOf('far.')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    await expect(addressesOf('not.in.there.test')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    expect(server.asked).not.toContain('A not.in.there.test.cluster.test');
  });

  it('that nobody knows, or nobody answers for, is an error that names no server', async () => {
    await expect(addressesOf('nowhere.example.test')).rejects.toMatchObject({
      code: 'ENOTFOUND',
      message: 'the name has no address',
    });
    await expect(addressesOf('dead-0.test')).rejects.toMatchObject({
      code: 'ETIMEDOUT',
      message: 'no name server told the address of the name',
    });
  });
});

it('name servers that the system has changed are asked within 5 s, and a file that is being written changes none', async () => {
  const [first, second] = [
    await startNameServer({ 'shop.example.test': ['192.0.2.1'] }),
    await startNameServer({ 'shop.example.test': ['192.0.2.2'] }),
  ];
  const resolvConfPath = join(folder, 'changing.conf');
  const has = (text: string) => writeFile(resolvConfPath, text);
  const ofLine = new Map([
    ['127.0.0.53', first.address],
    ['127.0.0.54', second.address],
  ]);
  let line = '127.0.0.53';
  let passedMs = 0;
  const clock = { ...wallClock, monotonic: () => wallClock.monotonic() + passedMs };
  const changing = createLookUp({ clock, servers: () => [ofLine.get(line) ?? ''], resolvConfPath });
  const asked = async () => {
    passedMs += 5_000;
    return (await changing('shop.example.test')).addresses.map(({ address }) => address);
  };
  await has('nameserver 127.0.0.53\n');
  expect(await asked()).toEqual(['192.0.2.1']);
  line = '127.0.0.54';
  await has('');
  expect(await asked()).toEqual(['192.0.2.1']);
  await has('# by DHCP\nnameserver 127.0.0.54\n');
  expect(await asked()).toEqual(['192.0.2.2']);
  await Promise.all([first.close(), second.close()]);
});

it(`${deadNames} names that never resolve hold up neither another receiver nor the threads of the process`, async () => {
  const sink = await startHttpSink();
  const outbound = createOutbound({ allow: ['127.0.0.1/32'], clock: wallClock, lookUp });
  const post = (host: string) =>
    outbound.request({
      method: 'POST',
      url: `http://${host}:${sink.port}/`,
      headers: {},
      body: '{}',
      signal: AbortSignal.timeout(15_000),
    });
  let dead = 0;
  const dying = Promise.allSettled(
    Array.from({ length: deadNames }, (_, i) => post(`dead-${i}.test`).finally(() => dead++)),
  );
  expect(await post('good.example.test')).toMatchObject({ status: 200 });
  // What needs a thread gets one.
  await lookup('localhost');
  expect(dead).toBe(0);
  for (const { status } of await dying) expect(status).toBe('rejected');
  await outbound.close();
  await sink.close();
});
