// Text messages as Twilio sees them, and what its codes mean.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createOutbound } from '../../src/adapters/http/outbound.ts';
import { createProviderRegistry } from '../../src/channels/registry.ts';
import { twilio } from '../../src/channels/sms/twilio.ts';
import type { DeliveryOutcome } from '../../src/domain/delivery-outcome.ts';
import type { Outbound } from '../../src/ports/outbound.ts';
import { aDelivery, contextOf } from '../contracts/provider.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { wallClock } from '../support/wall-clock.ts';

const accountSid = `AC${'1'.repeat(32)}`;

describe('a text message by Twilio', () => {
  let sink: HttpSink;
  let outbound: Outbound;
  let status = 201;
  let answer: object = {};

  beforeEach(async () => {
    sink = await startHttpSink({ respond: (_, response) => response.writeHead(status).end(JSON.stringify(answer)) });
    outbound = createOutbound({ allow: ['127.0.0.1'], clock: wallClock });
    [status, answer] = [201, { sid: 'SM1', status: 'queued' }];
  });
  afterEach(async () => {
    await outbound.close();
    await sink.close();
  });

  function send(from: string): Promise<DeliveryOutcome> {
    const provider = twilio({ outbound, clock: wallClock, baseUrl: sink.url });
    const settings = { apiKey: 'token', config: { accountSid, from } };
    const traits = { channel: 'SMS', name: 'twilio' } as const;
    const context = contextOf(traits, { settings }, AbortSignal.timeout(5_000));
    return provider.send(aDelivery({ recipient: '+491701234567', request: { body: 'Hi & bye' } }), context);
  }

  it('names number, sender and text, and logs in with account and token', async () => {
    expect(await send('+4930123456')).toEqual({ kind: 'delivered', messageId: 'SM1' });
    const [request] = sink.requests;
    expect(request?.path).toBe(`/2010-04-01/Accounts/${accountSid}/Messages.json`);
    expect(request?.headers.authorization).toBe(`Basic ${Buffer.from(`${accountSid}:token`).toString('base64')}`);
    expect(Object.fromEntries(new URLSearchParams(request?.body))).toEqual({
      To: '+491701234567',
      From: '+4930123456',
      Body: 'Hi & bye',
    });
  });

  it('names a messaging service as one', async () => {
    const service = `MG${'a'.repeat(32)}`;
    await send(service);
    expect(new URLSearchParams(sink.requests[0]?.body).get('MessagingServiceSid')).toBe(service);
    expect(new URLSearchParams(sink.requests[0]?.body).get('From')).toBeNull();
  });

  it.each([
    [400, 21211, 'rejected', 'recipient'],
    [400, 21610, 'rejected', 'recipient'],
    [403, 21408, 'rejected', 'credentials'],
    [400, 21606, 'rejected', 'credentials'],
    [404, 20404, 'rejected', 'credentials'],
    [400, 21617, 'rejected', 'content'],
    [400, 99_999, 'rejected', 'content'],
    [400, 30_001, 'retryable', 'provider'],
    [400, 21_730, 'retryable', 'provider'],
    [429, 20_429, 'retryable', 'provider'],
    [500, 20_500, 'retryable', 'provider'],
  ])('answered %d with %d is %s, class %s', async (httpStatus, code, kind, failureClass) => {
    [status, answer] = [httpStatus, { code, message: 'why', status: httpStatus }];
    expect(await send('+4930123456')).toMatchObject({ kind, reason: { failureClass, code: String(code) } });
  });

  it.each([
    [21_408, true],
    [21_612, true],
    [21_608, undefined],
    [21_211, undefined],
  ])('refused with %d says whether that is of this account for this recipient: %s', async (code, isUnserved) => {
    [status, answer] = [400, { code, message: 'why', status }];
    expect(await send('+4930123456')).toEqual({ kind: 'rejected', reason: expect.anything(), isUnserved });
  });

  it('that failed as it was taken is not delivered', async () => {
    answer = { sid: 'SM1', status: 'failed', error_code: 30_003, error_message: 'unreachable' };
    expect(await send('+4930123456')).toMatchObject({ kind: 'rejected', reason: { failureClass: 'recipient' } });
  });
});

describe('the settings of Twilio', () => {
  it('take numbers, short codes, sender ids and messaging services as senders', () => {
    const outbound = createOutbound({ allow: [], clock: wallClock });
    const provider = createProviderRegistry({ outbound, clock: wallClock, providerUrls: {} }).find('SMS', 'twilio');
    const problems = (from: string) =>
      provider?.check({ apiKey: 'token', config: { accountSid, from } }).map(({ path }) => path);
    for (const good of ['+4930123456', '12345', 'ACME', 'Acme Shop', `MG${'a'.repeat(32)}`]) {
      expect(problems(good)).toEqual([]);
    }
    for (const bad of ['', '4930123456789', 'a sender id too long', 'x\ny', '+0123456']) {
      expect(problems(bad)).toEqual(['config.from']);
    }
  });
});
