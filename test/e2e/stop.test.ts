// A stop while every channel has more waiting than it may have in flight: from the signal on nothing begins, and what is in flight is waited for once, not a channel after another.

import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { defaultDispatcherLimits } from '../../src/dispatchers/limits.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald } from '../support/herald.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';

const perChannel = 80;
/** Of a tenant at one provider. */
const { inFlightPerTenantProviderMax: inFlightMax } = defaultDispatcherLimits('SMS');
/** Once it stops half of what is in flight is answered, and so much later the rest: what took the places of the half would have begun by then. */
const restAfterMs = 1_500;
const twilioAnswer = '{"sid":"SM00000000000000000000000000000001","status":"queued","error_code":null}';
let dataDir: DataDir;
let receivers: HttpSink;
let twilio: HttpSink;
let service: Herald;
const begun: Record<'WEBHOOK' | 'SMS', number> = { WEBHOOK: 0, SMS: 0 };
const [half, rest] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];

/** Every other one of a channel is of the first half. */
async function answered(channel: keyof typeof begun): Promise<void> {
  await (++begun[channel] % 2 === 0 ? half : rest).promise;
}

beforeAll(async () => {
  dataDir = await makeDataDir();
  receivers = await startHttpSink({
    async respond(_, response) {
      await answered('WEBHOOK');
      response.end();
    },
  });
  twilio = await startHttpSink({
    async respond(_, response) {
      await answered('SMS');
      response.writeHead(201, { 'content-type': 'application/json' }).end(twilioAnswer);
    },
  });
  const PROVIDER_URLS = JSON.stringify({ twilio: twilio.url });
  service = await startHerald(dataDir, { OUTBOUND_ALLOW: '127.0.0.1/32', PROVIDER_URLS, RATE_LIMIT: '1000000/10s' });
});
afterAll(async () => {
  await service.kill();
  await Promise.all([receivers.close(), twilio.close()]);
  await dataDir.remove();
});

it('begins nothing on any channel from the signal on, and waits for all of them at once', async () => {
  const saved = await service.dashboard('POST', '/providers', {
    channel: 'SMS',
    provider: 'twilio',
    apiKey: 'twilio-token-of-the-shop-0123456',
    config: { from: '+15005550006', accountSid: 'AC00000000000000000000000000000001' },
    enabled: true,
  });
  expect(saved.status).toBe(200);
  await Promise.all(
    Array.from({ length: perChannel }, async (_, i) => {
      const webhook = { channel: 'WEBHOOK', recipient: `${receivers.url}/${i}`, body: 'hi' };
      const sms = { channel: 'SMS', recipient: `+4915112${String(10_000 + i)}`, body: 'hi' };
      const answers = await Promise.all([service.notify(webhook), service.notify(sms)]);
      expect(answers.map(({ status }) => status)).toEqual([202, 202]);
    }),
  );
  // Both have as many in flight as they may.
  await until(() => Object.values(begun).every((count) => count === inFlightMax), {
    what: 'attempts of both channels',
  });
  const stopping = service.stop();
  await until(async () => (await fetch(`${service.operationsUrl}/health/ready`).catch(() => null))?.status !== 200, {
    what: 'the service to say that it stops',
  });
  half.resolve();
  await sleep(restAfterMs);
  rest.resolve();
  expect(await stopping).toBe(0);
  expect(begun).toEqual({ WEBHOOK: inFlightMax, SMS: inFlightMax });
}, 60_000);
