// What is saved or wished at one of two whole services holds at both: a first provider, a recipient that unsubscribes, its release.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DataDir } from '../../support/data-dir.ts';
import { makeDataDir } from '../../support/data-dir.ts';
import type { Herald } from '../../support/herald.ts';
import { startHerald } from '../../support/herald.ts';
import type { SmtpSink } from '../../support/smtp-sink.ts';
import { startSmtpSink } from '../../support/smtp-sink.ts';
import { until } from '../../support/until.ts';

const mail = { channel: 'EMAIL', recipient: 'ada@example.com', subject: 's', body: 'b', priority: 'BULK' };
const publicUrl = 'https://herald.test';
let dataDir: DataDir;
let sink: SmtpSink;
let services: [Herald, Herald];

beforeAll(async () => {
  [dataDir, sink] = [await makeDataDir(), await startSmtpSink()];
  const start = () => startHerald(dataDir, { PUBLIC_URL: publicUrl });
  services = [await start(), await start()];
  // Both know the tenant without a provider.
  for (const service of services) expect((await service.notify(mail)).status).toBe(422);
  const config = { fromName: 'Shop', fromEmail: 'shop@example.com', host: '127.0.0.1', port: sink.port };
  const provider = { channel: 'EMAIL', provider: 'smtp', apiKey: 'the password', config, enabled: true };
  expect((await services[0].dashboard('POST', '/providers', provider)).status).toBe(200);
}, 180_000);
afterAll(async () => {
  await Promise.all(services.map((service) => service.stop()));
  await sink.close();
  await dataDir.remove();
}, 60_000);

interface Shown {
  readonly status: string;
  readonly attempts: readonly { readonly errorCode: string | null }[];
}

async function ended(service: Herald): Promise<Shown> {
  const { status, body } = await service.notify(mail);
  expect(status).toBe(202);
  return until(
    async () => {
      const shown = await service.dashboard('GET', `/notifications/${String(body['notificationId'])}`);
      const record = shown.body['notification'] as Shown | undefined;
      return record !== undefined && ['DELIVERED', 'FAILED'].includes(record.status) ? record : null;
    },
    { timeoutMs: 30_000, what: 'an end' },
  );
}

const listed = async (service: Herald) =>
  (await service.dashboard('GET', '/suppressions')).body['data'] as { readonly id: string; readonly reason: string }[];

it('a provider that was saved at one is used by both at once', async () => {
  const all = await Promise.all(Array.from({ length: 16 }, (_, i) => ended(services[i % 2] ?? services[0])));
  expect(new Set(all.map(({ status }) => status))).toEqual(new Set(['DELIVERED']));
});

it('a recipient that unsubscribes by the address of its mail gets nothing more of either, and of both once it is released', async () => {
  const [one, other] = services;
  expect((await ended(one)).status).toBe('DELIVERED');
  const [, url = ''] = /^List-Unsubscribe: <(.+)>\r$/m.exec(sink.mails.at(-1)?.raw ?? '') ?? [];
  expect(url.startsWith(`${publicUrl}/api/v1/unsubscribe/`)).toBe(true);
  const path = url.slice(publicUrl.length);
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  expect((await other.call('POST', path, { headers, body: 'List-Unsubscribe=One-Click' })).status).toBe(200);
  for (const service of services)
    await until(async () => (await listed(service)).length === 1, { timeoutMs: 10_000, what: 'the entry' });
  const before = sink.mails.length;
  for (const service of [one, other, one, other])
    expect(await ended(service)).toMatchObject({ status: 'FAILED', attempts: [{ errorCode: 'SUPPRESSED' }] });
  expect(sink.mails.length).toBe(before);
  const [entry] = await listed(one);
  expect(entry).toMatchObject({ reason: 'unsubscribe' });
  expect((await one.dashboard('DELETE', `/suppressions/${String(entry?.id)}`)).status).toBe(200);
  await until(async () => (await listed(other)).length === 0, { timeoutMs: 10_000, what: 'the release' });
  for (const service of services) expect((await ended(service)).status).toBe('DELIVERED');
}, 120_000);
