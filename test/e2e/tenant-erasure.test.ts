// Sixteen markers of a tenant are planted in everything that can hold them; once it is erased no answer, export, log line, metric, rebuild or stored document
// has one of them, no file of DATA_DIR either, its keys have ended, and everything of another tenant is the same byte for byte.

import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { TenantId } from '../../src/domain/ids.ts';
import { embeddedOnly, engineSet, realOnly } from '../support/engine-set.ts';
import type { Answer, DataDir, Herald } from '../support/herald.ts';
import { herald, makeDataDir, startHerald, token } from '../support/herald.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { documentsInMongo } from '../support/read-model-documents.ts';
import { withSettings } from '../support/stored-settings.ts';
import { until } from '../support/until.ts';

const planted = Object.fromEntries(
  'person email name secret keyName templateName templateBody suppressed subject body data metadata metadataKey hook refusal user'
    .split(' ')
    .map((name) => [name, `x${randomBytes(11).toString('hex')}`]),
);
const m = (name: string): string => planted[name] ?? '';

/** As text is written: plain, in UTF-16, and in base64 wherever in a group of three bytes it begins. */
function formsOf(text: string): Buffer[] {
  const inBase64 = [0, 1, 2].map((before) => {
    const encoded = Buffer.from(`${'\0'.repeat(before)}${text}`).toString('base64');
    return encoded.slice(before === 0 ? 0 : 4, -4);
  });
  return [Buffer.from(text), Buffer.from(text, 'utf16le'), ...inBase64.map((one) => Buffer.from(one))];
}
const forms = Object.entries(planted).flatMap(([name, text]) => formsOf(text).map((form) => ({ name, form })));
const foundIn = (bytes: Buffer): string[] => [
  ...new Set(forms.filter(({ form }) => bytes.includes(form)).map(({ name }) => name)),
];

const environment = { OUTBOUND_ALLOW: '127.0.0.1/32', RETRY_DELAYS: '1h', LOG_LEVEL: 'debug' };
let dataDir: DataDir;
let receiver: HttpSink;
let service: Herald;
let bearer: string;
let apiKey: string;
let tenantId: string;

beforeAll(async () => {
  dataDir = await makeDataDir();
  receiver = await startHttpSink({
    respond: (request, response) =>
      request.path.includes('bystander')
        ? response.writeHead(204).end()
        : response.writeHead(request.path.includes('later') ? 503 : 400).end(m('refusal')),
  });
  service = await startHerald(dataDir, environment);
  const person = { sub: m('person'), name: m('name'), email: `${m('email')}@example.com` };
  const options = Object.entries(person).flatMap(([option, value]) => [`--${option}`, value]);
  bearer = await token(dataDir, environment, options);
}, 120_000);

afterAll(async () => {
  await service?.stop();
  await receiver?.close();
  await dataDir?.remove();
}, 30_000);

const mine = (method: string, path: string, body?: unknown): Promise<Answer> =>
  service.call(method, `/api/v1${path}`, {
    ...(body === undefined ? {} : { body }),
    headers: { authorization: `Bearer ${bearer}` },
  });
const withKey = (method: string, path: string, body?: unknown): Promise<Answer> =>
  service.call(method, `/api/v1${path}`, {
    ...(body === undefined ? {} : { body }),
    headers: { 'x-api-key': apiKey },
  });

async function sent(status: string, notification: Record<string, unknown>): Promise<string> {
  const { body } = await withKey('POST', '/notify', { subject: 's', body: 'b', ...notification });
  const id = String(body['notificationId']);
  const is = async () =>
    ((await mine('GET', `/notifications/${id}`)).body['notification'] as Record<string, unknown> | undefined)?.[
      'status'
    ];
  await until(async () => (await is()) === status, { timeoutMs: 30_000, what: `${id} to be ${status}` });
  return id;
}

async function everyAnswer(): Promise<string> {
  const paths = ['/notifications?limit=100', '/suppressions', '/templates', '/providers', '/keys', '/tenant'];
  const answers = await Promise.all(paths.map((path) => mine('GET', path)));
  const inbox = await withKey('GET', `/notify/inapp/${m('user')}`);
  return JSON.stringify([...answers, inbox].map(({ body }) => body));
}

/** What another tenant sees of itself. */
async function everythingOfBystander(): Promise<string> {
  const paths = ['/notifications?limit=100', '/dashboard/stats?range=all', '/tenant', '/providers', '/keys'];
  const answers = await Promise.all(paths.map((path) => service.dashboard('GET', path)));
  return JSON.stringify(answers.map(({ status, body }) => [status, body]));
}

const exported = async () => (await herald(['export', '--out', '-'], dataDir.environment)).stdout;
const erase = () => herald(['erase', '--tenant', tenantId], dataDir.environment);

describe('an erased tenant', () => {
  let before: string;
  let formerSettings: Buffer;
  const settingsFile = () => join(dataDir.path, 'settings.db');

  it('is everywhere before', async () => {
    const { body: provisioned } = await mine('POST', '/auth/provision-tenant');
    tenantId = String(provisioned['tenantId']);
    apiKey = String((provisioned['tenant'] as Record<string, unknown>)['apiKey']);
    const hook = `${receiver.url}/${m('hook')}`;
    const provider = { channel: 'WEBHOOK', provider: 'custom', apiKey: m('secret'), config: {}, enabled: true };
    expect((await mine('POST', '/providers', provider)).status).toBe(200);
    expect((await mine('POST', '/keys', { name: m('keyName'), scopes: ['read'] })).status).toBe(201);
    const template = { name: m('templateName'), channel: 'IN_APP', body: `${m('templateBody')} {{mark}}` };
    expect((await mine('POST', '/templates', template)).status).toBe(201);
    const suppression = { channel: 'EMAIL', recipient: `${m('suppressed')}@example.com` };
    expect((await mine('POST', '/suppressions', suppression)).status).toBe(201);
    const item = { channel: 'IN_APP', recipient: m('user') };
    const written = {
      subject: m('subject'),
      body: m('body'),
      metadata: { mark: m('metadata'), [m('metadataKey')]: '1' },
    };
    await sent('DELIVERED', { ...item, ...written });
    const rendered = { ...item, template: m('templateName'), data: { mark: m('data') } };
    const { body } = await withKey('POST', '/notify', rendered);
    expect(body).toHaveProperty('notificationId');
    await sent('FAILED', { channel: 'WEBHOOK', recipient: hook });
    await sent('RETRYING', { channel: 'WEBHOOK', recipient: `${hook}/later` });
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    await sent('SCHEDULED', { ...item, sendAt });
    const other = await service.notify({ channel: 'WEBHOOK', recipient: `${receiver.url}/bystander`, body: 'Hi' });
    const otherIs = async () =>
      JSON.stringify((await service.dashboard('GET', `/notifications/${String(other.body['notificationId'])}`)).body);
    await until(async () => (await otherIs()).includes('"DELIVERED"'), { what: "the other tenant's to be delivered" });
    before = await everythingOfBystander();
    // Secrets are masked, the rest is told.
    const told = Object.keys(planted).filter((name) => !['secret', 'person', 'name', 'refusal'].includes(name));
    const areShown = async () => {
      const found = foundIn(Buffer.from(await everyAnswer()));
      return told.every((name) => found.includes(name));
    };
    await until(areShown, { what: 'all to show' });
    expect(foundIn(Buffer.from(await exported())).length).toBeGreaterThanOrEqual(10);
  }, 120_000);

  it('is erased by the command, which looks for what is left', async () => {
    if (engineSet === 'embedded') {
      await service.stop();
      formerSettings = await readFile(settingsFile());
    }
    const { code, stdout, stderr } = await erase();
    expect([code, stdout, stderr]).toEqual([
      0,
      expect.stringMatching(/^Nothing of the tenant is left/),
      expect.stringMatching(/^erase: [1-9]\d* notifications erased$/m),
    ]);
    if (engineSet === 'embedded') service = await startHerald(dataDir, environment);
  }, 180_000);

  it('has no keys, no tokens and no answers any more', async () => {
    await until(async () => (await withKey('GET', `/notify/inapp/${m('user')}`)).status === 401, {
      what: 'its key to end',
    });
    await until(async () => (await mine('GET', '/notifications')).status === 403, {
      what: 'its person to have no tenant',
    });
    expect(foundIn(Buffer.from(await everyAnswer()))).toEqual([]);
    expect(foundIn(Buffer.from(await exported()))).toEqual([]);
    expect(await exported()).not.toMatch(new RegExp(`"${tenantId}".*"Notification`));
  }, 60_000);

  embeddedOnly('is in no file of DATA_DIR, while the service runs', async () => {
    for (const name of await readdir(dataDir.path))
      expect([name, foundIn(await readFile(join(dataDir.path, name)))]).toEqual([name, []]);
  });

  realOnly('is in no document of MongoDB', async () => {
    const { documents } = await documentsInMongo(String(dataDir.environment['MONGODB_URL']));
    const all = JSON.stringify([...documents]);
    expect([documents.size > 0, foundIn(Buffer.from(all)), all.includes(tenantId)]).toEqual([true, [], false]);
  });

  it('is in no log line and no metric', async () => {
    expect(foundIn(Buffer.from(await (await fetch(`${service.operationsUrl}/metrics`)).text()))).toEqual([]);
    if (engineSet === 'embedded') expect(foundIn(Buffer.from(service.logs()))).toEqual([]);
  });

  it("leaves another tenant's documents as they were", async () => {
    expect(await everythingOfBystander()).toBe(before);
  });

  it('stays so when the read models are folded anew, and gives what there was', async () => {
    await service.stop();
    const { code, stderr } = await herald(['rebuild'], dataDir.environment);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('NOT equal')]);
    service = await startHerald(dataDir, environment);
    expect(await everythingOfBystander()).toBe(before);
    expect(foundIn(Buffer.from(await exported()))).toEqual([]);
  }, 120_000);

  it('may be asked for once more, and its person has another tenant then, under another id', async () => {
    if (engineSet === 'embedded') await service.stop();
    expect(await erase()).toMatchObject({ code: 0 });
    expect(await herald(['erase', '--tenant', 'tnt_nobody'], dataDir.environment)).toMatchObject({ code: 1 });
    if (engineSet === 'embedded') service = await startHerald(dataDir, environment);
    const { status, body } = await mine('POST', '/auth/provision-tenant');
    expect([status, body['tenantId'] === tenantId]).toEqual([200, false]);
    expect((await mine('GET', '/notifications')).body['data']).toEqual([]);
  }, 180_000);

  embeddedOnly(
    'does not come back with settings of an earlier time',
    async () => {
      await service.stop();
      for (const beside of ['-wal', '-shm']) await rm(`${settingsFile()}${beside}`, { force: true });
      await writeFile(settingsFile(), formerSettings);
      service = await startHerald(dataDir, environment);
      const { status } = await withKey('POST', '/notify', { channel: 'IN_APP', recipient: m('user'), body: 'Hi' });
      expect([status, (await mine('GET', '/notifications')).status]).toEqual([401, 403]);
      expect(service.logs()).toContain('the settings had a tenant that the log says is erased');
      const { body } = await mine('POST', '/auth/provision-tenant');
      expect(body['tenantId']).not.toBe(tenantId);
      // It is said once: there is nothing left to go.
      await service.stop();
      service = await startHerald(dataDir, environment);
      expect(service.logs()).not.toContain('the settings had a tenant');
    },
    120_000,
  );
});

embeddedOnly(
  'a signing secret of before, and one of reports, are found in a folder that is named',
  async () => {
    const other = await makeDataDir('embedded');
    const folder = await mkdtemp(join(tmpdir(), 'herald-erased-'));
    try {
      const running = await startHerald(other, environment);
      const save = (provider: Record<string, unknown>) => running.dashboard('POST', '/providers', provider);
      for (const apiKey of ['the signing secret number one', 'the signing secret number two'])
        expect(await save({ channel: 'WEBHOOK', provider: 'custom', apiKey, config: {} })).toMatchObject({
          status: 200,
        });
      const id = String((await running.dashboard('GET', '/tenant')).body['id']) as TenantId;
      await running.stop();
      const [stored] = await withSettings(other.environment, async (settings) => {
        const [webhook] = (await settings.settings(id))?.providers ?? [];
        if (webhook === undefined) throw new Error('nothing is saved');
        const secret = { sealedCallbackSecret: `v1.${'x'.repeat(48)}` };
        await settings.saveProvider({ ...webhook, ...secret });
        return (await settings.settings(id))?.providers ?? [];
      });
      const sealed = [stored?.sealedPreviousApiKey, stored?.sealedCallbackSecret];
      for (const [i, text] of sealed.entries()) await writeFile(join(folder, `copy-${i}`), text ?? '');
      const { code, stdout } = await herald(['erase', '--tenant', id, '--search', folder], other.environment);
      expect(code).toBe(1);
      for (const i of sealed.keys()) expect(stdout).toContain(`${join(folder, `copy-${i}`)}: still there`);
    } finally {
      await other.remove();
      await rm(folder, { recursive: true });
    }
  },
  120_000,
);
