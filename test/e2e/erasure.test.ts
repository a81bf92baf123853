// Twelve markers of three recipients, and those of a batch's item, are planted in everything that can hold them; once the recipients are erased no answer of any
// GET, export, log line, metric, rebuild or stored document has one of them, no file of DATA_DIR either, the counts stay, and what is others' is the same byte for
// byte. What was said of them without being kept (a refused request, an Idempotency-Key with its request's hash) is in none of these from the beginning.

import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { embeddedOnly, engineSet, realOnly } from '../support/engine-set.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { herald, makeDataDir, startHerald, token } from '../support/herald.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { getsOf } from '../support/look-back-routes.ts';
import { bytesInMongo, documentsInMongo } from '../support/read-model-documents.ts';
import type { SmtpSink } from '../support/smtp-sink.ts';
import { startSmtpSink } from '../support/smtp-sink.ts';
import { until } from '../support/until.ts';

const marker = () => `x${randomBytes(11).toString('hex')}`;
const names = ['address', 'subject', 'body', 'data', 'metadata', 'refusal', 'planned', 'user', 'title', 'item', 'hook'];
const planted = Object.fromEntries([...names, 'long', 'batch', 'ownId'].map((name) => [name, marker()]));
/** In requests that are refused, and in the headers of one that is taken: nothing of them is kept as it came. */
const unkept = Object.fromEntries(['refused', 'key'].map((name) => [name, marker()]));
const m = (name: string): string => planted[name] ?? '';

/** As text is written: plain, in UTF-16, and in base64 wherever in a group of three bytes it begins. */
function formsOf(text: string): Buffer[] {
  const inBase64 = [0, 1, 2].map((before) => {
    const encoded = Buffer.from(`${'\0'.repeat(before)}${text}`).toString('base64');
    return encoded.slice(before === 0 ? 0 : 4, -4);
  });
  return [Buffer.from(text), Buffer.from(text, 'utf16le'), ...inBase64.map((one) => Buffer.from(one))];
}

const forms = Object.entries({ ...planted, ...unkept }).flatMap(([name, text]) =>
  formsOf(text).map((form) => ({ name, form })),
);
const foundIn = (bytes: Buffer): string[] => [
  ...new Set(forms.filter(({ form }) => bytes.includes(form)).map(({ name }) => name)),
];

let dataDir: DataDir;
let mail: SmtpSink;
let receiver: HttpSink;
let service: Herald;
let ada: string;
let hook: string;
const environment = { OUTBOUND_ALLOW: '127.0.0.1/32', RETRY_DELAYS: '1h', LOG_LEVEL: 'debug' };
const ids = new Map<string, string>();
const jobIds: string[] = [];
let bearer = '';
let [batchId, templateId] = ['', ''];
const idOf = (name: string): string => ids.get(name) ?? '';

beforeAll(async () => {
  dataDir = await makeDataDir();
  mail = await startSmtpSink();
  receiver = await startHttpSink({
    respond: (request, response) => response.writeHead(request.path.includes('later') ? 503 : 400).end(m('refusal')),
  });
  [ada, hook] = [`${m('address')}@example.com`, `${receiver.url}/${m('hook')}`];
  service = await startHerald(dataDir, environment);
  const sender = { fromName: 'Shop', fromEmail: 'shop@example.com' };
  const smtp = { ...sender, host: '127.0.0.1', port: mail.port, secure: false, user: 'shop' };
  const saved = { channel: 'EMAIL', provider: 'smtp', apiKey: 'password', config: smtp, enabled: true };
  expect((await service.dashboard('POST', '/providers', saved)).status).toBe(200);
  bearer = await token(dataDir);
  const template = { name: 'welcome', channel: 'EMAIL', subject: 'Welcome', body: 'Hello {{ name }}' };
  const made = (await service.dashboard('POST', '/templates', template)).body;
  templateId = String(made['id']);
  const changed = { ...template, body: 'Good day {{ name }}' };
  expect((await service.dashboard('PUT', `/templates/${templateId}`, changed)).status).toBe(200);
}, 90_000);

afterAll(async () => {
  await service?.stop();
  await Promise.all([receiver?.close(), mail?.close()]);
  await dataDir?.remove();
}, 30_000);

const recordOf = async (id: string) =>
  (await service.dashboard('GET', `/notifications/${id}`)).body['notification'] as Record<string, unknown> | undefined;

/** Sent, and as its status is to become. */
async function sent(name: string, status: string, notification: Record<string, unknown>): Promise<void> {
  const { body } = await service.notify({ subject: 's', body: 'b', ...notification });
  ids.set(name, String(body['notificationId']));
  await until(async () => (await recordOf(idOf(name)))?.['status'] === status, {
    timeoutMs: 30_000,
    what: `${name} to be ${status}`,
  });
}

/** What is asked of each GET of the OpenAPI document. */
const callsOf = (): Readonly<Record<string, readonly string[]>> => ({
  '/notifications': [
    '/notifications?limit=100',
    `/notifications?recipient=${encodeURIComponent(ada)}`,
    `/notifications?recipientPrefix=${m('address').slice(0, 8)}`,
    `/notifications?q=${m('subject')}`,
    `/notifications?q=${m('body')}`,
    `/notifications?metadata.mark=${m('metadata')}`,
    `/notifications?batchId=${batchId}`,
  ],
  '/notifications.csv': ['/notifications.csv'],
  '/notifications/{id}': [...ids.values()].map((id) => `/notifications/${id}`),
  '/notifications/{id}/attempts': [...ids.values()].map((id) => `/notifications/${id}/attempts`),
  '/events': ['/events?limit=1000', ...[...ids.values()].map((id) => `/events?notificationId=${id}`)],
  '/jobs/{id}': jobIds.map((id) => `/jobs/${id}`),
  '/suppressions': ['/suppressions'],
  '/dashboard/stats': ['/dashboard/stats?range=all'],
  '/dashboard/failures': ['/dashboard/failures'],
  '/refusals': ['/refusals'],
  '/tenant': ['/tenant'],
  '/keys': ['/keys'],
  '/providers': ['/providers'],
  '/providers/catalog': ['/providers/catalog'],
  '/templates': ['/templates'],
  '/templates/{id}/versions': [`/templates/${templateId}/versions`],
  '/templates/{id}/versions/{version}': [`/templates/${templateId}/versions/1`],
  '/notify/{id}': [...ids.values()].map((id) => `/notify/${id}`),
  '/notify/batch/{id}': [`/notify/batch/${batchId}`],
  '/notify/inapp/{userId}': [`/notify/inapp/${m('user')}`],
});

/** These never end; they are fed from the read models that the others are answered from. */
const streams = ['/notify/inapp/{userId}/stream', '/dashboard/stream'];

/** Everything that shows anything, as text. */
async function everyAnswer(): Promise<string> {
  const texts: string[] = [];
  const calls = Object.values(callsOf()).flat();
  const json = calls.filter((path) => !path.startsWith('/notifications.csv'));
  for (const path of json) {
    const key = { headers: { 'x-api-key': service.apiKey } };
    const byKey = path.startsWith('/notify/');
    const { status, body } = await (byKey
      ? service.call('GET', `/api/v1${path}`, key)
      : service.dashboard('GET', path));
    expect([path, status]).toEqual([path, 200]);
    texts.push(JSON.stringify(body));
  }
  const headers = { authorization: `Bearer ${bearer}` };
  const csv = await fetch(`${service.url}/api/v1/notifications.csv`, { headers });
  expect(csv.status).toBe(200);
  texts.push(await csv.text());
  return texts.join('\n');
}

async function erased(channel: string, recipient: string): Promise<Record<string, unknown>> {
  const { status, body } = await service.dashboard('DELETE', `/recipients/${channel}/${encodeURIComponent(recipient)}`);
  expect(status).toBe(202);
  jobIds.push(String(body['jobId']));
  return body;
}

/** One of the two is ada's. */
async function plantedInBatch(): Promise<void> {
  const item = { channel: 'EMAIL', recipient: ada, subject: 's', body: m('batch') };
  const notifications = [
    { ...item, metadata: { own: m('ownId') } },
    { ...item, recipient: 'bob@example.com', body: 'b' },
  ];
  const key = { headers: { 'x-api-key': service.apiKey } };
  const { status, body } = await service.call('POST', '/api/v1/notify/batch', { ...key, body: { notifications } });
  expect(status).toBe(202);
  batchId = String(body['batchId']);
  const [adas, bobs] = body['results'] as readonly { readonly notificationId: string }[];
  ids.set('batch', adas?.notificationId ?? '');
  ids.set('bob batch', bobs?.notificationId ?? '');
  for (const name of ['batch', 'bob batch'])
    await until(async () => (await recordOf(idOf(name)))?.['status'] === 'DELIVERED', { what: `${name} to be sent` });
}

/** Refused, or a key of the caller's own. */
async function unkeptIsSaid(): Promise<void> {
  const refused = { channel: 'EMAIL', recipient: ada, body: unkept['refused'], subject: 7 };
  expect((await service.notify(refused)).status).toBe(400);
  const headers = { 'x-api-key': service.apiKey, 'idempotency-key': unkept['key'] ?? '' };
  const body = { channel: 'EMAIL', recipient: ada, subject: 's', body: 'once' };
  const answer = await service.call('POST', '/api/v1/notify', { headers, body });
  expect(answer.status).toBe(202);
  ids.set('once', String(answer.body['notificationId']));
  await until(async () => (await recordOf(idOf('once')))?.['status'] === 'DELIVERED', { what: 'it to be sent' });
}

const ended = (jobId: unknown) =>
  until(
    async () => {
      const { body } = await service.dashboard('GET', `/jobs/${String(jobId)}`);
      return body['endedAt'] === null ? null : body;
    },
    { timeoutMs: 60_000, what: 'the job to end' },
  );

const exported = async () => (await herald(['export', '--out', '-'], dataDir.environment)).stdout;
const statistics = async () => (await service.dashboard('GET', '/dashboard/stats?range=all')).body;
const bobs = () => [...ids].filter(([name]) => name.startsWith('bob')).map(([, id]) => id);

describe('an erased recipient', () => {
  let before: { readonly statistics: object; readonly bob: readonly string[] };
  let jobs: readonly Record<string, unknown>[];

  it('is everywhere before', async () => {
    const written = { subject: m('subject'), body: `of ${m('body')}`, metadata: { mark: m('metadata') } };
    await sent('delivered', 'DELIVERED', { channel: 'EMAIL', recipient: ada, ...written, data: { mark: m('data') } });
    const bob = { channel: 'EMAIL', recipient: 'bob@example.com', subject: 'Hello', body: 'Hello Bob' };
    await sent('bob delivered', 'DELIVERED', bob);
    await sent('long', 'DELIVERED', { channel: 'EMAIL', recipient: ada, body: `${m('long')} `.repeat(4000) });
    mail.refuse({ at: 'recipient', code: 550, message: `no ${m('refusal')} here` });
    await sent('refused', 'FAILED', { channel: 'EMAIL', recipient: ada.toUpperCase() });
    mail.refuse({ at: 'recipient', code: 550, message: 'no Bob here' });
    await sent('bob refused', 'FAILED', bob);
    mail.refuse(null);
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    await sent('planned', 'SCHEDULED', { channel: 'EMAIL', recipient: ada, body: m('planned'), sendAt });
    await sent('bob planned', 'SCHEDULED', { ...bob, sendAt });
    const item = { channel: 'IN_APP', recipient: m('user'), subject: m('title'), body: m('item') };
    await sent('item', 'DELIVERED', item);
    await sent('bob item', 'DELIVERED', { ...item, recipient: 'bob', subject: 'Hi', body: 'Hi Bob' });
    await sent('hook', 'FAILED', { channel: 'WEBHOOK', recipient: hook });
    await sent('later', 'RETRYING', { channel: 'WEBHOOK', recipient: `${hook}/later` });
    await plantedInBatch();
    await unkeptIsSaid();
    const key = { headers: { 'x-api-key': service.apiKey } };
    expect((await service.call('POST', `/api/v1/notify/inapp/${m('user')}/read`, key)).status).toBe(200);
    expect((await service.dashboard('POST', '/suppressions', { channel: 'EMAIL', recipient: ada })).status).toBe(201);
    const shown = async () => foundIn(Buffer.from(await everyAnswer())).toSorted();
    await until(async () => (await shown()).length >= Object.keys(planted).length, { what: 'all of them to show' });
    expect(await shown()).toEqual(Object.keys(planted).toSorted());
    expect(foundIn(Buffer.from(await exported())).toSorted()).toEqual(Object.keys(planted).toSorted());
    before = {
      statistics: (await statistics())['channelCounts'] as object,
      bob: await Promise.all(bobs().map(async (id) => JSON.stringify(await recordOf(id)))),
    };
  }, 120_000);

  it('is asked for by every GET that there is', async () => {
    const { body } = await service.call('GET', '/openapi.json');
    expect([...Object.keys(callsOf()), ...streams].toSorted()).toEqual([...getsOf(body)].toSorted());
  });

  it('is shown by nothing once the answers have come', async () => {
    jobs = [
      await erased('email', ada.replace('x', 'X')),
      await erased('in-app', m('user')),
      await erased('WEBHOOK', hook),
      await erased('webhook', `${hook}/later`),
    ];
    expect(foundIn(Buffer.from(await everyAnswer()))).toEqual([]);
    expect(foundIn(Buffer.from(await exported()))).toEqual([]);
  }, 60_000);

  it('has its notifications ended, counted as before, and those of others untouched', async () => {
    for (const { jobId } of jobs) expect(await ended(jobId)).toMatchObject({ kind: 'erase', state: 'done' });
    for (const name of ['planned', 'later'])
      await until(async () => (await recordOf(idOf(name)))?.['status'] === 'CANCELLED', { what: `${name} to end` });
    expect(await recordOf(idOf('delivered'))).toMatchObject({
      status: 'DELIVERED',
      recipient: '',
      subject: null,
      body: '',
      data: {},
      metadata: {},
    });
    expect((await statistics())['channelCounts']).toEqual(before.statistics);
    expect(await Promise.all(bobs().map(async (id) => JSON.stringify(await recordOf(id))))).toEqual(before.bob);
    const again = await service.dashboard('POST', `/notifications/${idOf('refused')}/retry`);
    expect(again.status).toBe(409);
  }, 120_000);

  embeddedOnly('is in no file of DATA_DIR, while the service runs', async () => {
    for (const name of await readdir(dataDir.path))
      expect([name, foundIn(await readFile(join(dataDir.path, name)))]).toEqual([name, []]);
  });

  realOnly('is in no document of MongoDB', async () => {
    const url = String(dataDir.environment['MONGODB_URL']);
    const { documents } = await documentsInMongo(url);
    expect(documents.size).toBeGreaterThan(10);
    expect(foundIn(Buffer.from(JSON.stringify([...documents])))).toEqual([]);
    // Settings, jobs, idempotency keys, positions and all the rest, as they are stored.
    const everything = await bytesInMongo(url);
    expect([...everything.keys()]).toEqual(expect.arrayContaining(['idempotency_keys', 'jobs', 'read_models']));
    for (const [collection, bytes] of everything) expect([collection, foundIn(bytes)]).toEqual([collection, []]);
  });

  it('is in no log line and no metric', async () => {
    expect(foundIn(Buffer.from(await (await fetch(`${service.operationsUrl}/metrics`)).text()))).toEqual([]);
    expect(foundIn(Buffer.from(service.logs()))).toEqual([]);
  });

  it('stays forgotten when the read models are folded anew, which gives what there was', async () => {
    await service.stop();
    const { code, stderr } = await herald(['rebuild'], dataDir.environment);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('NOT equal')]);
    service = await startHerald(dataDir, environment);
    expect(foundIn(Buffer.from(await everyAnswer()))).toEqual([]);
    expect(await Promise.all(bobs().map(async (id) => JSON.stringify(await recordOf(id))))).toEqual(before.bob);
    expect(foundIn(Buffer.from(await exported()))).toEqual([]);
  }, 120_000);

  it('is sent to again when it is asked for anew', async () => {
    await sent('in capitals', 'DELIVERED', { channel: 'EMAIL', recipient: ada.toUpperCase(), body: 'Hello again' });
    await sent('short', 'DELIVERED', { channel: 'IN_APP', recipient: 'ada', body: 'Hello ada' });
    await sent('anew', 'DELIVERED', { channel: 'EMAIL', recipient: ada, body: 'Hello again' });
    expect(await recordOf(idOf('anew'))).toMatchObject({ recipient: ada, body: 'Hello again' });
  }, 60_000);

  it('is erased by the command, which says where something is left', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'herald-erased-'));
    const tenant = (await service.dashboard('GET', '/tenant')).body;
    const args = ['erase', '--tenant', String(tenant['id'] ?? tenant['tenantId']), '--recipient', `EMAIL:${ada}`];
    try {
      expect((await herald(['export', '--out', folder], dataDir.environment)).code).toBe(0);
      // As nobody but a record writes it.
      await writeFile(join(folder, 'capitals'), `${ada.toUpperCase()} ${btoa(ada.toUpperCase())}`);
      if (engineSet === 'embedded') await service.stop();
      const nowhere = await herald([...args, '--search', join(folder, 'nowhere')], dataDir.environment);
      expect([nowhere.code, nowhere.stdout, nowhere.stderr.trimEnd()]).toEqual([
        2,
        '',
        `--search: ${join(folder, 'nowhere')} is not a folder; nothing was erased`,
      ]);
      const { code, stdout } = await herald([...args, '--search', folder], dataDir.environment);
      expect([code, stdout]).toEqual([
        1,
        expect.stringContaining(`${folder}/events-00001.ndjson: still there (UTF-8)`),
      ]);
      expect(stdout).toContain(`${folder}/capitals: still there (UTF-8, base64)`);
      expect(stdout.split('\n').filter((line) => line.includes('still there'))).toHaveLength(2);
      const again = await herald(args, dataDir.environment);
      expect([again.code, again.stdout]).toEqual([0, expect.stringMatching(/^Nothing of the recipient is left/)]);
      const short = await herald([...args.slice(0, -1), 'IN_APP:ada', '--search', folder], dataDir.environment);
      expect([short.code, short.stdout]).toEqual([
        0,
        expect.stringMatching(/^Files were not searched for ada: .*\nNothing of the recipient is left: .*models\.\n$/),
      ]);
    } finally {
      await rm(folder, { recursive: true });
    }
  }, 120_000);
});
