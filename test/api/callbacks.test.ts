// What providers report over the API: it shows beside the record, suppresses whom it should, and nobody but the provider can tell it.

import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';

import { createClock } from '../../src/adapters/node/clock.ts';
import type { MetricsRegistry } from '../../src/adapters/node/metrics.ts';
import { createMetrics } from '../../src/adapters/node/metrics.ts';
import { followSuppressions } from '../../src/projections/suppressions/follow.ts';
import { mailgunEvents } from '../channels/callback-samples.ts';
import type { RateLimiter } from '../../src/ports/rate-limiter.ts';
import type { ThreadTurns } from '../../src/ports/thread-turns.ts';
import { wholeTurns } from '../../src/ports/thread-turns.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import fc from '../support/properties.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

const signingKey = 'a signing key of the tests'.replaceAll(' ', '-');
const config = { fromName: 'Shop', fromEmail: 'shop@example.com', domain: 'mg.example.com' };
const mailgun = {
  channel: 'EMAIL',
  provider: 'mailgun',
  apiKey: 'key-of-the-account-1234',
  callbackSecret: signingKey,
  config,
};

let app: App;
let sink: HttpSink;
let tenant: Tenant;

beforeAll(async () => {
  sink = await startHttpSink({
    respond: (_, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end('{"id":"<m@mg.example.com>","message":"Queued"}'),
  });
  app = await startApp({ providerUrls: { mailgun: sink.url } });
  tenant = await app.tenant('owner');
  expect((await tenant.dashboard('POST', '/providers', mailgun)).status).toBe(200);
});
afterAll(async () => {
  await app.close();
  await sink.close();
});

/** Where the provider reports to, as a path of the service that runs here. */
async function addressOf(of: Tenant, channel = 'EMAIL'): Promise<string> {
  const { body } = await of.dashboard('GET', '/providers');
  const { callbackUrl } = body.find((one: { channel: string }) => one.channel === channel);
  expect(callbackUrl).toMatch(/^https:\/\/herald\.test\/api\/v1\/callbacks\//);
  return callbackUrl.slice('https://herald.test'.length);
}

let told = 0;
/** An event of Mailgun's, signed. */
function report(notificationId: string, event: object, more: object = {}) {
  const token = `token-${told++}`;
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', signingKey)
    .update(timestamp + token)
    .digest('hex');
  const data = {
    id: `event-${told}`,
    timestamp: Date.now() / 1000,
    ...event,
    'user-variables': { notificationId },
    ...more,
  };
  return { signature: { timestamp, token, signature }, 'event-data': data };
}
const bounce = {
  event: 'failed',
  severity: 'permanent',
  reason: 'bounce',
  'delivery-status': { code: 550, message: 'no such user' },
};

async function delivered(recipient: string, of = tenant): Promise<string> {
  const { body } = await of.notify({ channel: 'EMAIL', recipient, subject: 's', body: 'b' });
  const id: string = body.notificationId;
  await until(
    async () => (await of.dashboard('GET', `/notifications/${id}`)).body.notification?.status === 'DELIVERED',
  );
  return id;
}

const attemptsOf = async (id: string, of = tenant) => (await of.dashboard('GET', `/notifications/${id}/attempts`)).body;
const reportsOf = (id: string, atLeast: number) =>
  until(async () => {
    const { reports } = await attemptsOf(id);
    return reports.length >= atLeast ? reports : null;
  });
const suppressedOf = async (recipient: string) =>
  (await tenant.dashboard('GET', '/suppressions?limit=100')).body.data.filter(
    (one: { recipient: string }) => one.recipient === recipient,
  );

describe('a provider’s reports', () => {
  it('show beside the record, by time, and in the statistics; the record stays as it was', async () => {
    const before = (await tenant.dashboard('GET', '/dashboard/stats?range=7d')).body.reported;
    const id = await delivered('ada@example.com');
    const { notification } = await attemptsOf(id);
    const address = await addressOf(tenant);
    const at = Date.now() / 1000;
    for (const event of [
      { event: 'opened', timestamp: at + 2 - 60 },
      { event: 'delivered', timestamp: at - 60, recipient: 'ADA@example.com' },
      { event: 'clicked', timestamp: at + 3 - 60, url: 'https://example.com/reset?token=secret' },
    ]) {
      const reply = await app.call('POST', address, {}, report(id, event));
      expect([reply.status, reply.body]).toEqual([200, { reports: 1, suppressed: 0, foreign: 0, other: 0 }]);
    }
    const reports = await reportsOf(id, 3);
    expect(reports.map(({ kind }: { kind: string }) => kind)).toEqual(['delivered', 'opened', 'clicked']);
    expect(reports[0]).toMatchObject({ provider: 'mailgun', recipient: 'ada@example.com', permanent: false });
    expect(JSON.stringify(reports)).not.toContain('reset?token');
    expect((await attemptsOf(id)).notification).toEqual(notification);
    const { reported } = (await tenant.dashboard('GET', '/dashboard/stats?range=7d')).body;
    expect(reported).toEqual({
      ...before,
      delivered: before.delivered + 1,
      opened: before.opened + 1,
      clicked: before.clicked + 1,
    });
  });

  it('told again, in any order, and days late give the same reports and figures', async () => {
    const address = await addressOf(tenant);
    const id = await delivered('often@example.com');
    const events = [
      report(id, { event: 'delivered', timestamp: Date.now() / 1000 - 3 * 86_400 }),
      report(id, { event: 'opened' }),
      report(id, { event: 'complained' }),
    ];
    const tell = async (all: readonly object[]) => {
      for (const event of all) expect((await app.call('POST', address, {}, event)).status).toBe(200);
    };
    await tell(events);
    const reports = await reportsOf(id, 3);
    const { status, updatedAt } = (await attemptsOf(id)).notification;
    const { reported } = (await tenant.dashboard('GET', '/dashboard/stats?range=7d')).body;
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(events, { minLength: 1 }), async (again) => {
        await tell(again);
        expect((await attemptsOf(id)).reports).toEqual(reports);
        expect((await attemptsOf(id)).notification).toMatchObject({ status, updatedAt });
        expect((await tenant.dashboard('GET', '/dashboard/stats?range=7d')).body.reported).toEqual(reported);
      }),
      { numRuns: 5 },
    );
  });

  it('of a notification that doesn’t exist show nowhere, and of mails that others send are told as foreign', async () => {
    const address = await addressOf(tenant);
    const nobodys = 'notif_01hzx5v6k2m8n4q7r9t3w5y8za';
    expect((await app.call('POST', address, {}, report(nobodys, { event: 'opened' }))).status).toBe(200);
    expect((await tenant.dashboard('GET', `/notifications/${nobodys}/attempts`)).status).toBe(404);
    const foreign = await app.call('POST', address, {}, report('x', { event: 'opened' }));
    expect(foreign.body).toEqual({ reports: 0, suppressed: 0, foreign: 1, other: 0 });
  });
});

describe('a permanent bounce, or a complaint', () => {
  it.each([
    ['bounce', bounce],
    ['complaint', { event: 'complained' }],
  ])('%s: suppresses the recipient within a second, on every process', async (reason, event) => {
    const recipient = `${reason}@example.com`;
    const id = await delivered(recipient);
    const other = await followSuppressions({ ...app.deps, clock: createClock() }, new AbortController().signal);
    const address = await addressOf(tenant);
    const reply = await app.call('POST', address, {}, report(id, event, { recipient: recipient.toUpperCase() }));
    const answeredAt = Date.now();
    expect(reply.body).toMatchObject({ reports: 1, suppressed: 1 });
    await until(() => other.list.has(tenant.id as never, 'EMAIL', recipient), { what: 'the other list to have it' });
    expect(Date.now() - answeredAt).toBeLessThan(1000);
    other.stop();
    expect(await suppressedOf(recipient)).toMatchObject([{ reason }]);
    const refused = await tenant.notify({ channel: 'EMAIL', recipient, subject: 's', body: 'b' });
    const record = await until(async () => {
      const { notification } = await attemptsOf(refused.body.notificationId);
      return notification?.status === 'FAILED' ? notification : null;
    });
    expect(record.attempts[0]).toMatchObject({ errorClass: 'recipient', errorCode: 'SUPPRESSED' });
  });

  it('told again after the recipient was released suppresses nobody; one that happened since does', async () => {
    const recipient = 'again@example.com';
    const id = await delivered(recipient);
    const address = await addressOf(tenant);
    const first = report(id, bounce, { recipient });
    expect((await app.call('POST', address, {}, first)).body.suppressed).toBe(1);
    const [entry] = await until(async () => {
      const entries = await suppressedOf(recipient);
      return entries.length > 0 ? entries : null;
    });
    expect((await tenant.dashboard('DELETE', `/suppressions/${entry.id}`)).status).toBe(200);
    expect((await app.call('POST', address, {}, first)).body).toMatchObject({ reports: 1, suppressed: 0 });
    // Of the time before, and told only now.
    const late = report(id, bounce, { recipient, timestamp: Date.now() / 1000 - 3600 });
    expect((await app.call('POST', address, {}, late)).body.suppressed).toBe(0);
    expect(await suppressedOf(recipient)).toEqual([]);
    expect((await app.call('POST', address, {}, report(id, bounce, { recipient }))).body.suppressed).toBe(1);
  });

  it('that may pass suppresses nobody', async () => {
    const recipient = 'full@example.com';
    const id = await delivered(recipient);
    const soft = report(id, { ...bounce, reason: 'generic' }, { recipient });
    expect((await app.call('POST', await addressOf(tenant), {}, soft)).body).toMatchObject({ suppressed: 0 });
    expect((await reportsOf(id, 1))[0]).toMatchObject({
      kind: 'bounced',
      permanent: false,
      reason: '550 no such user',
    });
    expect(await suppressedOf(recipient)).toEqual([]);
  });
});

describe('a call that isn’t the provider’s', () => {
  const event = () => report('notif_01hzx5v6k2m8n4q7r9t3w5y8za', mailgunEvents.delivered);

  it('is 401 with another signature, and changes nothing', async () => {
    const address = await addressOf(tenant);
    const id = await delivered('forged@example.com');
    const forged = report(id, bounce, { recipient: 'forged@example.com' });
    forged.signature.signature = '0'.repeat(64);
    const reply = await app.call('POST', address, {}, forged);
    expect([reply.status, reply.body.code]).toEqual([401, 'UNAUTHORIZED']);
    expect(reply.body.error).toContain('callbackSecret');
    expect((await attemptsOf(id)).reports).toEqual([]);
    expect(await suppressedOf('forged@example.com')).toEqual([]);
  });

  it('is 404 at an address that was made up, of another provider, or of a provider that is gone', async () => {
    const address = await addressOf(tenant);
    const [token = ''] = address.split('/').slice(-1);
    const other = await app.tenant('without providers');
    const [, signature = ''] = token.split('.');
    for (const path of [
      `/api/v1/callbacks/mailgun/${token}x`,
      `/api/v1/callbacks/sendgrid/${token}`,
      `/api/v1/callbacks/nobody/${token}`,
      `/api/v1/callbacks/mailgun/${Buffer.from(other.id).toString('base64url')}.${signature}`,
      '/api/v1/callbacks/mailgun/x',
    ]) {
      const reply = await app.call('POST', path, {}, event());
      expect([path, reply.status, reply.body.error]).toEqual([path, 404, 'There is no such address of callbacks.']);
    }
    expect((await other.dashboard('POST', '/providers', mailgun)).status).toBe(200);
    const gone = await addressOf(other);
    expect((await app.call('POST', gone, {}, event())).status).toBe(200);
    expect((await other.dashboard('DELETE', '/providers/EMAIL')).status).toBe(200);
    expect((await app.call('POST', gone, {}, event())).status).toBe(404);
  });

  it('is 400 when it is signed and no report, 413 where it is longer than any of the provider’s, and the same by either base path', async () => {
    const address = await addressOf(tenant);
    expect((await app.call('POST', address, {}, { signature: 'none' })).status).toBe(400);
    expect((await app.call('POST', address, {}, 'x'.repeat(64 * 1024))).status).toBe(400);
    expect((await app.call('POST', address, {}, 'x'.repeat(64 * 1024 + 1))).status).toBe(413);
    expect((await app.call('POST', address.replace('/api/v1', '/v1'), {}, event())).status).toBe(200);
  });

  it('can’t be made of one tenant’s secret at another’s address', async () => {
    const other = await app.tenant('with another secret');
    await other.dashboard('POST', '/providers', { ...mailgun, callbackSecret: 'another-signing-key-of-it' });
    const id = await delivered('theirs@example.com');
    expect((await app.call('POST', await addressOf(other), {}, report(id, bounce))).status).toBe(401);
    // By its own secret, about another's notification: it is nobody's.
    await other.dashboard('POST', '/providers', mailgun);
    const mine = report(id, bounce, { recipient: 'theirs@example.com' });
    expect((await app.call('POST', await addressOf(other), {}, mine)).status).toBe(200);
    expect((await attemptsOf(id)).reports).toEqual([]);
    expect(await suppressedOf('theirs@example.com')).toEqual([]);
  });
});

describe('the callback secret', () => {
  it('shows masked, is kept by bullets and where it isn’t named, goes with the provider, and is removed by an empty one', async () => {
    const own = await app.tenant('with secrets');
    const save = async (more: object) => (await own.dashboard('POST', '/providers', { ...mailgun, ...more })).body;
    expect((await save({})).callbackSecret).toBe('a-s••••••ests');
    expect((await save({ callbackSecret: 'a-s••••••ests' })).callbackSecret).toBe('a-s••••••ests');
    expect((await save({ callbackSecret: undefined })).callbackSecret).toBe('a-s••••••ests');
    const resend = { provider: 'resend', apiKey: 're_12345678901234', config: { ...config, domain: undefined } };
    expect((await save({ ...resend, callbackSecret: undefined })).callbackSecret).toBeNull();
    const masked = await save({ ...resend, callbackSecret: 'whs••••••LaSw' });
    expect(masked.details).toEqual([
      { path: 'callbackSecret', message: 'is masked, and none is stored that it could stand for' },
    ]);
    expect((await save({ ...resend, callbackSecret: 'short' })).details[0].path).toBe('callbackSecret');
    expect((await save({})).callbackSecret).toBe('a-s••••••ests');
    expect((await save({ callbackSecret: '' })).callbackSecret).toBeNull();
    const smtp = {
      provider: 'smtp',
      apiKey: 'the password',
      config: { fromName: 'S', fromEmail: 's@example.com', host: '127.0.0.1', port: 25 },
    };
    expect((await save({ ...smtp, callbackSecret: 'of nobody' })).details[0].path).toBe('callbackSecret');
    expect((await save({ ...smtp, callbackSecret: undefined })).callbackUrl).toBeNull();
  });

  it('of a fallback verifies its reports at the same address', async () => {
    const own = await app.tenant('with two of them');
    const secret = `whsec_${Buffer.from('a secret of 24 bytes ...').toString('base64')}`;
    const resend = {
      channel: 'EMAIL',
      provider: 'resend',
      apiKey: 're_12345678901234',
      config: { ...config, domain: undefined },
    };
    await own.dashboard('POST', '/providers', { ...resend, callbackSecret: secret });
    const other = `whsec_${Buffer.from('another secret, 24 bytes').toString('base64')}`;
    await own.dashboard('POST', '/providers', { ...resend, role: 'fallback', callbackSecret: other });
    const address = await addressOf(own);
    const text = JSON.stringify({ type: 'email.opened', data: { tags: {} } });
    for (const by of [secret, other]) {
      const at = new Date();
      const headers = {
        'svix-id': 'msg_1',
        'svix-timestamp': String(Math.floor(at.getTime() / 1000)),
        'svix-signature': new Webhook(by).sign('msg_1', at, text),
      };
      expect((await app.call('POST', address, headers, text)).status).toBe(200);
    }
  });
});

it('of one tenant that come without end don’t take the room of another’s', async () => {
  const [slow, other] = [await app.tenant('slow'), await app.tenant('other')];
  await other.dashboard('POST', '/providers', mailgun);
  const sendgrid = {
    ...mailgun,
    provider: 'sendgrid',
    callbackSecret: undefined,
    config: { ...config, domain: undefined },
  };
  expect((await slow.dashboard('POST', '/providers', sendgrid)).status).toBe(200);
  const head = `POST ${await addressOf(slow)} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
  const sockets = Array.from({ length: 12 }, () => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1').on('error', () => undefined);
    socket.write(`${head}Content-Length: 1048576\r\n\r\n{`);
    return socket;
  });
  try {
    // Half of the room is theirs, and the next of them is told that there is none.
    const refused = await Promise.any(sockets.map((socket) => once(socket, 'data')));
    expect(String(refused[0])).toContain(' 503 ');
    const reply = await app.call(
      'POST',
      await addressOf(other),
      {},
      report('notif_01hzx5v6k2m8n4q7r9t3w5y8za', bounce),
    );
    expect(reply.status).toBe(200);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});

describe('a batch of reports', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const sendgrid = {
    ...mailgun,
    provider: 'sendgrid',
    callbackSecret: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
    config: { ...config, domain: undefined },
  };
  let own: App;
  afterEach(() => own.close());

  async function start(replace: {
    readonly turns?: ThreadTurns;
    readonly limiter?: RateLimiter;
    readonly metrics?: MetricsRegistry;
  }) {
    own = await startApp({ replace: () => replace, delivers: false });
    const by = await own.tenant('owner');
    expect((await by.dashboard('POST', '/providers', sendgrid)).status).toBe(200);
    const address = await addressOf(by);
    return (count: number, others: readonly object[] = []) => {
      const notificationId = 'notif_01hzx5v6k2m8n4q7r9t3w5y8za';
      const events = Array.from({ length: count }, (_, i) => ({ event: 'open', sg_event_id: `${i}`, notificationId }));
      const text = JSON.stringify([...events, ...others]);
      const headers = {
        'x-twilio-email-event-webhook-timestamp': '1',
        'x-twilio-email-event-webhook-signature': sign('sha256', Buffer.from(`1${text}`), privateKey).toString(
          'base64',
        ),
      };
      return own.call('POST', address, headers, text);
    };
  }

  it('is verified in a turn, made events of in further ones, and what follows from it counts', async () => {
    const had = { waits: 0, pieces: 0, chargedMs: 0 };
    const turns: ThreadTurns = {
      ...wholeTurns,
      isOver: () => true,
      async next() {
        had.waits++;
      },
      piece(work) {
        had.pieces++;
        return work();
      },
      charge(ms) {
        had.chargedMs += ms;
      },
    };
    const tell = await start({ turns });
    const before = { ...had };
    expect((await tell(401)).body).toEqual({ reports: 401, suppressed: 0, foreign: 0, other: 0 });
    expect(had.waits - before.waits).toBe(4);
    // Two are of the answer.
    expect(had.pieces - before.pieces).toBe(4 + 2);
    expect(had.chargedMs - before.chargedMs).toBeGreaterThan(5);
  });

  it('is taken as far as it can be read, and what can’t be is counted', async () => {
    const counted: [string | undefined, number][] = [];
    const metrics: MetricsRegistry = {
      ...createMetrics({ processMetrics: false }),
      increment(name, labels, by = 1) {
        if (name === 'herald_reports_total' && by > 0) counted.push([labels?.['outcome'], by]);
      },
    };
    const tell = await start({ metrics });
    expect((await tell(1, [{ event: 'open' }, { event: 'bounce' }])).status).toBe(200);
    expect(counted).toEqual([
      ['opened', 1],
      ['unreadable', 2],
    ]);
    expect((await tell(0, [{ event: 'open' }])).status).toBe(400);
  });

  it('counts by its reports, and is 429 where they are over what a tenant’s mails may be told of', async () => {
    const taken: [string, number][] = [];
    const limiter = {
      async take(key: string, { limit }: { limit: number }, cost = 1) {
        if (key.startsWith('reports:')) taken.push([key.split(':').at(-1) ?? '', cost]);
        return { allowed: !key.startsWith('reports:') || cost < 3, remaining: limit, resetMs: 4000 };
      },
    } as RateLimiter;
    const tell = await start({ limiter });
    expect((await tell(0)).status).toBe(200);
    expect((await tell(2)).status).toBe(200);
    const refused = await tell(3);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '4']);
    expect(taken).toEqual([
      ['sendgrid', 2],
      ['sendgrid', 3],
    ]);
  });
});

it('503 while the log takes nothing, so that the provider tells it again', async () => {
  const own = await startApp({
    replace: ({ log }) => ({ log: { ...log, append: async () => ({ kind: 'refused', reason: 'full' }) as never } }),
    delivers: false,
  });
  try {
    const by = await own.tenant('owner');
    await by.dashboard('POST', '/providers', mailgun);
    const { body } = await by.dashboard('GET', '/providers');
    const address = body[0].callbackUrl.slice('https://herald.test'.length);
    const reply = await own.call('POST', address, {}, report('notif_01hzx5v6k2m8n4q7r9t3w5y8za', bounce));
    expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '1']);
  } finally {
    await own.close();
  }
});
