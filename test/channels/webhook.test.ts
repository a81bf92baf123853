// The webhook as its receiver sees it.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';

import { createOutbound } from '../../src/adapters/http/outbound.ts';
import { customWebhook } from '../../src/channels/webhook/custom.ts';
import type { Outbound } from '../../src/ports/outbound.ts';
import type { Delivery, DeliveryContext, Provider } from '../../src/ports/provider-registry.ts';
import { aDelivery, contextOf, ownSecret } from '../contracts/provider.ts';
import type { HttpSink, SinkRequest } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { wallClock } from '../support/wall-clock.ts';

const traits = { channel: 'WEBHOOK', name: 'custom' } as const;
const whsec = `whsec_${Buffer.alloc(24, 3).toString('base64')}`;

describe('a webhook', () => {
  let sink: HttpSink;
  let outbound: Outbound;
  let provider: Provider;
  let status = 200;

  beforeEach(async () => {
    status = 200;
    sink = await startHttpSink({
      respond: (_, response) => response.writeHead(status, { location: '/elsewhere' }).end(),
    });
    outbound = createOutbound({ allow: ['127.0.0.1'], clock: wallClock });
    provider = customWebhook({ outbound, clock: wallClock });
  });
  afterEach(async () => {
    await outbound.close();
    await sink.close();
  });

  const settings = (apiKey: string) => ({ settings: { apiKey, config: {} } });
  const withKey = (apiKey: string): DeliveryContext => contextOf(traits, settings(apiKey), AbortSignal.timeout(5_000));
  const toSink = (over: Parameters<typeof aDelivery>[0] = {}): Delivery =>
    aDelivery({ recipient: `${sink.url}/hook`, ...over });

  async function received(delivery: Delivery, context: DeliveryContext): Promise<SinkRequest> {
    expect(await provider.send(delivery, context)).toEqual({ kind: 'delivered', messageId: null });
    const request = sink.requests.at(-1);
    if (request === undefined) throw new Error('nothing came');
    return request;
  }
  const verify = (request: SinkRequest, webhook: Webhook): unknown =>
    webhook.verify(request.body, request.headers as Record<string, string>);

  it('has the body of the contract, `data` as it was sent', async () => {
    const request = await received(
      toSink({ request: { body: 'a "quoted"\nbody ✓', data: '{"n":1.50,"s":"x"}', metadata: { k: '"v"' } } }),
      withKey(whsec),
    );
    expect(request.body).toContain('"data":{"n":1.50,"s":"x"}');
    expect(JSON.parse(request.body)).toEqual({
      type: 'notification',
      id: 'notif_0abcdefghjkmnpqrstvwxyz012',
      timestamp: '2026-01-02T03:04:05.678Z',
      data: {
        notificationId: 'notif_0abcdefghjkmnpqrstvwxyz012',
        recipient: `${sink.url}/hook`,
        channel: 'WEBHOOK',
        subject: 'Hello',
        body: 'a "quoted"\nbody ✓',
        data: { n: 1.5, s: 'x' },
        metadata: { k: '"v"' },
      },
    });
    expect(request.headers['content-type']).toBe('application/json');
  });

  it('says null for an absent subject, and passes the trace on', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const request = await received(toSink({ traceparent, request: { subject: null } }), withKey(whsec));
    expect(JSON.parse(request.body)).toMatchObject({ data: { subject: null } });
    expect(request.headers['traceparent']).toBe(traceparent);
    expect([request.headers['tracestate'], request.headers['baggage']]).toEqual([undefined, undefined]);
  });

  it('hands on what the caller’s tracing has beside the trace, as long as it may be', async () => {
    const passedOn = { tracestate: `a=${'x'.repeat(510)}`, baggage: `b=${'y'.repeat(8190)}` };
    const request = await received(toSink({ request: passedOn }), withKey(whsec));
    expect(request.headers).toMatchObject(passedOn);
  });

  it('is signed so that the standardwebhooks package accepts it, with a whsec_ secret', async () => {
    const request = await received(toSink(), withKey(whsec));
    expect(() => verify(request, new Webhook(whsec))).not.toThrow();
    expect(() => verify({ ...request, body: `${request.body} ` }, new Webhook(whsec))).toThrow();
  });

  it('is signed with the bytes of any other secret', async () => {
    const text = 'a secret with spaces & ünïcode';
    const request = await received(toSink(), withKey(text));
    expect(() => verify(request, new Webhook(Buffer.from(text), { format: 'raw' }))).not.toThrow();
    // As the documents tell receivers whose library takes base64 alone.
    expect(() => verify(request, new Webhook(`whsec_${Buffer.from(text).toString('base64')}`))).not.toThrow();
  });

  it("is signed with the tenant's own secret when no provider is set", async () => {
    const request = await received(toSink(), { ...withKey(whsec), provider: null });
    expect(() => verify(request, new Webhook(ownSecret))).not.toThrow();
    expect(() => verify(request, new Webhook(whsec))).toThrow();
  });

  it('is signed with both secrets while they are changed', async () => {
    const previous = `whsec_${Buffer.alloc(32, 4).toString('base64')}`;
    const request = await received(toSink(), { ...withKey(whsec), formerSigners: [previous] });
    expect(() => verify(request, new Webhook(whsec))).not.toThrow();
    expect(() => verify(request, new Webhook(previous))).not.toThrow();
    expect(String(request.headers['webhook-signature']).split(' ')).toHaveLength(2);
  });

  it('has the same id on every try of a round, and another one in the next round', async () => {
    const ids: unknown[] = [];
    for (const round of [1, 1, 2, 2, 3])
      ids.push((await received(toSink({ round }), withKey(whsec))).headers['webhook-id']);
    const id = 'notif_0abcdefghjkmnpqrstvwxyz012';
    expect(ids).toEqual([id, id, `${id}.2`, `${id}.2`, `${id}.3`]);
  });

  it.each([200, 201, 202, 204, 299])('is delivered by %d', async (code) => {
    status = code;
    expect(await provider.send(toSink(), withKey(whsec))).toMatchObject({ kind: 'delivered' });
  });

  it.each([
    [301, 'recipient'],
    [307, 'recipient'],
    [400, 'recipient'],
    [401, 'credentials'],
    [403, 'credentials'],
    [404, 'recipient'],
    [410, 'recipient'],
    [422, 'recipient'],
  ])('is ended by %d, class %s', async (code, failureClass) => {
    status = code;
    expect(await provider.send(toSink(), withKey(whsec))).toMatchObject({
      kind: 'rejected',
      reason: { failureClass, code: String(code) },
    });
    expect(sink.requests.map(({ path }) => path)).toEqual(['/hook']);
  });

  it.each([
    [408, 'provider'],
    [409, 'recipient'],
    [425, 'recipient'],
    [429, 'provider'],
    [500, 'provider'],
    [502, 'provider'],
    [503, 'provider'],
    [504, 'provider'],
    [599, 'provider'],
  ])('is tried again after %d, class %s', async (code, failureClass) => {
    status = code;
    expect(await provider.send(toSink(), withKey(whsec))).toMatchObject({
      kind: 'retryable',
      reason: { failureClass, code: String(code) },
    });
  });

  it.each([404, 410])('is tried again after %d where its tenant wants that', async (code) => {
    status = code;
    const context = contextOf(
      traits,
      { settings: { apiKey: whsec, config: { retryMissing: true } } },
      AbortSignal.timeout(5_000),
    );
    expect(await provider.send(toSink(), context)).toMatchObject({
      kind: 'retryable',
      reason: { failureClass: 'recipient', code: String(code) },
    });
  });

  it('takes as retryMissing true or false alone', () => {
    const problems = (config: object) => provider.check({ apiKey: whsec, config }).map(({ path }) => path);
    expect(problems({ retryMissing: true })).toEqual([]);
    expect(problems({ retryMissing: 'final' })).toEqual(['config.retryMissing']);
  });

  it('takes as a secret whsec_ with base64 of 24 to 64 bytes, or 16 to 200 characters', () => {
    const problems = (apiKey: string) => provider.check({ apiKey, config: {} }).map(({ path }) => path);
    const encoded = (bytes: number) => `whsec_${Buffer.alloc(bytes, 1).toString('base64')}`;
    for (const good of [encoded(24), encoded(64), 'x'.repeat(16), 'x'.repeat(200), encoded(32).replace(/=+$/, '')]) {
      expect(problems(good)).toEqual([]);
    }
    for (const bad of [
      '',
      'x'.repeat(15),
      'x'.repeat(201),
      encoded(23),
      encoded(65),
      'whsec_not base64 at all, really',
    ]) {
      expect(problems(bad)).toEqual(['apiKey']);
    }
    expect(provider.check({ apiKey: whsec, config: undefined })).toEqual([]);
  });
});
