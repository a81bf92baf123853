// What the server answers is what the document says: every route, every documented status.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { batchLimits } from '../../src/api/batch-items.ts';
import { DomainError } from '../../src/domain/errors.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { openJobsMax } from '../../src/domain/job.ts';
import type { ApiDependencies } from '../../src/api/app.ts';
import type { KeyEntry } from '../../src/ports/idempotency-store.ts';
import type { App, AppOptions, Reply } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import { readEvents } from '../support/event-source.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { rawRequest } from '../support/raw-http.ts';
import { until } from '../support/until.ts';
import type { Contract, Operation } from './contract.ts';
import { createContract } from './contract.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

interface Call {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

let contract: Contract;
let app: App;
let sink: HttpSink;
let tenant: Tenant;

beforeAll(async () => {
  sink = await startHttpSink({
    respond: ({ path }, response) => response.writeHead(path === '/gone' ? 404 : 200).end(),
  });
  app = await startApp();
  tenant = await app.tenant('documented', { email: 'owner@example.com', name: 'Ada Shop' });
  contract = createContract((await app.call('GET', '/openapi.json', {})).body);
});

afterAll(async () => {
  await app.close();
  await sink.close();
});

/** Calls an operation and holds its answer to the document. */
async function send(to: App, headers: Record<string, string>, operation: Operation, call: Call = {}): Promise<Reply> {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => paramOf(operation, name, call));
  const query = call.query === undefined ? '' : `?${call.query}`;
  const all = { ...headers, ...call.headers };
  const reply = await to.call(operation.method, `/api/v1${path}${query}`, all, call.body);
  expect(contract.problems(operation, reply)).toEqual([]);
  return reply;
}

function paramOf({ document: { parameters = [] } }: Operation, name: string, { params = {} }: Call): string {
  return params[name] ?? parameters.find((one) => one.in === 'path' && one.name === name)?.example ?? '';
}

function takesKey({ document: { security } }: Operation): boolean {
  return security.some((way) => 'apiKey' in way) && !security.some((way) => 'bearer' in way);
}

/** Whoever calls shows what lets him in by the address, or by the body. */
function isPublic({ document: { security } }: Operation): boolean {
  return security.length === 0;
}

function credentials(operation: Operation, of: Pick<Tenant, 'apiKey' | 'token'>): Record<string, string> {
  return takesKey(operation) ? { 'x-api-key': of.apiKey } : { authorization: `Bearer ${of.token}` };
}

/** As the tenant, on the app that delivers. */
function call(id: string, given: Call = {}): Promise<Reply> {
  const operation = contract.operation(id);
  return send(app, credentials(operation, tenant), operation, given);
}

/** On an app of its own. */
async function withApp(options: AppOptions, use: (own: App) => Promise<void>): Promise<void> {
  const own = await startApp({ delivers: false, ...options });
  try {
    await use(own);
  } finally {
    await own.close();
  }
}

/** Their limit is another. */
const sending = new Set([
  'notify',
  'notifyBatch',
  'retryBatch',
  'retryNotification',
  'retryNotifications',
  'resendNotification',
  'testProvider',
]);
const inApp = { channel: 'IN_APP', recipient: 'ada', subject: 'Hello', body: 'World' };
/** undefined: it isn't folded yet. */
const statusOf = async (id: string) => (await call('getNotification', { params: { id } })).body.notification?.status;
const becomes = (id: string, status: string) =>
  until(async () => (await statusOf(id)) === status, { what: status, timeoutMs: 10_000 });

describe('an answer of success is as documented', () => {
  it('for sending, the log, a retry and a cancel', async () => {
    const sent = await call('notify', { body: { ...inApp, data: { name: 'Ada' }, metadata: { order: '1' } } });
    expect(sent.status).toBe(202);
    const id = sent.body.notificationId;
    await becomes(id, 'DELIVERED');
    const hook = { channel: 'WEBHOOK', recipient: 'http://127.0.0.1:9/', body: 'nobody listens' };
    const failing = (await call('notify', { body: hook })).body.notificationId;
    // The next attempt is an hour away then: a cancel finds none in flight.
    const attempts = async () => (await call('listAttempts', { params: { id: failing } })).body.attempts;
    await until(async () => (await attempts())?.length === 2, { what: 'two attempts', timeoutMs: 10_000 });
    await call('getSentNotification', { params: { id } });
    const batch = await call('notifyBatch', {
      body: { notifications: [inApp, { ...inApp, idempotencyKey: '17' }, {}] },
    });
    expect(batch).toMatchObject({ status: 202, body: { accepted: 2, rejected: 1 } });
    expect((await call('getBatch', { params: { id: batch.body.batchId } })).body.accepted).toBe(2);
    const filter = { recipient: 'nobody', metadata: { order: '1' } };
    expect((await call('retryNotifications', { body: { filter, dryRun: true } })).body.jobId).toBeNull();
    expect((await call('retryNotifications', { body: { filter: { recipient: 'nobody' } } })).body.matching).toBe(0);
    for (const asked of ['cancelBatch', 'retryBatch']) {
      const { status, body } = await call(asked, { params: { id: batch.body.batchId } });
      expect(status).toBe(202);
      const job = () => call('getJob', { params: { id: body.jobId } });
      await until(async () => (await job()).body.state === 'done', { what: asked, timeoutMs: 10_000 });
      expect((await call('stopJob', { params: { id: body.jobId } })).body.state).toBe('done');
    }
    const headers = { 'idempotency-key': 'order-17' };
    for (let i = 0; i < 2; i++) expect((await call('notify', { headers, body: inApp })).status).toBe(202);
    await call('listAttempts', { params: { id } });
    expect((await attempts())[0]).toMatchObject({ status: 'FAILED', errorClass: 'network' });
    await call('listNotifications');
    const page = await call('listNotifications', { query: 'limit=1&channel=IN_APP&from=2020-01-01T00:00:00Z' });
    expect(page.status).toBe(200);
    await call('listNotifications', { query: 'limit=1&page=1' });
    expect((await call('downloadNotifications', { query: 'channel=IN_APP' })).status).toBe(200);
    await call('getStatistics', { query: 'range=24h' });
    await call('getFailures', { query: 'by=hour' });
    await call('cancelNotification', { params: { id: failing } });
    const gone = (await call('notify', { body: { ...hook, recipient: `${sink.url}/gone` } })).body.notificationId;
    await becomes(gone, 'FAILED');
    expect((await call('retryNotification', { params: { id: gone } })).status).toBe(202);
    for (let i = 0; i < 2; i++)
      expect(
        (await call('resendNotification', { headers: { 'idempotency-key': 'again' }, params: { id } })).status,
      ).toBe(202);
    const told = await call('listEvents', { query: 'limit=1000' });
    expect(new Set(told.body.data.map(({ type }: { type: string }) => type)).size).toBeGreaterThan(5);
    await call('listEvents', { query: `limit=1&notificationId=${id}` });
  });

  it('for the inbox', async () => {
    const userId = 'inbox-of-ada';
    await call('notify', { body: { ...inApp, recipient: userId } });
    await call('notify', { body: { ...inApp, recipient: userId, subject: undefined } });
    const list = () => call('listInbox', { params: { userId }, query: 'limit=1' });
    await until(async () => (await list()).body.unreadCount === 2, { what: 'two items', timeoutMs: 10_000 });
    const [first] = (await list()).body.notifications;
    await call('markInboxRead', { params: { userId }, body: { ids: [first.id] } });
    await call('markInboxRead', { params: { userId } });
    await call('makeInboxToken', { params: { userId }, body: { expiresInSeconds: 900 } });
    const again = await call('markInboxRead', { params: { userId } });
    expect(again.body).toEqual({ success: true, updated: 0 });
    expect(again.headers.has('x-event-position')).toBe(false);
    await call('listInbox', { params: { userId } });
  });

  it('for tenant and keys', async () => {
    await call('provisionTenant');
    await call('getTenant');
    await tenant.notify({});
    expect((await call('listRefusals')).body.data).toHaveLength(1);
    const made = await call('createKey', { body: { name: 'checkout', scopes: ['notify'] } });
    expect(made.status).toBe(201);
    await call('listKeys');
    await call('deleteKey', { params: { id: made.body.id } });
    const other = await app.tenant('regenerating');
    await send(app, credentials(contract.operation('regenerateKey'), other), contract.operation('regenerateKey'), {
      body: { graceSeconds: 60 },
    });
  });

  it('for providers', async () => {
    await call('getProviderCatalog');
    const config = { fromName: 'Shop', fromEmail: 'shop@example.com' };
    await call('saveProvider', {
      body: { channel: 'EMAIL', provider: 'resend', apiKey: 're_0123456789abcd', config },
    });
    await call('saveProvider', {
      body: { channel: 'WEBHOOK', provider: 'custom', apiKey: 'a signing secret of our own', config: {} },
    });
    await call('listProviders');
    const postmark = { channel: 'EMAIL', provider: 'postmark', apiKey: 'a-server-token-0123', config };
    const { callbackUrl } = (await call('saveProvider', { body: postmark })).body;
    const [provider, token] = callbackUrl.split('/').slice(-2);
    const opened = { RecordType: 'Open', MessageID: 'x', Metadata: {} };
    const taken = await call('receiveCallback', { params: { provider, token }, body: opened });
    expect(taken.body).toEqual({ reports: 0, suppressed: 0, foreign: 1, other: 0 });
    const test = (channel: string, body?: unknown) => call('testProvider', { params: { channel }, body });
    expect((await test('WEBHOOK', { recipient: sink.url })).body).toEqual({ success: true });
    expect((await test('SMS')).body.success).toBe(false);
    await call('deleteProvider', { params: { channel: 'EMAIL' } });
    await call('deleteProvider', { params: { channel: 'WEBHOOK' } });
  });

  it('for suppressions', async () => {
    const body = { channel: 'EMAIL', recipient: 'ada@example.com' };
    const made = await call('createSuppression', { body });
    expect(made.status).toBe(201);
    expect(await call('createSuppression', { body })).toMatchObject({ status: 200, body: made.body });
    expect((await call('listSuppressions')).body.data).toEqual([made.body]);
    await call('deleteSuppression', { params: { id: made.body.id } });
  });

  it('for an erasure', async () => {
    const params = { channel: 'IN_APP', recipient: 'whoever-is-forgotten' };
    const { body } = await call('eraseRecipient', { params });
    await until(async () => (await call('getJob', { params: { id: body.jobId } })).body.state === 'done');
  });

  it('for templates', async () => {
    const source = { name: 'welcome', channel: 'EMAIL', subject: 'Hello {{ name }}', body: 'Welcome {{ name }}' };
    const { body: made } = await call('createTemplate', { body: source });
    await call('createTemplate', { body: { name: 'code', channel: 'SMS', body: '{{ code }}' } });
    const params = { id: made.id };
    await call('updateTemplate', { params, body: { ...source, name: 'welcome-2' } });
    await call('previewTemplate', { params, body: { data: {} } });
    const unsaved = { channel: 'EMAIL', body: '<p>{{ name }}</p>', data: { name: 'Ada' } };
    expect((await call('previewTemplateText', { body: unsaved })).body).toMatchObject({ body: '<p>Ada</p>' });
    const kept = await call('listTemplateVersions', { params });
    expect(kept.body.data.map(({ version }: { version: number }) => version)).toEqual([2, 1]);
    await call('getTemplateVersion', { params: { ...params, version: '1' } });
    await call('listTemplates');
    await call('deleteTemplate', { params });
  });

  it('for streams, message by message', async () => {
    const open = async (id: string, params: Record<string, string> = {}) => {
      const operation = contract.operation(id);
      const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? '');
      const events = await readEvents(`${app.url}/api/v1${path}`, credentials(operation, tenant));
      const problems = contract.problems(operation, { status: events.status, headers: events.headers, body: '' });
      expect(problems).toEqual([]);
      return events;
    };
    const changes = await open('streamChanges');
    const inbox = await open('streamInbox', { userId: 'listener' });
    await call('notify', { body: { ...inApp, recipient: 'listener' } });
    await inbox.atLeast(1);
    await call('markInboxRead', { params: { userId: 'listener' } });
    await inbox.atLeast(2);
    await changes.atLeast(2);
    const [item, read] = inbox.events;
    expect(inbox.connected.map(({ data }) => contract.problemsWithComponent('InboxConnected', data))).toEqual([[]]);
    expect([item?.event, read?.event]).toEqual(['notification', 'read']);
    expect(contract.problemsWithComponent('InboxItem', item?.data)).toEqual([]);
    expect(contract.problemsWithComponent('InboxRead', read?.data)).toEqual([]);
    const [opened, changed] = changes.events;
    expect(contract.problemsWithComponent('StreamOpened', opened?.data)).toEqual([]);
    expect(contract.problemsWithComponent('StatusChanged', changed?.data)).toEqual([]);
    await changes.close();
    await inbox.close();
  });
});

describe('a refusal is as documented', () => {
  const everywhere = (check: (operation: Operation) => Promise<void>) => async () => {
    for (const operation of contract.operations) await check(operation);
  };
  const statusIs = async (reply: Promise<Reply>, status: number) => {
    const { status: got, body } = await reply;
    expect([got, body.error]).toEqual([status, expect.any(String)]);
  };
  const takesBody = ({ document }: Operation) => document.requestBody !== undefined;

  it('for a caller without credentials', () =>
    everywhere(async (operation) => {
      if (!isPublic(operation)) await statusIs(send(app, {}, operation), 401);
    })());

  it('for what isn’t a provider’s report, or too much of it', async () => {
    const own = await app.tenant('reported-to');
    const config = { fromName: 'Shop', fromEmail: 'shop@example.com', domain: 'mg.example.com' };
    const mailgun = { channel: 'EMAIL', provider: 'mailgun', apiKey: 'key-of-the-account', config };
    const save = contract.operation('saveProvider');
    const { body: saved } = await send(app, credentials(save, own), save, { body: mailgun });
    const [provider, token] = saved.callbackUrl.split('/').slice(-2);
    const report = (to: App, body: unknown) =>
      send(to, {}, contract.operation('receiveCallback'), { params: { provider, token }, body });
    await statusIs(report(app, {}), 401);
    await statusIs(report(app, 'x'.repeat(1024 * 1024 + 1)), 413);
    const none = { allowed: false, remaining: 0, resetMs: 1000 };
    await withApp({ replace: ({ limiter }) => ({ limiter: { ...limiter, take: async () => none } }) }, (full) =>
      statusIs(report(full, {}), 429),
    );
  });

  it('for a caller without a tenant or the scope', async () => {
    const stranger = await app.person('stranger');
    const { body: keyForReading } = await call('createKey', { body: { name: 'reads', scopes: ['read'] } });
    const { body: keyForSending } = await call('createKey', { body: { name: 'sends', scopes: ['notify'] } });
    const { body: keyForInbox } = await call('createKey', { body: { name: 'inbox', scopes: ['inbox'] } });
    const keyWithout = ({ id }: Operation): string => (/job|batch/i.test(id) ? keyForInbox.key : keyForSending.key);
    for (const operation of contract.operations) {
      if (operation.id === 'provisionTenant' || isPublic(operation)) continue;
      const apiKey =
        operation.id === 'getSentNotification' || operation.id === 'getBatch'
          ? null
          : operation.id === 'notify' || operation.id === 'notifyBatch'
            ? keyForReading.key
            : keyForSending.key;
      if (apiKey !== null) await statusIs(send(app, credentials(operation, { ...stranger, apiKey }), operation), 403);
      if (operation.document.security.some((way) => 'apiKey' in way) && !takesKey(operation))
        await statusIs(send(app, { 'x-api-key': keyWithout(operation) }, operation), 403);
    }
    for (const id of ['getSentNotification', 'getBatch'])
      await statusIs(send(app, { 'x-api-key': keyForInbox.key }, contract.operation(id)), 403);
    const tokens = {
      issuer: 'https://issuer.test',
      audience: 'herald',
      tenantClaim: 'org_id',
      algorithms: ['RS256' as const, 'ES256' as const],
    };
    await withApp({ options: { tokens } }, async (own) => {
      const { token } = await own.person('of-no-organisation');
      const operation = contract.operation('provisionTenant');
      await statusIs(send(own, credentials(operation, { token, apiKey: '' }), operation), 403);
    });
  });

  /** It says so, and sends nothing. */
  const tooLargeBatch = async (): Promise<Reply> => {
    const operation = contract.operation('notifyBatch');
    const head = [`POST /api/v1${operation.path} HTTP/1.1`, 'host: herald', `x-api-key: ${tenant.apiKey}`];
    const rest = ['content-type: application/json', `content-length: ${batchLimits.bytesMax + 1}`, '', ''];
    const { statuses, text } = await rawRequest(Number(new URL(app.url).port), [...head, ...rest].join('\r\n'), {
      withinMs: 60_000,
    });
    const [lines = '', body = '{}'] = text.split('\r\n\r\n');
    const headers = new Headers(
      lines
        .split('\r\n')
        .slice(1)
        .map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
    );
    const reply = { status: statuses[0] ?? 0, headers, body: JSON.parse(body) as unknown };
    expect(contract.problems(operation, reply)).toEqual([]);
    return reply;
  };

  it('for a body of another type, too large, or no JSON', () =>
    everywhere(async (operation) => {
      if (!takesBody(operation)) return;
      const { id } = operation;
      await statusIs(call(id, { body: 'a=b', headers: { 'content-type': 'text/plain' } }), 415);
      await statusIs(
        id === 'notifyBatch' ? tooLargeBatch() : call(id, { body: { name: 'x'.repeat(300 * 1024) } }),
        413,
      );
      await statusIs(call(id, { body: '{', headers: { 'content-type': 'application/json' } }), 400);
      await statusIs(call(id, { body: { noSuchField: true } }), 400);
    })());

  it('for a malformed path, query or position', () =>
    everywhere(async (operation) => {
      if (operation.document.responses['400'] === undefined || takesBody(operation)) return;
      const hasQuery =
        operation.document.parameters?.some((one) => one.in === 'query' && one.name !== 'token') === true;
      const has = (name: string) => operation.document.parameters?.some((one) => one.name === name) === true;
      const malformed: Call = hasQuery
        ? { query: 'noSuchParameter=1' }
        : has('x-after-position')
          ? { headers: { 'x-after-position': 'nonsense' } }
          : has('last-event-id')
            ? { headers: { 'last-event-id': 'nonsense' } }
            : { params: { id: '%ZZ', userId: '%ZZ', channel: '%ZZ', token: '%ZZ' } };
      await statusIs(call(operation.id, malformed), 400);
    })());

  it('for what there is not', () =>
    everywhere(async (operation) => {
      if (operation.document.responses['404'] === undefined) return;
      const bodies: Record<string, unknown> = {
        updateTemplate: { name: 'none', channel: 'SMS', body: 'x' },
        previewTemplate: { data: {} },
      };
      const params = { id: 'no-such-id', channel: 'SMS' };
      await statusIs(call(operation.id, { params, body: bodies[operation.id] }), 404);
    })());

  it('for a conflict', async () => {
    const sms = { name: 'taken', channel: 'SMS', body: 'x' };
    await call('createTemplate', { body: sms });
    await statusIs(call('createTemplate', { body: sms }), 409);
    const { body: other } = await call('createTemplate', { body: { ...sms, name: 'other' } });
    await statusIs(call('updateTemplate', { params: { id: other.id }, body: sms }), 409);
    const { body: sent } = await call('notify', { body: inApp });
    await becomes(sent.notificationId, 'DELIVERED');
    const params = { id: sent.notificationId };
    await statusIs(call('retryNotification', { params }), 409);
    await statusIs(call('cancelNotification', { params }), 409);
    const create = contract.operation('createKey');
    const many = credentials(create, await app.tenant('with-many-keys'));
    const body = { name: 'one of many', scopes: ['read'] };
    let last = 201;
    for (let i = 0; i <= 50 && last === 201; i++) last = (await send(app, many, create, { body })).status;
    expect(last).toBe(409);
    const regenerate = contract.operation('regenerateKey');
    const again = () => send(app, many, regenerate, { body: { graceSeconds: 60 } });
    for (let i = 0; i < 5; i++) expect((await again()).status).toBe(200);
    await statusIs(again(), 409);
  });

  it('for one more job than a tenant may have', () =>
    withApp({ runsJobs: false }, async (own) => {
      const full = await own.tenant('full');
      const { batchId } = (await full.withKey('POST', '/notify/batch', { notifications: [inApp] })).body;
      const as = (id: string) =>
        send(own, credentials(contract.operation(id), full), contract.operation(id), { params: { id: batchId } });
      for (let i = 0; i < openJobsMax; i++) expect((await as('cancelBatch')).status).toBe(202);
      for (const id of ['cancelBatch', 'retryBatch']) await statusIs(as(id), 409);
      const erase = contract.operation('eraseRecipient');
      const params = { channel: 'IN_APP', recipient: 'ada' };
      await statusIs(send(own, credentials(erase, full), erase, { params }), 409);
      const many = contract.operation('retryNotifications');
      await statusIs(send(own, credentials(many, full), many, { body: { filter: {} } }), 409);
    }));

  it('for a suppression list that is full', () =>
    withApp(
      { replace: ({ suppressions }) => ({ suppressions: { ...suppressions, count: () => 10_000 } }) },
      async (own) => {
        const create = contract.operation('createSuppression');
        const full = credentials(create, await own.tenant('with-many-suppressions'));
        await statusIs(send(own, full, create, { body: { channel: 'EMAIL', recipient: 'ada@example.com' } }), 409);
      },
    ));

  it('for a channel without a provider', () =>
    statusIs(call('notify', { body: { channel: 'SMS', recipient: '+4915112345678', body: 'x' } }), 422));

  it('for an Idempotency-Key that another process holds, or that was used for something else', () => {
    let held: KeyEntry | null = null;
    const replace = ({ idempotency }: ApiDependencies) => ({
      idempotency: { ...idempotency, reserve: async (entry: KeyEntry) => (held ??= entry), find: async () => held },
    });
    return withApp({ replace }, async (own) => {
      const keyed = await own.tenant('keyed');
      const notify = contract.operation('notify');
      const post = (body: unknown) =>
        send(own, credentials(notify, keyed), notify, { headers: { 'idempotency-key': 'order-17' }, body });
      await statusIs(post(inApp), 409);
      await statusIs(post({ ...inApp, body: 'Else' }), 422);
      const resend = contract.operation('resendNotification');
      const again = async () => {
        const { body } = await keyed.notify(inApp);
        const given = { headers: { 'idempotency-key': 'order-18' }, params: { id: body.notificationId } };
        return send(own, credentials(resend, keyed), resend, given);
      };
      held = null;
      await statusIs(again(), 409);
      await statusIs(again(), 422);
    });
  });

  it('past a limit', () =>
    withApp({ options: { rateLimit: { limit: 1, windowMs: 10_000 }, streams: { perTenantMax: 0 } } }, async (own) => {
      const limited = await own.tenant('limited');
      const as = (id: string, given: Call = {}) =>
        send(own, credentials(contract.operation(id), limited), contract.operation(id), given);
      await as('notify', { body: inApp });
      await statusIs(as('notify', { body: inApp }), 429);
      await statusIs(as('streamInbox'), 429);
      await statusIs(as('streamChanges'), 429);
      for (const id of [
        'notifyBatch',
        'retryBatch',
        'retryNotification',
        'retryNotifications',
        'resendNotification',
        'testProvider',
      ])
        await statusIs(as(id), 429);
    }));

  it('past the limit of changes', () =>
    withApp({ options: { writeLimit: { limit: 1, windowMs: 10_000 } } }, async (own) => {
      const limited = await own.tenant('limited');
      const changes = contract.operations.filter(
        (operation) => operation.method !== 'GET' && !sending.has(operation.id) && !isPublic(operation),
      );
      for (const operation of changes) {
        await send(own, credentials(operation, limited), operation);
        await statusIs(send(own, credentials(operation, limited), operation), 429);
      }
    }));

  it('past the limit of what is read', () =>
    withApp({ options: { readLimit: { limit: 0, windowMs: 10_000 } } }, async (own) => {
      const full = await own.tenant('full');
      for (const operation of contract.operations.filter(({ document }) => '429' in document.responses)) {
        if (contract.seen.has(`${operation.id} 429`)) continue;
        await statusIs(send(own, credentials(operation, full), operation), 429);
      }
    }));

  const failing = (err: () => Error) => ({
    replace: ({ directory }: ApiDependencies) => {
      const fail = async () => {
        throw err();
      };
      const away = { holderOfApiKey: fail, tenantBySubject: fail, tenant: fail, provider: fail };
      return { directory: { ...directory, ...away } };
    },
  });

  it.each([
    [503, () => new DomainError('SERVICE_UNAVAILABLE', 'Away.', { retryAfterSeconds: 1 })],
    [500, () => new TypeError('a bug')],
  ])('while the service fails: %d', (status, err) =>
    withApp(failing(err), async (own) => {
      const { token } = await own.person('unlucky');
      const address = own.deps.callbackAddresses.urlOf('tnt_1' as TenantId, 'sendgrid')?.split('/') ?? [];
      for (const operation of contract.operations) {
        const params = isPublic(operation) ? { token: address.at(-1) ?? '' } : {};
        await statusIs(
          send(own, credentials(operation, { token, apiKey: tenant.apiKey }), operation, { params }),
          status,
        );
      }
    }),
  );
});

describe('the document', () => {
  it('promises no status that was not seen above', () => {
    const promised = contract.operations.flatMap(({ id, document }) =>
      Object.keys(document.responses).map((status) => `${id} ${status}`),
    );
    expect(promised.filter((one) => !contract.seen.has(one))).toEqual([]);
  });
});
