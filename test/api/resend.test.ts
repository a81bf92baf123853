// A notification sent once more: what the new one has of the other, whatever became of that, and once under a key.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { App, Reply } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import type { IdempotencyStore, KeyEntry } from '../../src/ports/idempotency-store.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

let app: App;
let tenant: Tenant;
let sink: HttpSink;
let status = 200;

beforeAll(async () => {
  sink = await startHttpSink({ respond: (_, response) => response.writeHead(status).end() });
  app = await startApp();
  tenant = await app.tenant('resender', { email: 'owner@example.com' });
});

afterAll(async () => {
  await app.close();
  await sink.close();
});

const webhook = (more: object = {}) => ({ channel: 'WEBHOOK', recipient: `${sink.url}/hook`, body: 'b', ...more });
const resend = (id: string, headers: Record<string, string> = {}, of = tenant) =>
  of.dashboard('POST', `/notifications/${id}/resend`, undefined, headers);

async function sent(body: object, wanted = 'DELIVERED', of = tenant) {
  const reply = await of.notify(body);
  expect(reply.status).toBe(202);
  return reaches(reply, wanted, of);
}

const reaches = ({ body }: Reply, wanted: string, of = tenant) =>
  until(
    async () => {
      const shown = await of.dashboard('GET', `/notifications/${body.notificationId}`);
      return shown.body.notification?.status === wanted ? shown.body.notification : null;
    },
    { what: `${body.notificationId} to be ${wanted}` },
  );

/** Knows nothing any more of what it held under another generation. */
function losing(store: IdempotencyStore, generation: () => string): IdempotencyStore {
  const under = <T extends { readonly keyHash: string }>(entry: T): T => ({
    ...entry,
    keyHash: generation() + entry.keyHash.slice(1),
  });
  const found = (entry: KeyEntry | null, asked: { readonly keyHash: string }) =>
    entry === null ? null : { ...entry, keyHash: asked.keyHash };
  return {
    ...store,
    reserve: async (entry, now) => found(await store.reserve(under(entry), now), entry),
    find: async (key, now) => found(await store.find(under(key), now), key),
    settle: (entry) => store.settle(under(entry)),
    release: (entry) => store.release(under(entry)),
  };
}

describe('a notification that is sent once more', () => {
  it('is a new one with the same content, which names the other, and leaves the other as it was', async () => {
    await tenant.dashboard('POST', '/templates', { name: 'order', channel: 'WEBHOOK', body: 'Order {{ n }}' });
    const { channel, recipient } = webhook();
    const asked = {
      channel,
      recipient,
      template: 'order',
      data: { n: 17 },
      metadata: { order: '17' },
      priority: 'HIGH',
    };
    const first = await sent(asked);
    expect(first.resendOf).toBeNull();
    const before = sink.requests.length;
    const reply = await resend(first.id);
    expect(reply.status).toBe(202);
    expect(reply.body).toEqual({
      notificationId: expect.stringMatching(/^notif_/),
      notification_id: reply.body.notificationId,
      status: 'queued',
    });
    expect(reply.headers.get('location')).toBe(`/api/v1/notify/${reply.body.notificationId}`);
    expect(reply.headers.get('x-event-position')).toMatch(/^notifications\.webhook\.high:/);
    const again = await reaches(reply, 'DELIVERED');
    const { id, createdAt, updatedAt, deliveredAt, attempts, resendOf, ...same } = again;
    expect(first).toMatchObject(same);
    expect([resendOf, id === first.id]).toEqual([first.id, false]);
    expect([createdAt, updatedAt, deliveredAt].every((time) => time >= first.createdAt)).toBe(true);
    expect(attempts).toMatchObject([{ attemptNumber: 1 }]);
    expect(sink.requests.slice(before).map(({ headers }) => headers['webhook-id'])).toEqual([id]);
    expect((await tenant.dashboard('GET', `/notifications/${first.id}`)).body.notification).toEqual(first);
  });

  it('keeps its text as it was rendered then, whatever became of the template', async () => {
    const made = await tenant.dashboard('POST', '/templates', {
      name: 'gone',
      channel: 'WEBHOOK',
      body: 'Hi {{ name }}',
    });
    const { channel, recipient } = webhook();
    const first = await sent({ channel, recipient, template: 'gone', data: { name: 'Ada' } });
    expect((await tenant.dashboard('DELETE', `/templates/${made.body.id}`)).status).toBe(200);
    expect(await reaches(await resend(first.id), 'DELIVERED')).toMatchObject({
      body: 'Hi Ada',
      template: first.template,
    });
  });

  it('may have failed, or wait for its time: the new one goes at once', async () => {
    status = 400;
    const failed = await sent(webhook(), 'FAILED');
    status = 200;
    expect(await reaches(await resend(failed.id), 'DELIVERED')).toMatchObject({ resendOf: failed.id });
    const later = await sent(webhook({ sendAt: new Date(Date.now() + 3_600_000).toISOString() }), 'SCHEDULED');
    expect(await reaches(await resend(later.id), 'DELIVERED')).toMatchObject({ resendOf: later.id, scheduledAt: null });
    expect((await tenant.dashboard('GET', `/notifications/${later.id}`)).body.notification.status).toBe('SCHEDULED');
  });

  it('is worth as long as the other was, from now on, and may be sent once more itself', async () => {
    const first = await sent(webhook({ ttlSeconds: 3600 }));
    const second = await reaches(await resend(first.id), 'DELIVERED');
    expect(Date.parse(second.expiresAt) - Date.parse(second.createdAt)).toBe(3_600_000);
    const third = await reaches(await resend(second.id), 'DELIVERED');
    expect(third).toMatchObject({ resendOf: second.id });
  });

  it('belongs to no batch: the figures of the batch stay what they were', async () => {
    const { body } = await tenant.withKey('POST', '/notify/batch', { notifications: [webhook()] });
    const id: string = body.results[0].notificationId;
    await reaches({ body: { notificationId: id } } as Reply, 'DELIVERED');
    expect(await reaches(await resend(id), 'DELIVERED')).toMatchObject({ batchId: null });
    const batch = await tenant.withKey('GET', `/notify/batch/${body.batchId}`);
    expect(batch.body.statusCounts.DELIVERED).toBe(1);
  });

  it('is in its inbox when its sender reads that next', async () => {
    const first = await sent({ channel: 'IN_APP', recipient: 'user-1', subject: 'Hello', body: 'World' });
    const { body } = await resend(first.id);
    const inbox = await tenant.withKey('GET', '/notify/inapp/user-1');
    expect(inbox.body.notifications.map((item: { notificationId: string }) => item.notificationId)).toEqual([
      body.notificationId,
      first.id,
    ]);
  });

  it('under an Idempotency-Key is one, however often it is asked for; the key is for that one alone', async () => {
    const [first, other] = [await sent(webhook()), await sent(webhook())];
    const headers = { 'idempotency-key': 'again-1' };
    const replies = await Promise.all([1, 2, 3].map(() => resend(first.id, headers)));
    expect(replies.map((reply) => reply.status)).toEqual([202, 202, 202]);
    expect(new Set(replies.map(({ body }) => body.notificationId)).size).toBe(1);
    const last = await resend(first.id, headers);
    expect([last.body, last.headers.get('idempotent-replayed')]).toEqual([replies[0]?.body, 'true']);
    expect(await resend(other.id, headers)).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    expect((await tenant.notify(webhook(), headers)).status).toBe(422);
    const bad = await resend(first.id, { 'idempotency-key': '' });
    expect([bad.status, bad.body.details[0].path]).toEqual([400, 'Idempotency-Key']);
  });

  it('under a key that its store has lost is found among the records', async () => {
    let generation = '0';
    const own = await startApp({
      replace: ({ idempotency }) => ({ idempotency: losing(idempotency, () => generation) }),
    });
    try {
      const keyed = await own.tenant('keyed');
      const first = await sent(webhook(), 'DELIVERED', keyed);
      const headers = { 'idempotency-key': 'again-2' };
      const { body } = await resend(first.id, headers, keyed);
      await reaches({ body } as Reply, 'DELIVERED', keyed);
      generation = '1';
      const again = await resend(first.id, headers, keyed);
      expect([again.body, again.headers.get('idempotent-replayed')]).toEqual([body, 'true']);
    } finally {
      await own.close();
    }
  });
});

describe('a notification is not sent once more', () => {
  it('of another tenant, or one that there is none of: 404, both in the same words', async () => {
    const first = await sent(webhook());
    const stranger = await app.tenant('stranger');
    const [foreign, none] = [await resend(first.id, {}, stranger), await resend('nonsense')];
    expect([foreign.status, none.status]).toEqual([404, 404]);
    expect(foreign.body.error).toBe(none.body.error);
  });

  it('without a provider: 422, as any other', async () => {
    const own = await app.tenant('without-provider', { email: 'o@example.com' });
    const config = { fromName: 'Shop', fromEmail: 'shop@example.com', host: '127.0.0.1', port: 9 };
    const provider = { channel: 'EMAIL', provider: 'smtp', apiKey: 'the password', config, enabled: true };
    await own.dashboard('POST', '/providers', provider);
    const mail = { channel: 'EMAIL', recipient: 'ada@example.com', subject: 's', body: 'b' };
    const later = new Date(Date.now() + 3_600_000).toISOString();
    const first = await sent({ ...mail, sendAt: later }, 'SCHEDULED', own);
    await own.dashboard('DELETE', '/providers/EMAIL');
    expect(await resend(first.id, {}, own)).toMatchObject({ status: 422, body: { code: 'NO_PROVIDER_CONFIGURED' } });
  });

  it('over the limit of what sends', async () => {
    const limited = await startApp({ delivers: false, options: { rateLimit: { limit: 2, windowMs: 10_000 } } });
    try {
      const own = await limited.tenant('limited');
      const { body } = await own.notify(webhook());
      expect((await resend(body.notificationId, {}, own)).status).toBe(202);
      expect((await resend(body.notificationId, {}, own)).status).toBe(429);
    } finally {
      await limited.close();
    }
  });
});
