// The guarded way out: the contract, and what depends on the answers of a name server.

import { getCACertificates, setDefaultCACertificates } from 'node:tls';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { LookUp } from '../../../src/adapters/http/guard-names.ts';
import { createOutbound } from '../../../src/adapters/http/outbound.ts';
import type { Outbound, OutboundError } from '../../../src/ports/outbound.ts';
import { outboundContract } from '../../contracts/outbound.ts';
import type { HttpSink } from '../../support/http-sink.ts';
import { startHttpSink } from '../../support/http-sink.ts';
import {
  localhostCertificate,
  localhostKey,
  localhostRsaCertificate,
  localhostRsaKey,
} from '../../support/localhost-certificate.ts';
import type { RawServer } from '../../support/raw-server.ts';
import { startRawServer, writeEndlessly } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';
import { wallClock } from '../../support/wall-clock.ts';

outboundContract('undici', {
  make: (allow, limits = {}) => createOutbound({ allow, clock: wallClock, limits }),
});

describe('names', () => {
  let sink: HttpSink;
  let asked: string[];
  let answers: Readonly<Record<string, readonly string[]>>;
  let outbound: Outbound;
  let now = 0;

  let ttlMs: number;
  const lookUp: LookUp = (name) => {
    asked.push(name);
    const addresses = answers[name];
    if (addresses === undefined) return Promise.reject(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }));
    const resolved = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    return Promise.resolve({ addresses: resolved, ttlMs });
  };
  const start = (allow: readonly string[]): Outbound =>
    createOutbound({ allow, clock: { ...wallClock, monotonic: () => now }, lookUp });
  const request = (host: string, scheme = 'http') =>
    outbound.request({
      method: 'POST',
      url: `${scheme}://${host}:${sink.port}/`,
      headers: {},
      body: '{}',
      signal: AbortSignal.timeout(5_000),
    });

  beforeEach(async () => {
    sink = await startHttpSink();
    asked = [];
    ttlMs = 5_000;
  });
  afterEach(async () => {
    await outbound.close();
    await sink.close();
  });

  it('are refused with one private address among public ones', async () => {
    outbound = start([]);
    answers = { mixed: ['8.8.8.8', '10.0.0.1'] };
    await expect(request('mixed', 'https')).rejects.toMatchObject({ kind: 'blocked', code: 'ADDRESS_BLOCKED' });
  });

  it('are connected to at exempt addresses alone when they have any', async () => {
    outbound = start(['127.0.0.1/32']);
    answers = { both: ['192.0.2.1', '127.0.0.1'] };
    expect(await request('both')).toMatchObject({ status: 200 });
    expect(await outbound.isAllowListed('both')).toBe(false);
  });

  it('are asked for once by many connections at once, and again after some seconds', async () => {
    outbound = start(['127.0.0.1/32']);
    answers = { one: ['127.0.0.1'] };
    await Promise.all(Array.from({ length: 20 }, () => request('one')));
    expect(asked).toEqual(['one']);
    now += 6_000;
    await Promise.all(Array.from({ length: 40 }, () => request('one')));
    expect(asked.length).toBeLessThanOrEqual(2);
  });

  it('are connected to at the address that was checked, whatever the name server says next', async () => {
    outbound = start([]);
    answers = { rebinding: ['192.0.2.1'] };
    await expect(request('rebinding', 'https')).rejects.toMatchObject({ kind: 'blocked' });
    answers = { rebinding: ['127.0.0.1'] };
    now += 6_000;
    await expect(request('rebinding', 'https')).rejects.toMatchObject({ kind: 'blocked' });
    expect(asked).toHaveLength(2);
    expect(sink.connections()).toBe(0);
  });

  it.each([
    [0, 1_000],
    [12_000, 12_000],
    [3_600_000, 30_000],
  ])('of a time to live of %i ms are asked for again after %i ms', async (lives, keptMs) => {
    outbound = start(['127.0.0.1/32']);
    answers = { one: ['127.0.0.1'] };
    ttlMs = lives;
    const ask = () => outbound.isAllowListed('one');
    expect(await ask()).toBe(true);
    now += keptMs - 1;
    expect([await ask(), asked.length]).toEqual([true, 1]);
    now += 1;
    expect([await ask(), asked.length]).toEqual([true, 2]);
  });

  it('without an address are network errors', async () => {
    outbound = start([]);
    answers = {};
    await expect(request('nowhere', 'https')).rejects.toMatchObject({ kind: 'network', code: 'ENOTFOUND' });
  });

  it('refuse an OUTBOUND_ALLOW that is no address, naming it', async () => {
    outbound = start([]);
    expect(() => createOutbound({ allow: ['10.0.0.0/33'], clock: wallClock })).toThrow(/10\.0\.0\.0\/33/);
    expect(() => createOutbound({ allow: ['intranet'], clock: wallClock })).toThrow(/intranet/);
  });
});

describe('TLS', () => {
  const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
  const trusted = { key: localhostKey, cert: localhostCertificate };
  const untrusted = { key: localhostRsaKey, cert: localhostRsaCertificate };
  let before: string[];
  let outbound: Outbound;
  let servers: RawServer[];
  /** Greetings that servers have seen. */
  let greeted: number;

  beforeEach(() => {
    before = getCACertificates('default');
    setDefaultCACertificates([...before, localhostCertificate]);
    outbound = createOutbound({ allow: ['127.0.0.1/32'], clock: wallClock });
    servers = [];
    greeted = 0;
  });
  afterEach(async () => {
    await outbound.close();
    await Promise.all(servers.map((server) => server.close()));
    setDefaultCACertificates(before);
  });

  async function start(of: typeof trusted | null): Promise<RawServer> {
    const server =
      of === null
        ? await startRawServer((socket) => socket.once('data', () => greeted++))
        : await startRawServer((socket) => socket.on('data', () => socket.write(ok)), of);
    servers.push(server);
    return server;
  }
  const ask = ({ port }: RawServer, tenantId?: string) =>
    outbound.request({
      method: 'POST',
      url: `https://127.0.0.1:${port}/`,
      headers: {},
      body: '{}',
      ...(tenantId === undefined ? {} : { tenantId }),
      signal: AbortSignal.timeout(15_000),
    });

  it('is spoken with whoever has a certificate that is trusted, and its connections are used again', async () => {
    const server = await start(trusted);
    for (const tenantId of ['a', 'a', 'b', undefined])
      expect(await ask(server, tenantId)).toMatchObject({ body: 'ok' });
    // At the moment of an answer its connection is not free yet.
    expect(server.open()).toBeLessThanOrEqual(2);
    await expect(ask(await start(untrusted), 'a')).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  });

  it.each([
    ['interim answers', '', 'HTTP/1.1 103 Early Hints\r\n\r\n', 'NO_ANSWER'],
    ['a size of a chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;', 'a', 'ANSWER_TOO_LONG'],
    ['headers', 'HTTP/1.1 200 OK\r\n', 'a:\r\n', 'ANSWER_TOO_LONG'],
  ])('bounds answers as plain connections do: %s without an end', async (_, answer, endlessly, code) => {
    const server = await startRawServer((socket) => {
      socket.on('data', () => {
        socket.write(answer);
        writeEndlessly(socket, endlessly);
      });
    }, trusted);
    servers.push(server);
    await expect(ask(server, 'a')).rejects.toMatchObject({ kind: 'network', code });
    await until(() => server.open() === 0, { what: 'the connection to be closed' });
  });

  it('of a tenant whose receivers answer no greeting is begun sixteen times at once; nobody else waits', async () => {
    const silent = await Promise.all(Array.from({ length: 20 }, () => start(null)));
    const good = await start(trusted);
    const asked = Promise.allSettled(silent.map((server) => ask(server, 'a')));
    await until(() => greeted === 16, { what: 'sixteen greetings' });
    expect(await ask(good, 'b')).toMatchObject({ body: 'ok' });
    expect(await ask(good)).toMatchObject({ body: 'ok' });
    expect([greeted, silent.reduce((sum, server) => sum + server.open(), 0)]).toEqual([16, 20]);
    // A receiver that closes a connection that waits is noticed.
    await Promise.all(silent.map((server) => server.close()));
    const ends = (await asked).map((end) => (end.status === 'rejected' ? (end.reason as OutboundError).code : 'sent'));
    expect(ends).toEqual(Array(20).fill('ECONNRESET'));
  }, 20_000);

  it('of a tenant with a receiver that fails goes on after a rest', async () => {
    const [bad, good] = [await start(untrusted), await start(trusted)];
    await expect(ask(bad, 'a')).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    const since = performance.now();
    expect(await ask(good, 'a')).toMatchObject({ body: 'ok' });
    expect(performance.now() - since).toBeGreaterThan(900);
    // Now it is connected.
    await expect(ask(bad, 'a')).rejects.toMatchObject({ kind: 'network' });
    const next = performance.now();
    expect(await ask(good, 'a')).toMatchObject({ body: 'ok' });
    expect(performance.now() - next).toBeLessThan(900);
  });
});
