// Failures of delivering: slow receivers, providers that are down, a fault of our own, a scheduler that came late.

import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';

import type { Herald } from '../../support/herald.ts';
import { freePort } from '../../support/free-ports.ts';
import type { Respond } from '../../support/http-sink.ts';
import { createProvisioner } from '../../support/provisioning.ts';
import { scrape, sumOf } from './scrape.ts';
import type { Failure, Stage } from './stage.ts';
import { inThePast, scraped } from './stage.ts';

export const failingDeliveries: readonly Failure[] = [
  {
    what: 'HIGH deliveries have waited for 90 s behind slow receivers',
    fires: ['HeraldHighLaneOld'],
    async run(stage) {
      const dataDir = await stage.folder();
      const accepting = await stage.start({ dataDir, environment: inThePast(90), args: ['--role', 'api'] });
      await sendBatch(accepting, await slowReceiver(stage), { count: 200, priority: 'HIGH' });
      await accepting.stop();
      const service = await stage.start({ dataDir });
      const failing = await scraped(
        service,
        (page) => sumOf(page, 'herald_lane_age_seconds', 'lane="high"') > 60 && lagOf(page) < 30,
        'old HIGH deliveries',
      );
      return { before: new Map(), failing };
    },
  },
  {
    what: 'HIGH deliveries come faster than slow receivers take them',
    fires: ['HeraldHighLaneDeep'],
    async run(stage) {
      const service = await stage.start();
      const before = await scrape(service);
      await sendBatch(service, await slowReceiver(stage), { count: 1_500, priority: 'HIGH' });
      const isDeep = (page: typeof before) => sumOf(page, 'herald_lane_depth', 'lane="high"') > 1_000;
      return { before, failing: await scraped(service, isDeep, 'a deep lane') };
    },
  },
  {
    what: 'the receivers of six tenants are slow',
    fires: ['HeraldInFlightAtCap'],
    async run(stage) {
      const dataDir = await stage.folder();
      const service = await stage.start({ dataDir });
      const before = await scrape(service);
      const provisioner = await createProvisioner(dataDir, service);
      const recipient = await slowReceiver(stage);
      for (let i = 0; i < 6; i++) {
        const { apiKey } = await provisioner.tenant();
        await sendBatch({ ...service, apiKey }, recipient, { count: 60, priority: 'DEFAULT' });
      }
      const isFull = (page: typeof before) => sumOf(page, 'herald_in_flight', 'channel="WEBHOOK"') >= 160;
      return { before, failing: await scraped(service, isFull, 'the slots to be taken') };
    },
  },
  {
    what: "a tenant's mail server does not answer any more",
    fires: ['HeraldBreakerOpen'],
    async run(stage) {
      const service = await stage.start({ environment: { RETRY_DELAYS: '50ms,50ms,50ms,50ms' } });
      const config = { fromName: 'A', fromEmail: 'a@example.com', host: '127.0.0.1', port: await freePort() };
      await saved(service, { channel: 'EMAIL', provider: 'smtp', apiKey: 'secret', config, enabled: true });
      const before = await scrape(service);
      for (let i = 0; i < 10; i++)
        await service.notify({ channel: 'EMAIL', recipient: 'ada@example.com', subject: 'Hello', body: 'x' });
      const isOpen = (page: typeof before) => sumOf(page, 'herald_breaker_open_seconds') > 0;
      return { before, failing: await scraped(service, isOpen, 'the breaker') };
    },
  },
  {
    what: 'a provider throws, which is a bug',
    fires: ['HeraldAttemptsFail'],
    async run(stage) {
      const dataDir = await stage.folder();
      const first = await stage.start({ dataDir });
      const config = { accountSid: 'AC1', from: '+15005550006' };
      await saved(first, { channel: 'SMS', provider: 'twilio', apiKey: 'secret', config, enabled: true });
      const before = await scrape(first);
      await first.stop();
      const settings = new DatabaseSync(join(dataDir.path, 'settings.db'));
      settings.exec("UPDATE providers SET config = '{}'");
      settings.close();
      const second = await stage.start({ dataDir });
      await second.notify({ channel: 'SMS', recipient: '+4915112345678', body: 'x' });
      const hasFailed = (page: typeof before) => sumOf(page, 'herald_attempts_total', 'class="system"') > 0;
      return { before, failing: await scraped(second, hasFailed, 'the attempt') };
    },
  },
  {
    what: 'no scheduler ran for half a minute',
    fires: ['HeraldTimersLate'],
    async run(stage) {
      const dataDir = await stage.folder();
      const behindMs = 60_000;
      const first = await stage.start({ dataDir, environment: inThePast(behindMs / 1000) });
      const before = await scrape(first);
      const sendAt = new Date(Date.now() - behindMs + 30_000).toISOString();
      await first.notify({ channel: 'IN_APP', recipient: 'ada', body: 'x', sendAt });
      await first.stop();
      const second = await stage.start({ dataDir });
      const hasFired = (page: typeof before) => sumOf(page, 'herald_timers_fired_total') > 0;
      return { before, failing: await scraped(second, hasFired, 'the timer') };
    },
  },
];

/** Longer than the test looks at what waits for them, and less than an attempt may take: what answers in time opens no breaker. */
const answerAfterMs = 12_000;

async function slowReceiver({ sink }: Stage): Promise<string> {
  const respond: Respond = (_, response) => void setTimeout(() => response.end('ok'), answerAfterMs).unref();
  return (await sink(respond)).url;
}

async function sendBatch(
  service: Pick<Herald, 'call' | 'apiKey'>,
  recipient: string,
  { count, priority }: { readonly count: number; readonly priority: string },
): Promise<void> {
  const one = { channel: 'WEBHOOK', recipient, body: 'x', priority };
  const { status } = await service.call('POST', '/api/v1/notify/batch', {
    body: { notifications: Array.from({ length: count }, () => one) },
    headers: { 'x-api-key': service.apiKey },
  });
  if (status >= 300) throw new Error(`the batch was answered with ${status}`);
}

async function saved(service: Herald, provider: object): Promise<void> {
  const { status, body } = await service.dashboard('POST', '/providers', provider);
  if (status >= 300) throw new Error(`the provider was not saved: ${JSON.stringify(body)}`);
}

function lagOf(page: Awaited<ReturnType<typeof scrape>>): number {
  return sumOf(page, 'herald_projector_lag');
}
