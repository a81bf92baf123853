// A stop while every channel has more waiting than it may have in flight: from the signal on nothing begins, and what is in flight is waited for once, not a channel after another.

import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald } from '../support/herald.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';

/** Of each channel: over what a tenant may have in flight at one provider. */
const perChannel = 80;
const answerAfterMs = 3_000;
/** What was on its way when the signal came. */
const onItsWayMs = 500;
const twilioAnswer = '{"sid":"SM00000000000000000000000000000001","status":"queued","error_code":null}';
let dataDir: DataDir;
let receivers: HttpSink;
let twilio: HttpSink;
let service: Herald;
const begunAt: Record<'WEBHOOK' | 'SMS', number[]> = { WEBHOOK: [], SMS: [] };

beforeAll(async () => {
  dataDir = await makeDataDir();
  receivers = await startHttpSink({
    async respond(_, response) {
      begunAt.WEBHOOK.push(Date.now());
      await sleep(answerAfterMs);
      response.end();
    },
  });
  twilio = await startHttpSink({
    async respond(_, response) {
      begunAt.SMS.push(Date.now());
      await sleep(answerAfterMs);
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
  await until(() => begunAt.WEBHOOK.length > 0 && begunAt.SMS.length > 0, { what: 'attempts of both channels' });
  // The first of each are at least half a wait from their answers.
  await sleep(answerAfterMs / 2);
  const toldAt = Date.now();
  expect(await service.stop()).toBe(0);
  expect(Date.now() - toldAt).toBeLessThan(2 * answerAfterMs);
  for (const times of Object.values(begunAt)) {
    expect(times.length).toBeLessThan(perChannel);
    expect(times.filter((at) => at > toldAt + onItsWayMs)).toEqual([]);
  }
}, 60_000);
