// Growing up: an embedded service's history copied into Kafka. The cluster shows the same records, goes on with what was pending, and sends nothing again.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { dataFiles } from '../../src/main/data-files.ts';
import { workTopics } from '../../src/domain/topics.ts';
import { projectedReadModels } from '../../src/projections/index.ts';
import { notificationsCollection } from '../../src/projections/notifications/document.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import type { DeliveryWorld } from '../support/delivery-world.ts';
import { startDeliveryWorld } from '../support/delivery-world.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { herald as command, makeDataDir, startHerald } from '../support/herald.ts';
import { killCopies } from '../support/killed-copies.ts';
import { createPoster, inParallel } from '../support/posting.ts';
import type { StoredReadModels } from '../support/read-model-documents.ts';
import { documentsInMongo, documentsInSqlite } from '../support/read-model-documents.ts';
import type { NotificationRecord } from '../support/records.ts';
import { allRecords, recordOf, statisticsOf, withoutZeros } from '../support/records.ts';
import { until } from '../support/until.ts';

/** The promise is kept at 5,000: HERALD_TEST_COPIED=5000. */
const settled = Number(process.env['HERALD_TEST_COPIED'] ?? 1_000);
const pending = 3;
/** Of before, which RETENTION has ended and taken out of the log: the days count them. */
const forgotten = 24;
const channels = ['EMAIL', 'SMS', 'WEBHOOK', 'IN_APP'];
const priorities = ['HIGH', 'DEFAULT', 'BULK'];
/** Longer than a stop, a copy and a start take here. */
const laterMs = 75_000;
/** Has left. */
const unwilling = 'unwilling@example.com';
const settings = { RETRY_DELAYS: `${laterMs}ms`, ATTEMPT_DEADLINE: '5s' };

let dataDir: DataDir;
let world: DeliveryWorld;
let environment: Readonly<Record<string, string>>;
let service: Herald;
let before: Awaited<ReturnType<typeof shown>>;
let copied: { stdout: string; stderr: string; code: number | null };
/** Before anybody has opened the copy. */
let exported: typeof copied;
let stored: { embedded: StoredReadModels; cluster: StoredReadModels };
let dueAt: number;
const retriedIds: string[] = [];
const scheduledIds: string[] = [];
const triesOf = new Map<string, number[]>();

const sentBefore = { webhooks: 0, sms: 0, mails: 0 };
const sent = () => ({
  webhooks: world.webhooks.requests.filter(({ path }) => path.startsWith('/hook/')).length,
  sms: world.sms.requests.length,
  mails: world.mail.mails.length,
});

beforeAll(async () => {
  dataDir = await makeDataDir('real');
  world = await startDeliveryWorld((request, response) => {
    const tries = [...(triesOf.get(request.path) ?? []), Date.now()];
    triesOf.set(request.path, tries);
    if (request.path.startsWith('/refusing/')) response.writeHead(400).end('no such hook');
    else if (request.path.startsWith('/broken-once/') && tries.length === 1) response.writeHead(500).end();
    else response.end('thanks');
  });
  environment = { ...world.environment, ...settings };
  const embedded = { ...dataDir, environment: { DATA_DIR: dataDir.path } };
  service = await startHerald(embedded, { ...environment, RETENTION: '10s' });
  await world.configure(service);
  await service.dashboard('POST', '/templates', {
    name: 'welcome',
    channel: 'EMAIL',
    subject: 'Hi',
    body: '<p>Hi</p>',
  });
  expect((await service.dashboard('POST', '/suppressions', { channel: 'EMAIL', recipient: unwilling })).status).toBe(
    201,
  );
  await forgetSome();
  await service.stop();
  service = await startHerald(embedded, environment);
  await postAll();
  await until(
    async () => {
      const { statusCounts } = await statisticsOf(service);
      const { DELIVERED = 0, FAILED = 0, RETRYING = 0, SCHEDULED = 0 } = statusCounts;
      return DELIVERED + FAILED === settled + forgotten && RETRYING === pending && SCHEDULED === pending;
    },
    { timeoutMs: 120_000, what: 'everything to be settled or pending' },
  );
  // What may lag has the time that others leave, so the statistics say nothing of the search.
  await until(async () => Promise.resolve(haveFoldedRequests(documentsInSqlite(dataFiles(dataDir.path).views))), {
    timeoutMs: 120_000,
    everyMs: 250,
    what: 'all read models to have folded all requests',
  });
  before = await shown();
  Object.assign(sentBefore, sent());
  await service.stop();
  await killCopies(dataDir.environment);
  copied = await command(['copy-log', '--to', 'kafka'], dataDir.environment);
  if (copied.code !== 0) throw new Error(copied.stderr);
  exported = await command(['export', '--out', '-', '--type', 'NotificationRequested'], dataDir.environment);
  service = await startHerald(dataDir, environment);
  const folded = documentsInSqlite(dataFiles(dataDir.path).views);
  const url = dataDir.environment['MONGODB_URL'] ?? '';
  let cluster = await documentsInMongo(url);
  await until(async () => hasFolded((cluster = await documentsInMongo(url)), folded), {
    timeoutMs: 120_000,
    everyMs: 250,
    what: 'the read models to be folded as far as the embedded ones',
  });
  stored = { embedded: folded, cluster };
}, 400_000);

afterAll(async () => {
  await service.stop();
  await world.close();
  await dataDir.remove();
}, 60_000);

/** Until nothing of them is in the records, nor in the log. */
async function forgetSome(): Promise<void> {
  const poster = createPoster();
  const requests = Array.from({ length: forgotten }, (_, i) => requestOf(settled + i));
  await inParallel(requests, 50, async (request) => void (await poster.post(service, request)));
  await poster.close();
  await until(
    async () => {
      const { DELIVERED = 0, FAILED = 0 } = (await statisticsOf(service)).statusCounts;
      return DELIVERED + FAILED === forgotten && (await allRecords(service)).length === 0;
    },
    { timeoutMs: 60_000, everyMs: 500, what: 'what was there before to be forgotten' },
  );
  await until(
    async () => {
      const { stdout } = await command(['export', '--out', '-', '--type', 'NotificationRequested'], {
        DATA_DIR: dataDir.path,
      });
      return stdout === '';
    },
    { timeoutMs: 60_000, everyMs: 500, what: 'what was there before to be taken out of the log' },
  );
}

async function postAll(): Promise<void> {
  const poster = createPoster();
  const post = async (request: Record<string, unknown>): Promise<string> => {
    const { status, id } = await poster.post(service, request);
    if (status !== 202 || id === null) throw new Error(`answered ${status}`);
    return id;
  };
  const requests = Array.from({ length: settled }, (_, i) => requestOf(i));
  await inParallel(requests, 50, async (request) => void (await post(request)));
  dueAt = Date.now() + laterMs;
  const hook = (path: string) => ({ channel: 'WEBHOOK', body: 'hi', recipient: `${world.webhooks.url}/${path}` });
  for (let i = 0; i < pending; i++) {
    retriedIds.push(await post(hook(`broken-once/${i}`)));
    scheduledIds.push(await post({ ...hook(`scheduled/${i}`), sendAt: new Date(dueAt).toISOString() }));
  }
  await poster.close();
}

function requestOf(i: number): Record<string, unknown> {
  const channel = channels[i % 4] ?? '';
  const common = { channel, priority: priorities[Math.floor(i / 4) % 3], metadata: { order: String(i) } };
  const body = `Your order ${i} is on its way ✓`;
  switch (channel) {
    case 'EMAIL': {
      const recipient = `customer-${i}@example.com`;
      return i % 8 === 0
        ? { ...common, recipient, template: 'welcome', data: {} }
        : { ...common, recipient, subject: 'Order', body };
    }
    case 'SMS':
      return { ...common, recipient: `+1555${String(i).padStart(7, '0')}`, body };
    case 'WEBHOOK':
      return {
        ...common,
        recipient: `${world.webhooks.url}/${i % 100 === 2 ? 'refusing' : 'hook'}/${i}`,
        body,
        data: { order: i },
      };
    default:
      return { ...common, recipient: `user-${Math.floor(i / 4) % 40}`, rawSubject: `Order ${i}`, rawBody: body };
  }
}

async function shown() {
  const headers = { 'x-api-key': service.apiKey };
  const inbox = await service.call('GET', '/api/v1/notify/inapp/user-1?limit=100', { headers });
  const templates = await service.dashboard('GET', '/templates');
  const suppressions = await service.dashboard('GET', '/suppressions');
  return {
    suppressions: suppressions.body,
    records: await allRecords(service),
    statistics: await statisticsOf(service),
    inbox: inbox.body,
    templates: templates.body,
  };
}

/** Of every document that has terms their number in their place. */
function withTermsCounted(documents: StoredReadModels['documents']): Map<string, unknown> {
  const counted = (document: unknown): unknown => {
    const { terms } = document as { readonly terms?: readonly string[] };
    return terms === undefined ? document : { ...(document as object), terms: terms.length };
  };
  return new Map([...documents].map(([place, document]) => [place, counted(document)]));
}

/**
 * Of the requests, which is all that the work topics have here and what projected read models want of them. Of other events each notes its position with the
 * next that it wants, so a store that folds them in larger batches may note more.
 */
function positionsOfRequests({ positions }: StoredReadModels): Map<string, number> {
  const names = new Set(projectedReadModels.map(({ definition }) => definition.name));
  return new Map(
    [...positions].filter(([key]) => {
      const [name = '', , topic = ''] = key.split(' ');
      return names.has(name) && workTopics.includes(topic);
    }),
  );
}

/** Whoever reads the requests has read as many as the records. */
function haveFoldedRequests(folded: StoredReadModels): boolean {
  const positions = positionsOfRequests(folded);
  const { name } = notificationsReadModel.definition;
  const ofRecords = [...positions].filter(([key]) => key.startsWith(`${name} `));
  return (
    ofRecords.length > 0 &&
    ofRecords.every(([key, offset]) => {
      const [, partition, topic = ''] = key.split(' ');
      const readers = projectedReadModels.filter(({ topics }) => topics.includes(topic));
      return readers.every(({ definition }) => positions.get(`${definition.name} ${partition} ${topic}`) === offset);
    })
  );
}

/** On each partition number at least as far. */
function hasFolded({ positions }: StoredReadModels, embedded: StoredReadModels): boolean {
  return [...embedded.positions].every(([place, offset]) => (positions.get(place) ?? 0) >= offset);
}

const isSettled = ({ id }: NotificationRecord) => !retriedIds.includes(id) && !scheduledIds.includes(id);

describe('a cluster on the copied log', () => {
  it('was told by the copy what there is, and which secret to start with', () => {
    expect(copied.stdout).toMatch(/notifications\.deliveries +(\d+) +\1\n/);
    expect(copied.stdout).toContain('tenants: 1, providers: 2, templates: 1');
    expect(copied.stdout).toMatch(/of the events \d+ had ended with RETENTION/);
    expect([exported.code, exported.stdout.split('\n').length - 1]).toEqual([0, before.records.length]);
    expect(copied.stdout).toMatch(/start every process with the ENCRYPTION_SECRET that .*encryption-secret holds/);
  });

  it('has folded the documents that the embedded read models hold, each of them and no other', () => {
    const { embedded, cluster } = stored;
    expect(
      [...embedded.documents.keys()].filter((place) => place.startsWith(`${notificationsCollection.name} `)),
    ).toHaveLength(settled + 2 * pending);
    expect(positionsOfRequests(cluster)).toEqual(positionsOfRequests(embedded));
    // Each store has a secret of its own, by which it keys the terms of the search: as many, and others.
    expect(withTermsCounted(cluster.documents)).toEqual(withTermsCounted(embedded.documents));
    const [place = ''] = [...embedded.documents.keys()].filter((key) => key.startsWith('searchable_2 '));
    expect(cluster.documents.get(place)).not.toEqual(embedded.documents.get(place));
  });

  it('shows the same records, document by document, the same inbox and the same templates', async () => {
    const now = await shown();
    expect(now.records.filter(isSettled)).toEqual(before.records.filter(isSettled));
    expect(now.records.map(({ id }) => id)).toEqual(before.records.map(({ id }) => id));
    expect([now.inbox, now.templates]).toEqual([before.inbox, before.templates]);
  });

  it('sends once, when it is due, what was scheduled or to be retried', async () => {
    for (const id of [...retriedIds, ...scheduledIds])
      await until(async () => (await recordOf(service, id))?.status === 'DELIVERED', {
        timeoutMs: laterMs + 60_000,
        what: `${id} to be delivered`,
      });
    for (let i = 0; i < pending; i++) {
      const [first = 0, second = 0, ...more] = triesOf.get(`/broken-once/${i}`) ?? [];
      expect(more).toEqual([]);
      expect(second - first).toBeGreaterThanOrEqual(laterMs - 100);
      expect(triesOf.get(`/scheduled/${i}`)).toHaveLength(1);
      expect(triesOf.get(`/scheduled/${i}`)?.[0]).toBeGreaterThanOrEqual(dueAt);
    }
  }, 200_000);

  it('has sent nothing again, and its statistics are the embedded ones', async () => {
    expect(sent()).toEqual(sentBefore);
    expect([...triesOf].filter(([path, tries]) => !path.startsWith('/broken-once/') && tries.length > 1)).toEqual([]);
    const { DELIVERED = 0, FAILED = 0 } = before.statistics.statusCounts;
    const { statusCounts, channelCounts, priorityCounts } = await statisticsOf(service);
    expect(withoutZeros(statusCounts)).toEqual({ DELIVERED: DELIVERED + 2 * pending, FAILED });
    expect({ channelCounts, priorityCounts }).toEqual({
      channelCounts: before.statistics.channelCounts,
      priorityCounts: before.statistics.priorityCounts,
    });
  });

  it('takes and delivers what comes now, with the API key and the providers of before', async () => {
    const { status, body } = await service.notify({ ...requestOf(1), body: 'new' });
    expect(status).toBe(202);
    const id = String(body['notificationId']);
    await until(async () => (await recordOf(service, id))?.status === 'DELIVERED', {
      what: 'the new one',
      timeoutMs: 30_000,
    });
    expect(sent().sms).toBe(sentBefore.sms + 1);
  });

  it('sends nothing to whom the embedded service didn’t', async () => {
    expect(JSON.stringify(before.suppressions)).toContain(unwilling);
    expect((await service.dashboard('GET', '/suppressions')).body).toEqual(before.suppressions);
    const { body } = await service.notify({ channel: 'EMAIL', recipient: unwilling, subject: 'Order', body: 'left' });
    const id = String(body['notificationId']);
    await until(async () => (await recordOf(service, id))?.status === 'FAILED', {
      what: `${id} to be refused`,
      timeoutMs: 30_000,
    });
    const { body: told } = await service.dashboard('GET', `/notifications/${id}/attempts`);
    expect(told['attempts']).toMatchObject([{ errorClass: 'recipient', errorCode: 'SUPPRESSED' }]);
  });

  it('is left alone by another copy', async () => {
    const { code, stdout, stderr } = await command(['copy-log', '--to', 'kafka'], dataDir.environment);
    expect({ code, told: stdout + stderr }).toMatchObject({
      code: 0,
      told: expect.stringContaining('nothing was left to do'),
    });
  }, 60_000);
});

describe('copy-log', () => {
  it('says what it needs', async () => {
    expect(await command(['copy-log', '--help'], dataDir.environment)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('copy-log --to kafka'),
    });
    expect(await command(['copy-log'], dataDir.environment)).toMatchObject({
      code: 2,
      stderr: '--to: should be kafka\n',
    });
    expect(await command(['copy-log', '--to', 'kafka'], { DATA_DIR: dataDir.path })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('KAFKA_BROKERS'),
    });
    expect(
      await command(['copy-log', '--to', 'kafka'], { ...dataDir.environment, DATA_DIR: `${dataDir.path}/none` }),
    ).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('holds no log to copy'),
    });
  }, 60_000);

  it('refuses a database that another service uses, and another secret than the one that sealed the settings', async () => {
    const elsewhere = { ...dataDir.environment, KAFKA_PREFIX: `${dataDir.environment['KAFKA_PREFIX']}other.` };
    expect(await command(['copy-log', '--to', 'kafka'], elsewhere)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('read models of another log'),
    });
    expect(
      await command(['copy-log', '--to', 'kafka'], {
        ...elsewhere,
        ENCRYPTION_SECRET: 'another-secret-of-32-characters-or-more',
      }),
    ).toMatchObject({ code: 1, stderr: expect.stringContaining('is not the one that sealed the settings') });
  }, 60_000);
});
