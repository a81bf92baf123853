// What every way out owes: the guard on addresses, no redirects, a limit on what is read, a deadline over all of it.

import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import type { Outbound, OutboundRequest } from '../../src/ports/outbound.ts';
import { OutboundError } from '../../src/ports/outbound.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { localhostRsaCertificate, localhostRsaKey } from '../support/localhost-certificate.ts';
import type { RawServer } from '../support/raw-server.ts';
import { startRawServer, writeEndlessly } from '../support/raw-server.ts';
import { until } from '../support/until.ts';

/** The same private addresses, spelled in the ways in which guards have been passed. All of loopback, but for the last ones. */
export const privateSpellings = [
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0177.0.0.1',
  '017700000001',
  '１２７.0.0.1',
  '127.0.0.1.',
  '0.0.0.0',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  '[2001::1]',
  '[fd00::1]',
  '[fe80::1]',
  '[fec0::1]',
  '[4000::1]',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.0.1',
  '169.254.169.254',
  '100.100.100.200',
  '168.63.129.16',
  '198.18.0.1',
  '192.0.2.1',
  '224.0.0.1',
  '255.255.255.255',
];

export interface OutboundHarness {
  make(
    allow: readonly string[],
    limits?: { readonly connectionsPerOrigin?: number; readonly connections?: number },
  ): Outbound;
}

export function outboundContract(name: string, harness: OutboundHarness): void {
  describe(`outbound: ${name}`, () => {
    let sink: HttpSink;
    const opened: Outbound[] = [];
    const make: OutboundHarness['make'] = (allow, limits) => {
      const outbound = harness.make(allow, limits);
      opened.push(outbound);
      return outbound;
    };

    beforeAll(async () => {
      sink = await startHttpSink({
        respond({ path }, response) {
          if (path === '/redirect') response.writeHead(302, { location: `${sink.url}/elsewhere` }).end();
          else if (path === '/large') response.end('x'.repeat(200_000));
          else if (path === '/endless') setInterval(() => response.write('y'.repeat(10_000)), 1).unref();
          else if (path === '/hang') return;
          else if (path === '/hang-in-body') response.writeHead(200).write('begun');
          else if (path === '/reset') response.socket?.destroy();
          else if (path === '/twice')
            response
              .writeHead(200, [
                ['x-a', '1'],
                ['x-a', '2'],
              ] as never)
              .end('ok');
          else if (path === '/early') {
            response.writeProcessing();
            response.end('after all');
          } else response.end(`${path} ok`);
        },
      });
    });
    afterAll(() => sink.close());
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((outbound) => outbound.close()));
    });

    const loopback = ['127.0.0.1/32'];
    const get = (url: string, over: Partial<OutboundRequest> = {}): OutboundRequest => ({
      method: 'GET',
      url,
      headers: {},
      body: null,
      signal: AbortSignal.timeout(5_000),
      ...over,
    });
    async function failure(attempt: Promise<unknown>): Promise<OutboundError> {
      try {
        await attempt;
      } catch (error) {
        if (error instanceof OutboundError) return error;
        throw error;
      }
      throw new Error('it was to fail');
    }

    it('sends method, headers and body, and gives back status, headers and body', async () => {
      const outbound = make(loopback);
      const request = get(`${sink.url}/a?b=c`, { method: 'POST', headers: { 'x-one': 'two' }, body: 'grüße' });
      const response = await outbound.request(request);
      expect(response).toMatchObject({ status: 200, body: '/a?b=c ok' });
      expect(response.headers['content-length']).toBe('9');
      expect(sink.requests.at(-1)).toMatchObject({ method: 'POST', path: '/a?b=c', body: 'grüße' });
      expect(sink.requests.at(-1)?.headers['x-one']).toBe('two');
    });

    it('joins the values of a header that comes more than once, and passes over 1xx answers', async () => {
      const outbound = make(loopback);
      expect((await outbound.request(get(`${sink.url}/twice`))).headers['x-a']).toBe('1, 2');
      expect(await outbound.request(get(`${sink.url}/early`))).toMatchObject({ status: 200, body: 'after all' });
    });

    it('uses its connections again', async () => {
      const outbound = make(loopback);
      const before = sink.connections();
      for (let i = 0; i < 10; i++) await outbound.request(get(`${sink.url}/again`));
      // Two: at the moment of an answer its connection is not free yet.
      expect(sink.connections() - before).toBeLessThanOrEqual(2);
    });

    it('opens no more connections to one origin than it may', async () => {
      const outbound = make(loopback, { connectionsPerOrigin: 4 });
      const before = sink.connections();
      await Promise.all(Array.from({ length: 40 }, () => outbound.request(get(`${sink.url}/many`))));
      expect(sink.connections() - before).toBeLessThanOrEqual(4);
    });

    it('never follows a redirect', async () => {
      const outbound = make(loopback);
      const response = await outbound.request(get(`${sink.url}/redirect`));
      expect(response.status).toBe(302);
      expect(sink.requests.some(({ path }) => path === '/elsewhere')).toBe(false);
    });

    it.each(['/large', '/endless'])('reads 64 KiB of %s and drops the rest', async (path) => {
      const outbound = make(loopback);
      const response = await outbound.request(get(sink.url + path));
      expect(response.status).toBe(200);
      expect(response.body).toHaveLength(64 * 1024);
      expect(await outbound.request(get(`${sink.url}/next`))).toMatchObject({ body: '/next ok' });
    });

    it.each(['/hang', '/hang-in-body'])('is cut off by the signal at %s, its connection closed', async (path) => {
      const outbound = make(loopback);
      await until(() => sink.open() === 0);
      const signal = AbortSignal.timeout(100);
      expect(await failure(outbound.request(get(sink.url + path, { signal })))).toMatchObject({ kind: 'timeout' });
      await until(() => sink.open() === 0, { what: 'the connection to be closed' });
    });

    it('does not send what was cut off while it waited for a connection', async () => {
      const outbound = make(loopback, { connectionsPerOrigin: 1 });
      const first = failure(outbound.request(get(`${sink.url}/hang`, { signal: AbortSignal.timeout(200) })));
      const late = get(`${sink.url}/too-late`, { signal: AbortSignal.timeout(50) });
      expect(await failure(outbound.request(late))).toMatchObject({ kind: 'timeout' });
      await first;
      expect(await outbound.request(get(`${sink.url}/after`))).toMatchObject({ body: '/after ok' });
      expect(sink.requests.some(({ path }) => path === '/too-late')).toBe(false);
    });

    it('sends nothing when the signal has aborted already', async () => {
      const outbound = make(loopback);
      const url = `${sink.url}/never`;
      expect(await failure(outbound.request(get(url, { signal: AbortSignal.abort() })))).toMatchObject({
        kind: 'timeout',
      });
      expect(sink.requests.some(({ path }) => path === '/never')).toBe(false);
    });

    it('calls a closed port, a reset connection and an unknown name network errors', async () => {
      const outbound = make(['127.0.0.0/8']);
      const closed = await startHttpSink();
      await closed.close();
      expect(await failure(outbound.request(get(closed.url)))).toMatchObject({ kind: 'network', code: 'ECONNREFUSED' });
      expect(await failure(outbound.request(get(`${sink.url}/reset`)))).toMatchObject({
        kind: 'network',
        code: 'ECONNRESET',
      });
      const unknown = await failure(outbound.request(get('https://no-such-host.invalid/')));
      expect(unknown.kind).toBe('network');
    });

    describe('to many receivers', () => {
      const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
      let servers: RawServer[];
      let accepted: number;
      let waiting: Socket[];
      const start = async (count: number, answer: (socket: Socket) => void): Promise<void> => {
        accepted = 0;
        waiting = [];
        servers = [];
        for (let i = 0; i < count; i++)
          servers.push(
            await startRawServer((socket) => {
              accepted++;
              socket.on('data', () => answer(socket));
            }),
          );
      };
      const urls = () => servers.map(({ port }) => `http://127.0.0.1:${port}/`);
      const open = () => servers.reduce((sum, server) => sum + server.open(), 0);
      afterEach(() => Promise.all(servers.map((server) => server.close())));

      it('refuses none of them, however many there are, and keeps the connections that were used last', async () => {
        await start(30, (socket) => socket.write(ok));
        const outbound = make(loopback, { connections: 8 });
        for (const url of urls()) expect(await outbound.request(get(url))).toMatchObject({ status: 200 });
        await until(() => open() <= 8, { what: 'what is over to be closed' });
        expect(open()).toBe(8);
        for (const url of urls().slice(-8)) await outbound.request(get(url));
        expect(accepted).toBe(30);
        await outbound.request(get(urls()[0] ?? ''));
        expect(accepted).toBe(31);
      });

      it('closes none that is in use, and takes those for which there is no room', async () => {
        await start(12, (socket) => waiting.push(socket));
        const outbound = make(loopback, { connections: 4 });
        const asked = urls().map((url) => outbound.request(get(url)));
        await until(() => waiting.length === 12, { what: 'all to have asked' });
        for (const socket of waiting) socket.write(ok);
        expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(Array(12).fill(200));
        // Those that were taken beyond it are closed as others come.
        expect(open()).toBe(12);
      });

      it('opens none any more once it is closed', async () => {
        await start(1, (socket) => socket.write(ok));
        const outbound = make(loopback);
        await outbound.close();
        expect(await failure(outbound.request(get(urls()[0] ?? '')))).toMatchObject({ kind: 'network' });
        expect(accepted).toBe(0);
      });
    });

    describe('of an answer that is made to cost', () => {
      const ok = 'HTTP/1.1 200 OK\r\n';
      const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`;
      const fields = (count: number) => Array.from({ length: count }, (_, i) => `a${i}:\r\n`).join('');
      const interim = (count: number) => 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(count);
      let server: RawServer;
      afterEach(() => server.close());

      /** Of a server that answers each request so. */
      async function answered(answer: string, endlessly?: string) {
        server = await startRawServer((socket) => {
          socket.on('data', () => {
            socket.write(answer);
            if (endlessly !== undefined) writeEndlessly(socket, endlessly);
          });
        });
        return make(loopback).request(get(`http://127.0.0.1:${server.port}/`));
      }

      it.each([
        ['at once', `${'1\r\nx\r\n'.repeat(5000)}0\r\n\r\n`, undefined],
        ['without an end', '', '1\r\nx\r\n'],
      ])('reads some hundred pieces of a byte each that come %s, and drops the rest', async (_, pieces, endlessly) => {
        const { status, body } = await answered(chunked + pieces, endlessly);
        expect(status).toBe(200);
        expect(body).toMatch(/^x{200,300}$/);
        await until(() => server.open() === 0, { what: 'the connection to be closed' });
      });

      it.each([
        ['interim answers without an end', '', interim(1), 'NO_ANSWER'],
        ['one interim answer too many', `${interim(5)}${ok}content-length: 2\r\n\r\nok`, undefined, 'NO_ANSWER'],
        ['too many headers', `${ok}${fields(501)}content-length: 0\r\n\r\n`, undefined, 'ANSWER_TOO_LONG'],
        ['headers without an end', ok, 'a:\r\n', 'ANSWER_TOO_LONG'],
        ['a long header', `${ok}a: ${'b'.repeat(20_000)}\r\n\r\n`, undefined, 'ANSWER_TOO_LONG'],
        ['too many trailers', `${chunked}2\r\nok\r\n0\r\n${fields(501)}\r\n`, undefined, 'ANSWER_TOO_LONG'],
        ['a size of a chunk without an end', `${chunked}1;`, 'a', 'ANSWER_TOO_LONG'],
      ])('refuses %s, and closes the connection', async (_, answer, endlessly, code) => {
        expect(await failure(answered(answer, endlessly))).toMatchObject({ kind: 'network', code });
        await until(() => server.open() === 0, { what: 'the connection to be closed' });
      });

      it('takes what servers send: some interim answers, hundreds of headers, pieces of the usual size', async () => {
        const pieces = `3e8\r\n${'y'.repeat(1000)}\r\n`.repeat(60);
        const answer = `${interim(4)}${ok}${fields(400)}transfer-encoding: chunked\r\n\r\n${pieces}0\r\n\r\n`;
        const { status, body, headers } = await answered(answer);
        expect([status, body.length, headers['a399']]).toEqual([200, 60_000, '']);
        expect(server.open()).toBe(1);
      });

      it('counts for each request anew, however many have one connection', async () => {
        const body = 'z'.repeat(50_000);
        server = await startRawServer((socket) => {
          socket.on('data', () => socket.write(`${ok}content-length: ${body.length}\r\n\r\n${body}`));
        });
        const outbound = make(loopback, { connectionsPerOrigin: 1 });
        for (let i = 0; i < 20; i++) {
          expect((await outbound.request(get(`http://127.0.0.1:${server.port}/`))).body).toHaveLength(50_000);
          expect(server.open()).toBe(1);
        }
      });
    });

    it('does not compute with a prime that the server chooses, however long', async () => {
      const dhe = { ciphers: 'DHE-RSA-AES128-GCM-SHA256', maxVersion: 'TLSv1.2', dhparam: 'auto' } as const;
      const server = await startRawServer((socket) => socket.end(), {
        key: localhostRsaKey,
        cert: localhostRsaCertificate,
        ...dhe,
      });
      const refused = await failure(make(loopback).request(get(`https://127.0.0.1:${server.port}/`)));
      expect(refused).toMatchObject({ kind: 'network', code: expect.stringMatching(/HANDSHAKE_FAILURE/) });
      await server.close();
    });

    describe('the guard', () => {
      it.each(privateSpellings)('finds the private address in https://%s/ and refuses to connect', async (host) => {
        const outbound = make([]);
        const url = `https://${host}:${sink.port}/guarded`;
        expect(outbound.problemWithUrl(url)).toMatch(/private/);
        expect(await failure(outbound.request(get(url)))).toMatchObject({ kind: 'blocked', code: 'ADDRESS_BLOCKED' });
      });

      it.each(privateSpellings.filter((host) => !/[１[]/.test(host) && !host.endsWith('.')))(
        'refuses a raw connection to %s',
        async (host) => {
          const outbound = make([]);
          const attempt = outbound.connect({ host, port: sink.port, signal: AbortSignal.timeout(5_000) });
          expect(await failure(attempt)).toMatchObject({ kind: 'blocked', code: 'ADDRESS_BLOCKED' });
        },
      );

      it('refuses a raw connection to an address with a zone', async () => {
        const outbound = make([]);
        const attempt = outbound.connect({ host: 'fe80::1%lo', port: 25, signal: AbortSignal.timeout(5_000) });
        expect(await failure(attempt)).toMatchObject({ kind: 'blocked' });
      });

      it('refuses a name that resolves to loopback, however innocent the URL looks', async () => {
        const outbound = make([]);
        const url = `https://localhost:${sink.port}/by-name`;
        expect(outbound.problemWithUrl(url)).toBeNull();
        expect(await failure(outbound.request(get(url)))).toMatchObject({ kind: 'blocked', code: 'ADDRESS_BLOCKED' });
        expect(await outbound.isAllowListed('localhost')).toBe(false);
      });

      it('lets through what OUTBOUND_ALLOW names, and http there', async () => {
        const outbound = make(['127.0.0.0/8', '::1']);
        expect(outbound.problemWithUrl(`${sink.url}/x`)).toBeNull();
        expect(outbound.problemWithUrl('https://10.0.0.1/')).toMatch(/private/);
        expect(await outbound.request(get(`http://localhost:${sink.port}/x`))).toMatchObject({ status: 200 });
        expect(await outbound.isAllowListed('127.8.8.8')).toBe(true);
        expect(await outbound.isAllowListed('localhost')).toBe(true);
        expect(await outbound.isAllowListed('8.8.8.8')).toBe(false);
        const socket = await outbound.connect({
          host: '127.0.0.1',
          port: sink.port,
          signal: AbortSignal.timeout(5_000),
        });
        expect(socket.remotePort).toBe(sink.port);
      });

      it('refuses http to anything else', async () => {
        const outbound = make(loopback);
        for (const url of ['http://example.com/', 'http://8.8.8.8/', 'http://[2606:4700::1111]/']) {
          expect(outbound.problemWithUrl(url)).toMatch(/https/);
        }
        expect(await failure(outbound.request(get('http://8.8.8.8/')))).toMatchObject({
          kind: 'blocked',
          code: 'HTTPS_REQUIRED',
        });
      });

      it('says the same of a URL however often it is asked, and of how many others in between', () => {
        const outbound = make(['10.1.0.0/16']);
        const hosts = ['example.com', '8.8.8.8', '10.1.2.3', '10.2.2.3', 'user:pass@example.com'];
        const urls = Array.from({ length: 400 }, (_, i) => hosts.map((host) => `https://${host}/${i}`)).flat();
        const said = urls.map((url) => outbound.problemWithUrl(url));
        expect(said.slice(0, 5)).toEqual([
          null,
          null,
          null,
          expect.stringMatching(/private/),
          expect.stringMatching(/password/),
        ]);
        for (const round of [urls, urls.slice(-100), urls.slice(-100)])
          for (const url of round) expect([url, outbound.problemWithUrl(url)]).toEqual([url, said[urls.indexOf(url)]]);
        const long = `https://10.2.2.3/${'x'.repeat(3000)}`;
        for (const _ of 'twice!') expect(outbound.problemWithUrl(long)).toMatch(/private/);
      });

      it('accepts ordinary https URLs and refuses what is none', () => {
        const outbound = make([]);
        expect(outbound.problemWithUrl('https://example.com/hook?x=1')).toBeNull();
        expect(outbound.problemWithUrl('https://8.8.8.8:8443/')).toBeNull();
        for (const url of ['', 'example.com', 'ftp://example.com', 'file:///etc/passwd', 'javascript:1', 'https://']) {
          expect(outbound.problemWithUrl(url)).toMatch(/https/);
        }
        expect(outbound.problemWithUrl('https://user:pass@example.com/')).toMatch(/password/);
      });

      it('refuses to request anything but http and https', async () => {
        const outbound = make([]);
        expect(await failure(outbound.request(get('file:///etc/passwd')))).toMatchObject({ kind: 'blocked' });
      });
    });

    it('cuts a raw connection off that is not taken', async () => {
      const outbound = make(loopback);
      const signal = AbortSignal.abort();
      expect(await failure(outbound.connect({ host: '127.0.0.1', port: sink.port, signal }))).toMatchObject({
        kind: 'timeout',
      });
    });

    it('lets a raw connection be reset while nobody listens to it', async () => {
      const outbound = make(loopback);
      const accepted: Socket[] = [];
      const server = await startRawServer((socket) => void accepted.push(socket));
      const to = { host: '127.0.0.1', port: server.port, signal: AbortSignal.timeout(5_000) };
      const socket = await outbound.connect(to);
      await until(() => accepted.length === 1, { what: 'the connection to be accepted' });
      accepted[0]?.resetAndDestroy();
      await until(() => socket.destroyed, { what: 'the reset to be seen' });
      await server.close();
    });

    it('ends raw connections when it is closed', async () => {
      const outbound = make(loopback);
      const server = createServer();
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const socket = await outbound.connect({ host: '127.0.0.1', port, signal: AbortSignal.timeout(5_000) });
      const ended = once(socket, 'close');
      await outbound.close();
      await ended;
      server.close();
    });
  });
}
