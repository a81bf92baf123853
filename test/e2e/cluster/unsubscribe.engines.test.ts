// A recipient that unsubscribes at one of two whole services is sent nothing more by either; once it is released, by both again.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DataDir } from '../../support/data-dir.ts';
import { makeDataDir } from '../../support/data-dir.ts';
import type { Herald } from '../../support/herald.ts';
import { startHerald } from '../../support/herald.ts';
import type { SmtpSink } from '../../support/smtp-sink.ts';
import { startSmtpSink } from '../../support/smtp-sink.ts';
import { until } from '../../support/until.ts';

const publicUrl = 'https://herald.test';
/** What is saved at one process is in force on every one within 5 s. */
const inForceMs = 5_000;
let dataDir: DataDir;
let sink: SmtpSink;
let services: [Herald, Herald];

beforeAll(async () => {
  [dataDir, sink] = [await makeDataDir(), await startSmtpSink()];
  const start = () => startHerald(dataDir, { PUBLIC_URL: publicUrl });
  services = [await start(), await start()];
  const config = { fromName: 'Shop', fromEmail: 'shop@example.com', host: '127.0.0.1', port: sink.port };
  const provider = { channel: 'EMAIL', provider: 'smtp', apiKey: 'the password', config, enabled: true };
  expect((await services[0].dashboard('POST', '/providers', provider)).status).toBe(200);
  const savedAt = Date.now();
  await until(() => Date.now() - savedAt > inForceMs, {
    timeoutMs: 2 * inForceMs,
    what: 'the provider to be in force on both',
  });
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
  const mail = { channel: 'EMAIL', recipient: 'ada@example.com', subject: 's', body: 'b', priority: 'BULK' };
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

it('by the address of its mail, whichever service sent that and whichever is asked', async () => {
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
