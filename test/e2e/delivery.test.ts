// Mixed notifications over all four channels: each delivered once, and the read models say exactly what was sent.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';

import { readModels } from '../../src/projections/index.ts';
import type { DeliveryWorld } from '../support/delivery-world.ts';
import { startDeliveryWorld } from '../support/delivery-world.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { herald as command, makeDataDir, startHerald } from '../support/herald.ts';
import type { NotificationRecord } from '../support/records.ts';
import { allRecords, groupedBy, statisticsOf, withoutZeros } from '../support/records.ts';
import { until } from '../support/until.ts';

/** 800 in every test run; the whole of a release's check by E2E_NOTIFICATIONS=5000. */
const count = Number(process.env['E2E_NOTIFICATIONS'] ?? '800');
const channels = ['EMAIL', 'SMS', 'WEBHOOK', 'IN_APP'];
const priorities = ['HIGH', 'DEFAULT', 'BULK'];

let dataDir: DataDir;
let world: DeliveryWorld;
let service: Herald;
let records: NotificationRecord[];
const accepted = new Map<string, Record<string, unknown>>();

beforeAll(async () => {
  dataDir = await makeDataDir();
  world = await startDeliveryWorld();
  service = await startHerald(dataDir, world.environment);
  await world.configure(service);
  await service.dashboard('POST', '/templates', {
    name: 'welcome',
    channel: 'EMAIL',
    subject: 'Hello {{ name }}',
    body: '<p>Dear {{ name }}</p>',
  });
  const requests = Array.from({ length: count }, (_, i) => requestOf(i));
  for (let i = 0; i < requests.length; i += 50) {
    await Promise.all(
      requests.slice(i, i + 50).map(async (request) => {
        const { status, body } = await service.notify(request);
        if (status !== 202) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
        accepted.set(String(body['notificationId']), request);
      }),
    );
  }
  records = await until(
    async () => {
      const statistics = await statisticsOf(service);
      return (
        statistics.total === count && statistics.statusCounts['DELIVERED'] === count && (await allRecords(service))
      );
    },
    { timeoutMs: 60_000, what: 'everything delivered' },
  );
}, 120_000);

afterAll(async () => {
  await service.stop();
  await world.close();
  await dataDir.remove();
});

describe('mixed notifications', () => {
  it('are all DELIVERED with one attempt, one record each', () => {
    expect(new Set(records.map((record) => record.id))).toEqual(new Set(accepted.keys()));
    for (const record of records)
      expect(record).toMatchObject({ status: 'DELIVERED', attemptCount: 1, lastError: null });
  });

  it('are counted exactly by the statistics of every range', async () => {
    for (const range of ['today', '24h', '7d', '30d', 'all']) {
      const statistics = await statisticsOf(service, range);
      expect(withoutZeros(statistics.statusCounts)).toEqual(groupedBy(records, 'status'));
      expect(withoutZeros(statistics.channelCounts)).toEqual(groupedBy(records, 'channel'));
      expect(withoutZeros(statistics.priorityCounts)).toEqual(groupedBy(records, 'priority'));
      expect([statistics.total, statistics.successRate, statistics.failedRate]).toEqual([count, 100, 0]);
    }
  });

  it('reach the webhook receiver signed, once each, with an id that is the same on every try', async () => {
    const { body } = await service.dashboard('GET', '/tenant');
    const webhook = new Webhook(String(body['webhookSecret']));
    const ids = world.webhooks.requests.map((request) => {
      webhook.verify(request.body, request.headers as Record<string, string>);
      const payload = JSON.parse(request.body) as { id: string; data: Record<string, unknown> };
      const sent = accepted.get(payload.id);
      expect(payload.data).toMatchObject({ channel: 'WEBHOOK', body: sent?.['body'], data: sent?.['data'] });
      expect(request.headers['webhook-id']).toBe(payload.id);
      return payload.id;
    });
    expect(ids.sort()).toEqual(idsOf('WEBHOOK'));
  });

  it('reach the mail server with subject, sender, and text or HTML', () => {
    expect(world.mail.mails).toHaveLength(idsOf('EMAIL').length);
    for (const { from, email } of world.mail.mails) {
      expect(from).toBe('shop@example.com');
      expect(email.from).toMatchObject({ name: 'Ada Shop', address: 'shop@example.com' });
      if (email.subject?.startsWith('Hello Bob')) {
        expect(email.subject).toBe('Hello Bob & Söhne');
        expect(email.html?.trim()).toBe('<p>Dear Bob &amp; Söhne</p>');
      } else {
        expect(email.subject).toMatch(/^Order \d+$/);
        expect(email.text?.trim()).toMatch(/^Your order \d+ is on its way ✓$/);
        expect(email.html).toBeUndefined();
      }
    }
  });

  it('reach the SMS provider', () => {
    const bodies = world.sms.requests.map(({ body }) => Object.fromEntries(new URLSearchParams(body)));
    expect(bodies).toHaveLength(idsOf('SMS').length);
    for (const body of bodies)
      expect(body).toMatchObject({ From: '+15005550006', Body: expect.stringMatching(/^Your order/) });
  });

  it('reach the inbox, newest first, and can be read', async () => {
    const headers = { 'x-api-key': service.apiKey };
    const { body } = await service.call('GET', '/api/v1/notify/inapp/user-1?limit=100', { headers });
    const items = body['notifications'] as { id: string; createdAt: string; read: boolean }[];
    expect(items.length).toBeGreaterThan(0);
    expect(body['unreadCount']).toBe(items.length);
    expect(items.map((item) => item.createdAt)).toEqual(
      items
        .map((item) => item.createdAt)
        .toSorted()
        .toReversed(),
    );
    const read = await service.call('POST', '/api/v1/notify/inapp/user-1/read', { headers });
    expect(read.body).toEqual({ success: true, updated: items.length });
    const after = await service.call('GET', '/api/v1/notify/inapp/user-1', { headers });
    expect(after.body['unreadCount']).toBe(0);
    expect((after.body['notifications'] as { readAt: string | null }[]).every((item) => item.readAt !== null)).toBe(
      true,
    );
  });
});

describe('the read models', () => {
  it('folded again from the log equal those that grew with the traffic, byte for byte', async () => {
    await service.stop();
    const { code, stdout, stderr } = await command(['rebuild'], dataDir.environment);
    const told = stdout + stderr;
    for (const {
      definition: { name },
    } of readModels)
      expect({ code, told }).toMatchObject({ code: 0, told: expect.stringMatching(`${name}: .*equal to`) });
    service = await startHerald(dataDir, world.environment);
    expect(await allRecords(service)).toEqual(records);
  });

  it('dropped altogether are made anew at the next start, and nothing is sent again', async () => {
    const sent = world.webhooks.requests.length;
    await service.stop();
    await dataDir.dropReadModels();
    service = await startHerald(dataDir, world.environment);
    // A read model that is folded from the beginning answers 503 until it is there.
    await until(async () => (await service.dashboard('GET', '/dashboard/stats?range=all')).status === 200, {
      timeoutMs: 30_000,
      what: 'the fold',
    });
    expect((await statisticsOf(service)).statusCounts['DELIVERED']).toBe(count);
    expect(await allRecords(service)).toEqual(records);
    expect(world.webhooks.requests).toHaveLength(sent);
  });
});

function idsOf(channel: string): string[] {
  return [...accepted]
    .filter(([, request]) => request['channel'] === channel)
    .map(([id]) => id)
    .sort();
}

function requestOf(i: number): Record<string, unknown> {
  const channel = channels[i % 4] ?? '';
  const priority = priorities[Math.floor(i / 4) % 3] ?? '';
  const common = { channel, priority, metadata: { order: String(i) } };
  const body = `Your order ${i} is on its way ✓`;
  switch (channel) {
    case 'EMAIL': {
      const recipient = `customer-${i}@example.com`;
      if (i % 8 === 0) return { ...common, recipient, template: 'welcome', data: { name: 'Bob & Söhne' } };
      return { ...common, recipient, subject: `Order ${i}`, body };
    }
    case 'SMS':
      return { ...common, recipient: `+1555${String(i).padStart(7, '0')}`, body };
    case 'WEBHOOK':
      return { ...common, recipient: `${world.webhooks.url}/hook/${i}`, body, data: { order: { id: i } } };
    default:
      return { ...common, recipient: `user-${Math.floor(i / 4) % 40}`, rawSubject: `Order ${i}`, rawBody: body };
  }
}
