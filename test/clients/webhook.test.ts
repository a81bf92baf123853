// The client's verifier of webhooks: what Herald signs is taken, during a change of the secret too, and nothing else.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { verifyWebhook, WebhookVerificationError } from '../../clients/typescript/src/index.ts';
import { createWebhookSigner } from '../../src/channels/webhook/signature.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import fc from '../support/properties.ts';
import { until } from '../support/until.ts';

const secret = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
const next = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;
const plain = 'any text of sixteen or more';

function signedBy(secrets: readonly string[], body = '{"type":"notification"}', ageSeconds = 0) {
  const timestamp = String(Math.floor(Date.now() / 1000) - ageSeconds);
  const id = 'notif_1';
  const signature = createWebhookSigner().sign(secrets, { id, timestamp, body: Buffer.from(body) });
  return { body, headers: { 'Webhook-Id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } };
}

describe('a webhook', () => {
  it('is taken whose signature fits, as text or bytes, its headers in any form', async () => {
    const sent = signedBy([secret], '{"type":"notification","id":"ä"}');
    for (const body of [sent.body, Buffer.from(sent.body)])
      for (const headers of [sent.headers, new Headers(sent.headers)])
        expect(await verifyWebhook({ secrets: secret, headers, body })).toEqual({ type: 'notification', id: 'ä' });
    expect(await verifyWebhook({ secrets: plain, ...signedBy([plain]) })).toMatchObject({ type: 'notification' });
  });

  it('is taken by whoever has either secret, while one replaces the other', async () => {
    for (const secrets of [secret, next, [next, secret], ['another text of sixteen', secret]])
      expect(await verifyWebhook({ secrets, ...signedBy([next, secret]) })).toMatchObject({ type: 'notification' });
    expect(await verifyWebhook({ secrets: [next, secret], ...signedBy([secret]) })).toBeDefined();
  });

  it('is refused when its body, id or time is another, or no secret fits', async () => {
    const sent = signedBy([secret]);
    const other = (headers: object) => ({ ...sent, headers: { ...sent.headers, ...headers } });
    for (const given of [
      { ...sent, body: `${sent.body} ` },
      other({ 'Webhook-Id': 'notif_2' }),
      other({ 'webhook-timestamp': String(Number(sent.headers['webhook-timestamp']) + 1) }),
      other({ 'webhook-signature': '' }),
      other({ 'webhook-signature': sent.headers['webhook-signature'].replace('v1,', 'v2,') }),
      other({ 'webhook-signature': 'v1,%%%' }),
      other({ 'webhook-id': undefined, 'Webhook-Id': undefined }),
      signedBy([next]),
    ])
      await expect(verifyWebhook({ secrets: secret, ...given })).rejects.toBeInstanceOf(WebhookVerificationError);
  });

  it('is refused when it is too old, or of the future', async () => {
    for (const age of [301, -302, 1e9])
      await expect(verifyWebhook({ secrets: secret, ...signedBy([secret], '{}', age) })).rejects.toThrow(
        'far from now',
      );
    await verifyWebhook({ secrets: secret, ...signedBy([secret], '{}', 290) });
    await verifyWebhook({ secrets: secret, ...signedBy([secret], '{}', 3000), toleranceSeconds: 3600 });
  });

  it('is refused whatever stands in the place of its signature', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), async (signature) => {
        const sent = signedBy([secret]);
        const headers = { ...sent.headers, 'webhook-signature': signature };
        await expect(verifyWebhook({ ...sent, secrets: secret, headers })).rejects.toThrow(WebhookVerificationError);
      }),
    );
  });
});

describe('a webhook of the service', () => {
  let app: App;
  let sink: HttpSink;
  beforeAll(async () => {
    [app, sink] = [await startApp(), await startHttpSink()];
  });
  afterAll(async () => {
    await app.close();
    await sink.close();
  });

  it('is taken by the secret that GET /tenant shows, and by both while a provider’s is changed', async () => {
    const tenant = await app.tenant('hooks');
    const { webhookSecret } = (await tenant.dashboard('GET', '/tenant')).body;
    const receive = async () => {
      const before = sink.requests.length;
      await tenant.notify({ channel: 'WEBHOOK', recipient: `${sink.url}/`, body: 'Hello', data: { order: 17 } });
      return until(() => sink.requests[before], { what: 'the webhook' });
    };
    const { headers, body } = await receive();
    expect(await verifyWebhook({ secrets: webhookSecret, headers, body })).toMatchObject({
      data: { channel: 'WEBHOOK', body: 'Hello', data: { order: 17 } },
    });
    const save = (apiKey: string) =>
      tenant.dashboard('POST', '/providers', {
        channel: 'WEBHOOK',
        provider: 'custom',
        apiKey,
        config: {},
        enabled: true,
      });
    for (const apiKey of [secret, next]) expect((await save(apiKey)).status).toBe(200);
    const rotated = await receive();
    for (const secrets of [secret, next])
      expect(await verifyWebhook({ secrets, headers: rotated.headers, body: rotated.body })).toBeDefined();
  });
});
