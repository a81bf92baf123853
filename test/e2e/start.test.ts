// The first minutes of a user: start, banner, the first notification, stop; and the starts that must not happen.

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { embeddedOnly, realOnly } from '../support/engine-set.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { herald as command, makeDataDir, startHerald, token } from '../support/herald.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { recordOf } from '../support/records.ts';
import { until } from '../support/until.ts';

let dataDir: DataDir;
let service: Herald;

beforeAll(async () => {
  dataDir = await makeDataDir();
  // A network of documentation: as strict as production, which exempts none unless it is told to.
  service = await startHerald(dataDir, { OUTBOUND_ALLOW: '192.0.2.0/24' });
});
afterAll(async () => {
  await service.stop();
  await dataDir.remove();
});

describe('a first start', () => {
  it('prints two curls that work when pasted at once: the second shows what the first has sent', async () => {
    const [, post = '', get = ''] = /^ {2}(curl .*notify -H.*)$[^]*^ {2}(curl .*inapp.*)$/m.exec(service.banner) ?? [];
    const pasted = `${post} -w '%{http_code}\n'\n${get}`;
    const shell = spawn('sh', ['-c', pasted], { stdio: ['ignore', 'pipe', 'inherit'] });
    let told = '';
    shell.stdout.on('data', (chunk: Buffer) => (told += chunk.toString()));
    await once(shell, 'close');
    expect(told).toMatch(/"status":"queued"}202\n{"notifications":\[{.*"title":"Hello"/);
  });

  it('says that it is alive and ready on the operations port, each dependency by name', async () => {
    const live = await fetch(`${service.operationsUrl}/health/live`);
    const ready = await fetch(`${service.operationsUrl}/health/ready`);
    expect([live.status, ready.status]).toEqual([200, 200]);
    expect(JSON.stringify(await ready.json())).toMatch(/log/i);
    const told = await command(['--version'], {});
    expect([told.code, await live.json()]).toEqual([0, { status: 'live', version: told.stdout.trim() }]);
    expect(await (await fetch(`${service.operationsUrl}/metrics`)).text()).toContain('herald_');
  });

  it('makes the data folder and its secrets readable for its user alone', async () => {
    const { stat, readdir } = await import('node:fs/promises');
    expect((await stat(dataDir.path)).mode & 0o077).toBe(0);
    const secrets = (await readdir(dataDir.path)).filter((name) => /secret|key/.test(name));
    expect(secrets.length).toBeGreaterThanOrEqual(2);
    for (const name of secrets) expect((await stat(join(dataDir.path, name))).mode & 0o077).toBe(0);
  });

  embeddedOnly(
    'holds its data folder: a second serve and what works on all of it stop and name the holder',
    async () => {
      for (const args of [['serve'], ['reconcile']]) {
        const { code, stderr } = await command(args, { ...dataDir.environment, PORT: '0', OPS_PORT: '0' });
        expect(code).toBe(1);
        expect(stderr).toContain(String(service.process.pid));
        expect(stderr).not.toMatch(/^\s+at /m);
      }
    },
  );

  embeddedOnly(
    'is ready and answers whoever has just posted, however late the first notification is folded',
    async () => {
      const own = await makeDataDir();
      // Nobody folds.
      const api = await startHerald(own, {}, ['--role', 'api']);
      try {
        expect((await api.notify({ channel: 'IN_APP', recipient: 'ada', body: 'hi' })).status).toBe(202);
        const headers = { 'x-api-key': api.apiKey };
        expect((await api.call('GET', '/api/v1/notify/inapp/ada', { headers })).status).toBe(200);
        expect((await fetch(`${api.operationsUrl}/health/ready`)).status).toBe(200);
      } finally {
        await api.stop();
        await own.remove();
      }
    },
  );

  realOnly(
    'shares its engines: a second serve beside it takes requests of the same tenant, and both see them',
    async () => {
      const second = await startHerald(dataDir);
      try {
        const ids = await Promise.all(
          [service, second].map(async (one) => {
            const { status, body } = await one.notify(
              { channel: 'IN_APP', recipient: 'eve', body: 'hi' },
              service.apiKey,
            );
            expect(status).toBe(202);
            return String(body['notificationId']);
          }),
        );
        for (const one of [service, second])
          for (const id of ids) await until(async () => (await recordOf(one, id))?.status === 'DELIVERED');
      } finally {
        expect(await second.stop()).toBe(0);
      }
    },
  );
});

describe('a receiver on this machine', () => {
  it('gets webhooks over http outside production, and a line says so once', async () => {
    const sink = await startHttpSink();
    const own = await makeDataDir();
    const other = await startHerald(own, { LOG_LEVEL: 'info' });
    try {
      const recipient = `${sink.url}/hook`;
      expect((await other.notify({ channel: 'WEBHOOK', recipient, body: 'hi' })).status).toBe(202);
      await until(() => sink.requests.length > 0);
      expect(other.logs().match(/receivers on this machine are let through/g)).toHaveLength(1);
    } finally {
      await other.kill();
      await own.remove();
      await sink.close();
    }
  });
});

describe('the address guard, once OUTBOUND_ALLOW is set', () => {
  it('fails what resolves to a private address at once, class blocked', async () => {
    const { body } = await service.notify({ channel: 'WEBHOOK', recipient: 'https://localhost:9/hook', body: 'hi' });
    const record = await until(async () => {
      const found = await recordOf(service, String(body['notificationId']));
      return found?.status === 'FAILED' && found;
    });
    expect(record).toMatchObject({ attemptCount: 1, attempts: [{ errorClass: 'blocked', nextRetryAt: null }] });
  });

  it.each([
    'https://127.0.0.1/',
    'https://10.1.2.3/',
    'https://[::1]/',
    'https://2130706433/',
    'https://169.254.169.254/latest',
    'http://example.com/',
  ])('refuses %s when it is asked for', async (recipient) => {
    const { status, body } = await service.notify({ channel: 'WEBHOOK', recipient, body: 'hi' });
    expect(status).toBe(400);
    expect(body['details']).toMatchObject([{ path: 'recipient', message: expect.stringContaining('OUTBOUND_ALLOW') }]);
  });
});

describe('token', () => {
  it("prints the demo tenant's owner's token and nothing else", async () => {
    expect(await token(dataDir)).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    const { status, body } = await service.dashboard('GET', '/tenant');
    expect(status).toBe(200);
    expect(body['apiKey']).toBe(service.apiKey);
  });

  it('for somebody else: no tenant until it is provisioned', async () => {
    const bearer = await token(dataDir, {}, ['--sub', 'grace', '--email', 'grace@example.com', '--name', 'Grace']);
    const headers = { authorization: `Bearer ${bearer}` };
    const before = await service.call('GET', '/api/v1/tenant', { headers });
    expect([before.status, before.body['code']]).toEqual([403, 'FORBIDDEN']);
    const made = await service.call('POST', '/api/v1/auth/provision-tenant', { headers });
    expect(made.status).toBe(200);
    const again = await service.call('POST', '/api/v1/auth/provision-tenant', { headers });
    expect(again.body).toEqual(made.body);
    expect((await service.call('GET', '/api/v1/tenant', { headers })).body).toMatchObject({
      name: 'Grace',
      email: 'grace@example.com',
    });
  });
});

describe('settings', () => {
  const hardlyMade = join(tmpdir(), 'herald-hardly-made');
  afterAll(() => rm(hardlyMade, { recursive: true, force: true }));

  it('are listed with their defaults, secrets unseen', async () => {
    const { stdout, code } = await command(['config'], { ENCRYPTION_SECRET: 'a-very-secret-secret-of-32-characters' });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^RATE_LIMIT .*100\/10s/m);
    expect(stdout).not.toContain('a-very-secret');
  });

  it.each([
    [{ NODE_ENV: 'production' }, ['ENCRYPTION_SECRET', 'AUTH_JWKS_URL', 'AUTH_ISSUER', 'AUTH_AUDIENCE']],
    [{ RATE_LIMIT: 'plenty' }, ['RATE_LIMIT']],
    [{ PORT: '70000' }, ['PORT']],
    [{ OUTBOUND_ALLOW: 'loopback' }, ['OUTBOUND_ALLOW']],
    [{ PROVIDER_URLS: '{"resend":3}' }, ['PROVIDER_URLS']],
    [{ RETRY_DELAYS: '1s,soon' }, ['RETRY_DELAYS']],
    [{ KAFKA_BROKERS: '127.0.0.1:1' }, ['SCHEMA_REGISTRY_URL', 'MONGODB_URL', 'REDIS_URL']],
    [{ KAFKA_TLS_CA: '/nowhere/ca.pem' }, ['KAFKA_TLS_CA']],
    [
      {
        KAFKA_BROKERS: '127.0.0.1:1',
        SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1',
        REDIS_URL: 'redis://127.0.0.1:1',
        MONGODB_URL: 'mongodb://127.0.0.1/?replicaSet=rs0&nonsense=1',
      },
      ['MONGODB_URL'],
    ],
    [{ AUTH_ISSUER: 'https://issuer.example.com' }, ['AUTH_JWKS_URL', 'AUTH_AUDIENCE']],
  ])('that are wrong or missing stop the start and are named: %j', async (environment, names) => {
    const { code, stderr } = await command(['serve'], {
      DATA_DIR: hardlyMade,
      PORT: '0',
      OPS_PORT: '0',
      ...environment,
    });
    expect(code).toBe(1);
    for (const name of names) expect(stderr).toContain(name);
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

describe('stopping', () => {
  let other: Herald | null = null;
  let itsDataDir: DataDir | null = null;
  afterEach(async () => {
    await other?.kill();
    await itsDataDir?.remove();
  });

  it.each(['SIGTERM', 'SIGHUP', 'SIGQUIT'] as const)(
    'finishes what is in flight on %s, however many of them come',
    async (signal) => {
      itsDataDir = await makeDataDir();
      other = await startHerald(itsDataDir);
      const answers = Array.from({ length: 50 }, (_, i) =>
        (other as Herald).notify({ channel: 'IN_APP', recipient: `user-${i}`, body: 'bye' }).then(
          ({ status }) => status,
          () => 0,
        ),
      );
      const first = await Promise.race(answers);
      other.process.kill(signal);
      const code = await other.stop();
      expect(first).toBe(202);
      expect(code).toBe(0);
      for (const status of await Promise.all(answers)) expect([202, 0]).toContain(status);
    },
  );
});
