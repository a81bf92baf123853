// The wall: every spelling of a private address, for every kind of outbound call. A trap listens on loopback; nobody ever connects to it.

import type { Server } from 'node:net';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { LookUp } from '../../../src/adapters/http/guard-names.ts';
import { createOutbound } from '../../../src/adapters/http/outbound.ts';
import { createProviderRegistry } from '../../../src/channels/registry.ts';
import { privateSpellings } from '../../contracts/outbound.ts';
import { aDelivery, contextOf } from '../../contracts/provider.ts';
import type { App } from '../../support/app.ts';
import { startApp } from '../../support/app.ts';
import { startHttpSink } from '../../support/http-sink.ts';
import { httpProviders } from '../../support/stand-ins/http-providers.ts';
import { expectAlive } from '../../support/unharmed.ts';
import { until } from '../../support/until.ts';
import { wallClock } from '../../support/wall-clock.ts';

/** Besides the contract's: more ways to write the same. */
const spellings = [
  ...privateSpellings,
  '0',
  '127.0.1',
  '127.0.0.0x1',
  '0x7f.0x0.0x0.0x1',
  '00000177.0.0.01',
  '127。0。0。1',
  '①②⑦.0.0.1',
  '%31%32%37.0.0.1',
  '[0:0:0:0:0:ffff:7f00:1]',
  '[0000::1]',
  '[::ffff:0:7f00:1]',
  '[64:ff9b:1::7f00:1]',
  '[2001:0:4136:e378:8000:63bf:80ff:fffe]',
  '[2001:db8::1]',
  '[ff02::1]',
  '[fc00::1]',
  '192.0.0.1',
  '240.0.0.1',
];

/** Names that a resolver answers with private addresses: the system's own, or an attacker's. */
const privateNames: Readonly<Record<string, readonly string[]>> = {
  localhost: ['127.0.0.1', '::1'],
  'localhost.': ['127.0.0.1'],
  LOCALHOST: ['127.0.0.1'],
  'x.localhost': ['127.0.0.1'],
  'ip6-localhost': ['::1'],
  'metadata.google.internal': ['169.254.169.254'],
  'inner.evil.test': ['10.0.0.1'],
  'loop.evil.test': ['127.0.0.1'],
  'six.evil.test': ['::ffff:127.0.0.1'],
  'mixed.evil.test': ['8.8.8.8', '127.0.0.1'],
  'zero.evil.test': ['0.0.0.0'],
  'translated.evil.test': ['64:ff9b::7f00:1'],
};

let app: App;
let tenant: Awaited<ReturnType<App['tenant']>>;
let trap: { readonly port: number; caught(): number; close(): void };

const lookUp: LookUp = (name) => {
  const known = privateNames[name] ?? privateNames[name.toLowerCase()] ?? literalOf(name);
  if (known === undefined)
    return Promise.reject(Object.assign(new Error(`getaddrinfo ${name}`), { code: 'ENOTFOUND' }));
  const addresses = known.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  return Promise.resolve({ addresses, ttlMs: 5_000 });
};

/** As getaddrinfo reads the numeric spellings: all of these are loopback. */
function literalOf(name: string): readonly string[] | undefined {
  const host = URL.parse(`https://${name}/`)?.hostname;
  return host !== undefined && /^\d+\.\d+\.\d+\.\d+$/.test(host) ? [host] : undefined;
}

beforeAll(async () => {
  trap = await startTrap();
  app = await startApp({ outbound: { allow: [], lookUp } });
  tenant = await app.tenant('owner', { email: 'owner@example.com' });
});

afterAll(async () => {
  expect(trap.caught()).toBe(0);
  await expectAlive(app);
  await app.close();
  trap.close();
});

const webhook = (recipient: string) => tenant.notify({ channel: 'WEBHOOK', recipient, body: 'b' });

describe('a webhook', () => {
  it.each(spellings)('to https://%s is refused at acceptance, and so is its test', async (host) => {
    for (const url of [
      `https://${host}:${trap.port}/`,
      `https://user@${host}:${trap.port}/`,
      `https://example.com@${host}:${trap.port}/`,
      `http://${host}:${trap.port}/`,
    ]) {
      const { status, body } = await webhook(url);
      expect([url, status, body.details[0].path]).toEqual([url, 400, 'recipient']);
      const test = await tenant.dashboard('POST', '/providers/WEBHOOK/test', { recipient: url });
      expect([test.status, test.body.success]).toEqual([200, false]);
    }
  });

  it.each(Object.keys(privateNames))('to a name that is private fails, blocked, once: %s', async (name) => {
    expect((await webhook(`http://${name}:${trap.port}/`)).status).toBe(400);
    const { status, body } = await webhook(`https://${name}:${trap.port}/`);
    expect(status).toBe(202);
    const record = await until(
      async () => {
        const shown = await tenant.dashboard('GET', `/notifications/${body.notificationId}/attempts`);
        return shown.status === 200 && shown.body.notification.status === 'FAILED' ? shown.body : null;
      },
      { what: 'the notification to fail' },
    );
    expect(record.attempts).toMatchObject([{ errorClass: 'blocked', errorCode: 'ADDRESS_BLOCKED', nextRetryAt: null }]);
    // Nothing of the inner network is told.
    expect(JSON.stringify(record.attempts)).not.toMatch(/127\.0\.0\.1|169\.254|10\.0\.0\.1/);
    const test = await tenant.dashboard('POST', '/providers/WEBHOOK/test', {
      recipient: `https://${name}:${trap.port}/`,
    });
    expect([test.status, test.body.success]).toEqual([200, false]);
  });

  it.each([
    'ftp://example.com/',
    'file:///etc/passwd',
    'gopher://127.0.0.1:6379/_FLUSHALL',
    'javascript:alert(1)',
    'data:text/html,x',
    'https://',
    '//example.com/',
    'https://exa mple.com/',
    'https://example.com/\r\nX: y',
    'https://127.0.0.1\\@example.com/',
    'https://127.0.0.1#@example.com/',
    'https://[::1',
    'https://[::1%25lo]/',
    'https://256.256.256.256/',
    'https://1.2.3.4.5/',
    'https://example.com:99999/',
    'https://example.com:-1/',
    'https://\u0000example.com/',
    'https://\u202eexample.com/',
    'blob:https://example.com/x',
    'ws://example.com/',
  ])('to what is no https address is refused: %j', async (url) => {
    expect((await webhook(url)).status).toBe(400);
  });
});

describe('a mail server', () => {
  const config = { fromName: 'Shop', fromEmail: 'shop@example.com', port: 0 };
  const hosts = [...spellings.map((host) => host.replace(/^\[|\]$/g, '')), ...Object.keys(privateNames)];

  it.each(hosts)('at %s is refused, or never connected to', async (host) => {
    const provider = { channel: 'EMAIL', provider: 'smtp', apiKey: 'the password', enabled: true };
    for (const secure of [false, true]) {
      const sent = { ...provider, config: { ...config, host, port: trap.port, secure } };
      const saved = await tenant.dashboard('POST', '/providers', sent);
      expect([200, 400]).toContain(saved.status);
      if (saved.status === 400) continue;
      const startedAt = performance.now();
      const test = await tenant.dashboard('POST', '/providers/EMAIL/test');
      expect([test.status, test.body.success]).toEqual([200, false]);
      expect(performance.now() - startedAt).toBeLessThan(1000);
    }
  });
});

describe('a base address of providers', () => {
  it.each(httpProviders.map(({ traits, start }) => [traits.name, traits, start] as const))(
    'that is private is never connected to by %s',
    async (_, traits, start) => {
      const standIn = await start();
      const outbound = createOutbound({ allow: [], clock: wallClock, lookUp });
      for (const host of [
        '127.0.0.1',
        '127.1',
        '[::1]',
        '[::ffff:7f00:1]',
        '169.254.169.254',
        'localhost',
        'loop.evil.test',
      ]) {
        for (const scheme of ['http', 'https']) {
          const providerUrls = { [traits.name]: `${scheme}://${host}:${trap.port}` };
          const registry = createProviderRegistry({ outbound, clock: wallClock, providerUrls });
          const outcome = await registry
            .find(traits.channel, traits.name)
            ?.send(aDelivery({ recipient: standIn.recipient }), contextOf(traits, standIn, AbortSignal.timeout(5000)));
          expect([host, outcome]).toMatchObject([host, { kind: 'rejected', reason: { failureClass: 'blocked' } }]);
        }
      }
      await outbound.close();
      await standIn.close();
    },
  );
});

describe('where one address is let through', () => {
  it('a redirect to another is not followed, and a name that moves there between tries is not', async () => {
    const target = await startHttpSink();
    const hook = await startHttpSink({
      respond({ path }, response) {
        const status = path === '/redirect' ? 307 : 500;
        response.writeHead(status, { location: target.url, connection: 'close' }).end();
      },
    });
    let now = 0;
    let address = '127.0.0.1';
    const asked: string[] = [];
    const moving = await startApp({
      retryDelaysMs: [20, 20, 3_600_000],
      outbound: {
        allow: ['127.0.0.1/32'],
        // Each answer of the resolver is old at the next try.
        clock: { ...wallClock, monotonic: () => (now += 10_000) },
        lookUp(name) {
          asked.push(name);
          const answer = { addresses: [{ address, family: 4 }], ttlMs: 5_000 };
          address = '127.0.0.2';
          return Promise.resolve(answer);
        },
      },
    });
    const owner = await moving.tenant('owner');
    const attemptsOf = async (recipient: string) => {
      const { body } = await owner.notify({ channel: 'WEBHOOK', recipient, body: 'b' });
      return until(async () => {
        const shown = await owner.dashboard('GET', `/notifications/${body.notificationId}/attempts`);
        return shown.status === 200 && shown.body.notification.status === 'FAILED' ? shown.body.attempts : null;
      });
    };

    const redirected = await attemptsOf(`${hook.url}/redirect`);
    expect(redirected).toMatchObject([{ errorClass: 'recipient', errorCode: '307' }]);

    const moved = await attemptsOf(`http://hook.internal:${hook.port}/`);
    expect(moved).toMatchObject([
      { errorClass: 'provider', errorCode: '500' },
      { errorClass: 'blocked', errorCode: 'ADDRESS_BLOCKED' },
    ]);
    expect(asked).toEqual(['hook.internal', 'hook.internal']);
    expect(hook.requests).toHaveLength(2);
    expect(target.connections()).toBe(0);
    await moving.close();
    await Promise.all([hook.close(), target.close()]);
  });
});

/** Counts whoever connects, over IPv4 and IPv6, whatever they want. */
async function startTrap() {
  let caught = 0;
  const servers: Server[] = [];
  const listenOn = (host: string, port: number) =>
    new Promise<number>((done, failed) => {
      const server = createServer((socket) => {
        caught++;
        socket.destroy();
      });
      servers.push(server);
      server.once('error', failed);
      server.listen(port, host, () => done((server.address() as AddressInfo).port));
    });
  const port = await listenOn('0.0.0.0', 0);
  // A machine without IPv6 has nobody there to be reached.
  await listenOn('::1', port).catch(() => undefined);
  return { port, caught: () => caught, close: () => servers.forEach((server) => server.close()) };
}
