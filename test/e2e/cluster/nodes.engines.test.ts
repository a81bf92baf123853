// Several processes are one service: one limit for a tenant, and a change on one of them holds on all of them within 5 s.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DeliveryWorld } from '../../support/delivery-world.ts';
import { startDeliveryWorld } from '../../support/delivery-world.ts';
import type { DataDir } from '../../support/data-dir.ts';
import { makeDataDir } from '../../support/data-dir.ts';
import type { Herald } from '../../support/herald.ts';
import { startHerald, token } from '../../support/herald.ts';
import type { Node } from '../../support/nodes.ts';
import { startNode } from '../../support/nodes.ts';
import { createPoster } from '../../support/posting.ts';
import { startSmtpSink } from '../../support/smtp-sink.ts';
import { until } from '../../support/until.ts';

const inForceMs = 5000;
const poster = createPoster();
let dataDir: DataDir;
let world: DeliveryWorld;
let apis: [Herald, Herald];
let dispatchers: Node[];

beforeAll(async () => {
  dataDir = await makeDataDir();
  world = await startDeliveryWorld();
  const { RATE_LIMIT: _unlimited, ...environment } = { ...world.environment };
  const startApi = () => startHerald(dataDir, environment, ['--role', 'api']);
  apis = [await startApi(), await startApi()];
  const start = () => startNode(dataDir, environment, ['--role', 'dispatcher', '--channel', 'email']);
  dispatchers = await Promise.all([start(), start()]);
}, 120_000);

afterAll(async () => {
  await poster.close();
  await Promise.all([...apis, ...dispatchers].map((one) => one.stop()));
  await world.close();
  await dataDir.remove();
}, 60_000);

it('1,000 parallel requests of one tenant over two processes: exactly 100 are accepted in the window', async () => {
  const answers = await Promise.all(
    Array.from({ length: 1000 }, (_, i) =>
      poster.post(apis[i % 2] ?? apis[0], { channel: 'IN_APP', recipient: 'ada', body: 'hi' }),
    ),
  );
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(100);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(900);
});

it('a regenerated key is refused by every process within 5 s, and the new one taken', async () => {
  const bearer = await token(dataDir, {}, ['--sub', 'keys']);
  const headers = { authorization: `Bearer ${bearer}` };
  const provisioned = await apis[0].call('POST', '/api/v1/auth/provision-tenant', { headers });
  const oldKey = (provisioned.body['tenant'] as { apiKey: string }).apiKey;
  const post = (herald: Herald, key: string) =>
    herald.notify({ channel: 'IN_APP', recipient: 'ada', body: 'hi' }, key).then(({ status }) => status);
  for (const api of apis) expect(await post(api, oldKey)).toBe(202);
  const regenerated = await apis[0].call('POST', '/api/v1/auth/regenerate-key', { headers });
  const newKey = String(regenerated.body['apiKey']);
  // Seldom enough for the tenant's own limit.
  const withinMs = { timeoutMs: inForceMs, everyMs: 200, what: 'a 401 for the old key' };
  await Promise.all(apis.map((api) => until(async () => (await post(api, oldKey)) === 401, withinMs)));
  for (const api of apis) expect(await post(api, newKey)).toBe(202);
});

it('a further key is taken by every process at once, and refused by each within 5 s of its end', async () => {
  const bearer = await token(dataDir, {}, ['--sub', 'further-keys']);
  const headers = { authorization: `Bearer ${bearer}` };
  await apis[0].call('POST', '/api/v1/auth/provision-tenant', { headers });
  const list = (herald: Herald, key: string) =>
    herald.call('GET', '/api/v1/templates', { headers: { 'x-api-key': key } }).then(({ status }) => status);
  const make = async () =>
    (await apis[0].call('POST', '/api/v1/keys', { headers, body: { name: 'Reports', scopes: ['read'] } })).body;
  const first = await make();
  for (const api of apis) expect(await list(api, String(first['key']))).toBe(200);
  // The other process knows the tenant by now, without this one.
  const second = await make();
  expect(await list(apis[1], String(second['key']))).toBe(200);
  await apis[0].call('DELETE', `/api/v1/keys/${String(first['id'])}`, { headers });
  const withinMs = { timeoutMs: inForceMs, what: 'a 401 for the key that ended' };
  await Promise.all(apis.map((api) => until(async () => (await list(api, String(first['key']))) === 401, withinMs)));
  for (const api of apis) expect(await list(api, String(second['key']))).toBe(200);
});

it('a saved provider is used by every process within 5 s', async () => {
  const second = await startSmtpSink();
  const save = (port: number) =>
    apis[0].dashboard('POST', '/providers', {
      channel: 'EMAIL',
      provider: 'smtp',
      apiKey: 'smtp-password-of-the-shop',
      config: { fromName: 'Shop', fromEmail: 'shop@example.com', host: '127.0.0.1', port, secure: false, user: 'shop' },
      enabled: true,
    });
  expect((await save(world.mail.port)).status).toBe(200);
  let sent = 0;
  const mail = async () => {
    // Many ids, so that both dispatchers and both shards have some of them.
    const statuses = await Promise.all(
      Array.from({ length: 8 }, () =>
        poster.post(apis[sent++ % 2] ?? apis[0], {
          channel: 'EMAIL',
          recipient: 'ada@example.com',
          subject: 'Hello',
          body: 'hi',
        }),
      ),
    );
    return statuses.every(({ status }) => status === 202);
  };
  await until(mail, { timeoutMs: inForceMs + 10_000, what: 'both processes to know the provider (and a new window)' });
  await until(() => world.mail.mails.length >= 8, { what: 'the mails at the first server' });

  expect((await save(second.port)).status).toBe(200);
  const savedAt = Date.now();
  await until(() => Date.now() - savedAt > inForceMs, { timeoutMs: inForceMs + 1000, what: '5 s to be over' });
  const before = world.mail.mails.length;
  await until(mail, { timeoutMs: 15_000, what: 'mails accepted' });
  await until(() => second.mails.length >= 8, { what: 'the mails at the second server' });
  expect(world.mail.mails).toHaveLength(before);
  await second.close();
}, 60_000);
