// Each provider's reports, as its documentation shows them: verified by its own signature, read, and refused where they are forged.

import { createHmac, createSign, generateKeyPairSync, sign } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import twilioWebhooks from 'twilio/lib/webhooks/webhooks.js';

import { createClock } from '../../src/adapters/node/clock.ts';
import { createProviderRegistry } from '../../src/channels/registry.ts';
import type { Channel } from '../../src/domain/events.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import type { ProviderSettings } from '../../src/domain/tenant.ts';
import type { CallbackRequest, CallbackVerdict } from '../../src/ports/callbacks.ts';
import type { Outbound, OutboundRequest } from '../../src/ports/outbound.ts';
import { OutboundError } from '../../src/ports/outbound.ts';
import type { Certificates } from '../support/certificates.ts';
import { makeCertificates } from '../support/certificates.ts';
import {
  mailgunEvents,
  notificationId,
  postmarkEvents,
  resendBounce,
  resendUnsent,
  sendgridEvents,
  sesEvents,
} from './callback-samples.ts';

const now = Date.UTC(2026, 10, 22, 23, 42);
interface Answer {
  readonly status: number;
  readonly body: string;
}

const requests: OutboundRequest[] = [];
let answer: (request: OutboundRequest) => Answer | Promise<Answer> = () => ({ status: 404, body: '' });
const outbound = {
  request: async (request: OutboundRequest) => {
    requests.push(request);
    return { headers: {}, ...(await answer(request)) };
  },
} as unknown as Outbound;
let monotonic = 0;
const clock = { ...createClock(), monotonic: () => monotonic };
const registry = createProviderRegistry({ outbound, clock, providerUrls: {} });

interface Sent extends Partial<CallbackRequest> {
  readonly text: string;
  readonly at?: number;
}

function read(name: string, settings: Partial<ProviderSettings>, sent: Sent): Promise<CallbackVerdict> {
  const channel: Channel = name === 'twilio' ? 'SMS' : 'EMAIL';
  const callbacks = registry.find(channel, name)?.callbacks;
  if (callbacks === undefined) throw new Error(`${name} reports nothing`);
  const provider: ProviderSettings = {
    tenantId: 'tnt_1' as TenantId,
    channel,
    role: 'primary',
    provider: name,
    apiKey: 'the key',
    config: name === 'ses' ? { region: 'us-west-2' } : {},
    enabled: true,
    createdAt: 0,
    updatedAt: 0,
    ...settings,
  };
  const { text, at = now, url = null, headers = {} } = sent;
  const request = { url, headers, body: Buffer.from(text) };
  return callbacks.read(request, { provider, now: at, signal: new AbortController().signal });
}

const brief = (verdict: CallbackVerdict) =>
  verdict.kind === 'taken'
    ? verdict.reports.map(({ kind, permanent, recipient }) => [kind, permanent, recipient].join(' '))
    : [verdict.kind];

describe('SendGrid', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const callbackSecret = publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
  const text = JSON.stringify(sendgridEvents);
  const signed = (body: string, timestamp = '1588788367'): Sent => ({
    text: body,
    headers: {
      'x-twilio-email-event-webhook-timestamp': timestamp,
      'x-twilio-email-event-webhook-signature': sign('sha256', Buffer.from(timestamp + body), privateKey).toString(
        'base64',
      ),
    },
  });

  it('tells of many events in one batch, and of those that nothing is kept of how many they were', async () => {
    const verdict = await read('sendgrid', { callbackSecret }, signed(text));
    expect(brief(verdict)).toEqual([
      'delivered false example@test.com',
      'opened false example@test.com',
      'clicked false example@test.com',
      'bounced true example@test.com',
      'bounced false example@test.com',
      'bounced true example@test.com',
      'complained false example@test.com',
    ]);
    expect(verdict).toMatchObject({ foreign: 0, other: 3 });
    expect(verdict.kind === 'taken' && verdict.reports[0]).toMatchObject({ id: 'sg_event_id_2', at: 1513299571000 });
  });

  // The vectors of SendGrid's own library: https://github.com/sendgrid/sendgrid-nodejs/blob/main/packages/eventwebhook/src/eventwebhook.spec.js
  it('signs as its own library’s test says', async () => {
    const [event] = [{ category: 'example_payload', event: 'test_event', message_id: 'message_id' }];
    const sent: Sent = {
      text: JSON.stringify(event),
      headers: {
        'x-twilio-email-event-webhook-timestamp': '1588788367',
        'x-twilio-email-event-webhook-signature':
          'MEUCIQCtIHJeH93Y+qpYeWrySphQgpNGNr/U+UyUlBkU6n7RAwIgJTz2C+8a8xonZGi6BpSzoQsbVRamr2nlxFDWYNH2j/0=',
      },
    };
    const key =
      'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEDr2LjtURuePQzplybdC+u4CwrqDqBaWjcMMsTbhdbcwHBcepxo7yAQGhHPTnlvFYPAZFceEu/1FwCM/QmGUhA==';
    // Verified; it is no array of events.
    expect(brief(await read('sendgrid', { callbackSecret: key }, sent))).toEqual(['malformed']);
    expect(brief(await read('sendgrid', { callbackSecret }, sent))).toEqual(['forged']);
  });

  it('is refused with another body, another key, no signature, or without a key saved', async () => {
    const sent = signed(text);
    for (const [settings, forged] of [
      [{ callbackSecret }, { ...sent, text: `${text} ` }],
      [{ callbackSecret }, { text }],
      [
        {
          callbackSecret: generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
            .publicKey.export({ format: 'der', type: 'spki' })
            .toString('base64'),
        },
        sent,
      ],
      [{}, sent],
    ] as const)
      expect(brief(await read('sendgrid', settings, forged))).toEqual(['forged']);
  });

  it('reads null where it has nothing to say, and counts what it can’t read beside the rest', async () => {
    const nothing = { email: null, timestamp: null, type: null, reason: null };
    const bounce = { ...sendgridEvents[5], ...nothing };
    const batch = [bounce, { ...bounce, sg_event_id: null }, { notificationId }, { event: 'processed' }];
    const verdict = await read('sendgrid', { callbackSecret }, signed(JSON.stringify(batch)));
    expect(brief(verdict)).toEqual(['bounced true ']);
    expect(verdict).toMatchObject({ unreadable: 2, other: 1, foreign: 0 });
    const alone = signed(JSON.stringify(batch.slice(1, 3)));
    expect(brief(await read('sendgrid', { callbackSecret }, alone))).toEqual(['malformed']);
  });

  it('tells of mails that something else has sent as foreign', async () => {
    const others = [
      { ...sendgridEvents[2], notificationId: undefined },
      { ...sendgridEvents[2], notificationId: 'x' },
    ];
    expect(await read('sendgrid', { callbackSecret }, signed(JSON.stringify(others)))).toMatchObject({
      reports: [],
      foreign: 2,
    });
  });
});

describe('Postmark', () => {
  it('tells one event each, unsigned', async () => {
    const told = await Promise.all(
      Object.values(postmarkEvents).map((event) => read('postmark', {}, { text: JSON.stringify(event) })),
    );
    expect(told.map(brief)).toEqual([
      ['bounced true john@example.com'],
      ['delivered false john@example.com'],
      ['complained false john@example.com'],
      ['opened false john@example.com'],
      ['clicked false john@example.com'],
      [],
    ]);
    expect(told[0]).toMatchObject({ reports: [{ notificationId, at: Date.UTC(2014, 7, 1, 17, 28, 10, 273) }] });
    // What was clicked may open an account: it is kept nowhere.
    expect(JSON.stringify(told)).not.toContain('reset?token');
  });

  it('is malformed without what every report has', async () => {
    for (const text of ['{}', '[]', 'no JSON', '', '{"RecordType":"Bounce","Email":7}'])
      expect(brief(await read('postmark', {}, { text }))).toEqual(['malformed']);
    expect(await read('postmark', {}, { text: '{"RecordType":"SubscriptionChange","Email":7}' })).toMatchObject({
      other: 1,
    });
  });

  it('reads null where it has nothing to say', async () => {
    const { RecordType, Email, Metadata } = postmarkEvents.bounce;
    const names = ['MessageID', 'ID', 'Type', 'Recipient', 'BouncedAt', 'DeliveredAt', 'Description', 'Details'];
    const nothing = Object.fromEntries(names.map((name) => [name, null]));
    const text = JSON.stringify({ ...nothing, RecordType, Email, Metadata });
    expect(brief(await read('postmark', {}, { text }))).toEqual([`bounced false ${Email}`]);
    expect(
      await read('postmark', {}, { text: JSON.stringify({ ...nothing, RecordType, Metadata: null }) }),
    ).toMatchObject({ foreign: 1 });
  });
});

describe('Mailgun', () => {
  const callbackSecret = 'key-3ax6xnjp29jd6fds4gc373sgvjxteol0';
  const posted = (event: object | null, key = callbackSecret) => {
    const [timestamp, token] = ['1529006854', 'a8ce0edb2dd8301dee6c2405235584e45aa91d1e9f979f3de0'];
    const signature = createHmac('sha256', key)
      .update(timestamp + token)
      .digest('hex');
    return { text: JSON.stringify({ signature: { timestamp, token, signature }, 'event-data': event }) };
  };

  it('tells what became of a mail; a failure that it tries again is none', async () => {
    const told = await Promise.all(
      Object.values(mailgunEvents).map((event) => read('mailgun', { callbackSecret }, posted(event))),
    );
    expect(told.map(brief)).toEqual([
      ['delivered false recipient@sample.mailgun.com'],
      ['bounced true badrecipient@sample.mailgun.com'],
      [],
      [],
      ['delivered false alice@example.com'],
      ['bounced true alice@example.com'],
      [],
      ['complained false alice@example.com'],
    ]);
    expect(told.map((verdict) => verdict.kind === 'taken' && [verdict.other, verdict.foreign])).toEqual([
      [0, 0],
      [0, 0],
      [1, 0],
      [0, 1],
      [0, 0],
      [0, 0],
      [1, 0],
      [0, 0],
    ]);
    expect(told[1]).toMatchObject({
      reports: [{ reason: '550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302).' }],
    });
    expect(told[5]).toMatchObject({
      reports: [
        { id: 'G9Bn5sl1TC6nu79C8C0bwg', at: 1521233195376, reason: '605 Not delivering to previously bounced address' },
      ],
    });
  });

  it('reads what it has to say with null wherever it has nothing to say', async () => {
    const nothing = { timestamp: null, recipient: null, severity: null, reason: null };
    const events = [null, { code: null, message: null, description: null }].map((status) => ({
      ...mailgunEvents.permanent,
      ...nothing,
      'delivery-status': status,
    }));
    for (const event of events)
      expect(brief(await read('mailgun', { callbackSecret }, posted(event)))).toEqual(['bounced false ']);
  });

  it('is malformed, not passed over, where a kind that is kept comes in another form', async () => {
    for (const event of [{ ...mailgunEvents.delivered, id: 7 }, { ...mailgunEvents.delivered, event: null }, [], null])
      expect(brief(await read('mailgun', { callbackSecret }, posted(event)))).toEqual(['malformed']);
    expect(await read('mailgun', { callbackSecret }, posted({ event: 'accepted' }))).toMatchObject({ other: 1 });
  });

  it('is refused when another key signed it, and without a key saved', async () => {
    const sent = posted(mailgunEvents.delivered, 'another key');
    expect(brief(await read('mailgun', { callbackSecret }, sent))).toEqual(['forged']);
    expect(brief(await read('mailgun', {}, posted(mailgunEvents.delivered)))).toEqual(['forged']);
  });
});

describe('Resend', () => {
  const callbackSecret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const signed = (event: object, at = now): Sent => {
    const text = JSON.stringify(event);
    const signature = new Webhook(callbackSecret).sign('msg_p5jXN8AQM9LWM0D4loKWxJek', new Date(at), text);
    const headers = {
      'svix-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'svix-timestamp': String(Math.floor(at / 1000)),
      'svix-signature': `v1,bm9uZSBvZiB0aGlzIHNlY3JldA== ${signature}`,
    };
    return { text, headers };
  };

  it('tells one event each, signed as Svix does', async () => {
    const verdict = await read('resend', { callbackSecret }, signed(resendBounce));
    expect(brief(verdict)).toEqual(['bounced true delivered@resend.dev']);
    expect(verdict).toMatchObject({ reports: [{ id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', notificationId }] });
    const soft = { ...resendBounce, data: { ...resendBounce.data, bounce: { type: 'Transient' } } };
    expect(brief(await read('resend', { callbackSecret }, signed(soft)))).toEqual([
      'bounced false delivered@resend.dev',
    ]);
    expect(brief(await read('resend', { callbackSecret }, signed({ ...resendBounce, type: 'email.sent' })))).toEqual(
      [],
    );
  });

  it('tells of a mail that it has taken and doesn’t send as one that bounced; who is suppressed takes nothing', async () => {
    const told = await Promise.all(resendUnsent.map((event) => read('resend', { callbackSecret }, signed(event))));
    expect(told.map(brief)).toEqual([['bounced false delivered@resend.dev'], ['bounced true delivered@resend.dev']]);
    expect(told).toMatchObject([
      { reports: [{ reason: 'reached_daily_quota' }] },
      { reports: [{ reason: expect.stringContaining('suppression list') }] },
    ]);
  });

  it('reads null where it has nothing to say; a kind that is kept in another form is malformed', async () => {
    const { data } = resendBounce;
    const nothing = { ...resendBounce, created_at: null, data: { tags: data.tags, to: null, bounce: null } };
    expect(brief(await read('resend', { callbackSecret }, signed(nothing)))).toEqual(['bounced true ']);
    const foreign = { ...resendBounce, data: { ...data, tags: null } };
    expect(await read('resend', { callbackSecret }, signed(foreign))).toMatchObject({ foreign: 1 });
    for (const other of [
      { ...resendBounce, data: { ...data, to: 7 } },
      { ...resendBounce, type: null },
    ])
      expect(brief(await read('resend', { callbackSecret }, signed(other)))).toEqual(['malformed']);
    const contact = { type: 'contact.created', data: { ...data, to: 7 } };
    expect(await read('resend', { callbackSecret }, signed(contact))).toMatchObject({ other: 1 });
  });

  it('of a mail with copies says of nobody that it bounced', async () => {
    const many = { ...resendBounce, data: { ...resendBounce.data, cc: ['eve@example.com'] } };
    expect(brief(await read('resend', { callbackSecret }, signed(many)))).toEqual(['bounced true ']);
  });

  it('is refused with another body, with another secret, and once its time is 5 minutes old', async () => {
    const sent = signed(resendBounce);
    for (const [settings, forged] of [
      [{ callbackSecret }, { ...sent, text: sent.text.replace('Permanent', 'permanent') }],
      [{ callbackSecret: `whsec_${Buffer.from('another secret of 24 bytes').toString('base64')}` }, sent],
      [{ callbackSecret }, { ...sent, at: now + 301_000 }],
      [{ callbackSecret }, { ...sent, at: now - 301_000 }],
      [{ callbackSecret }, { text: sent.text }],
      [{}, sent],
    ] as const)
      expect(brief(await read('resend', settings, forged))).toEqual(['forged']);
  });
});

describe('Twilio', () => {
  const url = `https://herald.test/api/v1/callbacks/twilio/token?notificationId=${notificationId}`;
  // https://www.twilio.com/docs/messaging/guides/track-outbound-message-status
  const fields = (status: string, more: Record<string, string> = {}) => ({
    SmsSid: 'SM1234567890abcdef1234567890abcdef',
    SmsStatus: status,
    MessageStatus: status,
    To: '+15558675310',
    MessageSid: 'SM1234567890abcdef1234567890abcdef',
    AccountSid: 'AC1234567890abcdef1234567890abcdef',
    From: '+15017122661',
    ApiVersion: '2010-04-01',
    ...more,
  });
  const signed = (params: Record<string, string>, to = url): Sent => ({
    url: to,
    text: new URLSearchParams(params).toString(),
    headers: { 'x-twilio-signature': twilioWebhooks.getExpectedTwilioSignature('the key', to, params) },
  });

  it('tells the status of a message, signed as Twilio’s own library does', async () => {
    const told = await Promise.all(
      [
        signed(fields('sent')),
        signed(fields('delivered')),
        signed(fields('undelivered', { ErrorCode: '30003' })),
        signed(fields('undelivered', { ErrorCode: '30005' })),
      ].map((sent) => read('twilio', {}, sent)),
    );
    expect(told.map(brief)).toEqual([
      [],
      ['delivered false +15558675310'],
      ['bounced false +15558675310'],
      ['bounced true +15558675310'],
    ]);
    expect(told[1]).toMatchObject({
      reports: [{ notificationId, id: 'SM1234567890abcdef1234567890abcdef:delivered', at: now }],
    });
  });

  it('says a field that comes twice by its first value', async () => {
    const { text, ...sent } = signed(fields('delivered'));
    expect(brief(await read('twilio', {}, { ...sent, text: `${text}&MessageStatus=failed` }))).toEqual([
      'delivered false +15558675310',
    ]);
  });

  it('costs little to refuse, however many fields there are', async () => {
    const names = Array.from({ length: 40_000 }, (_, i) => i.toString(36).padStart(4, '0'));
    const startedAt = performance.now();
    expect(brief(await read('twilio', {}, { url, text: names.join('&') }))).toEqual(['forged']);
    expect(performance.now() - startedAt).toBeLessThan(1000);
  });

  it('is refused with other fields, at another address, with another auth token, and where no address is known', async () => {
    const sent = signed(fields('delivered'));
    for (const [settings, forged] of [
      [{}, { ...sent, text: sent.text.replace('delivered', 'undelivered') }],
      [{}, { ...sent, url: url.replace(notificationId, 'notif_01hzx5v6k2m8n4q7r9t3w5y8zb') }],
      [{ apiKey: 'another token' }, sent],
      [{}, { ...sent, url: null }],
      [{}, { ...sent, headers: {} }],
    ] as const)
      expect(brief(await read('twilio', settings, forged))).toEqual(['forged']);
  });
});

describe('Amazon SES', () => {
  const certUrl = 'https://sns.us-west-2.amazonaws.com/SimpleNotificationService-0000000000000000000000.pem';
  let certificates: Certificates;
  let cert: string;
  let key: string;
  beforeAll(async () => {
    certificates = await makeCertificates();
    ({ cert, key } = await certificates.makeAuthority('sns.amazonaws.com'));
    answer = ({ url }) => ({ status: 200, body: url.endsWith('.pem') ? cert : '<ConfirmSubscriptionResponse/>' });
  });
  afterAll(() => certificates.remove());

  const message = (event: unknown) => ({
    Type: 'Notification',
    MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
    TopicArn: 'arn:aws:sns:us-west-2:123456789012:MyTopic',
    Subject: 'Amazon SES Email Event Notification',
    Message: typeof event === 'string' ? event : JSON.stringify(event),
    Timestamp: '2012-05-02T00:54:06.655Z',
    SignatureVersion: '1',
    SigningCertURL: certUrl,
  });
  const confirmation = {
    Type: 'SubscriptionConfirmation',
    MessageId: '165545c9-2a5c-472c-8df2-7ff2be2b3b1b',
    Token: '2336412f37fb687f5d51e6e2425a8a5f3d5d8d6b',
    TopicArn: 'arn:aws:sns:us-west-2:123456789012:MyTopic',
    Message: 'You have chosen to subscribe to the topic arn:aws:sns:us-west-2:123456789012:MyTopic.',
    SubscribeURL:
      'https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription&TopicArn=arn:aws:sns:us-west-2:123456789012:MyTopic&Token=2336412f37',
    Timestamp: '2012-04-26T20:45:04.751Z',
    SignatureVersion: '2',
    SigningCertURL: certUrl,
  };
  /** As the documentation says: names and values of the fields by the alphabet, a line each. */
  const signed = (sent: Record<string, string>): Sent => {
    const names = ['Message', 'MessageId', 'Subject', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'];
    const text = names.flatMap((name) => (sent[name] === undefined ? [] : [name, sent[name]])).join('\n');
    const signature = createSign(sent['SignatureVersion'] === '2' ? 'sha256' : 'sha1').update(`${text}\n`);
    // By the clock that its certificate was made by.
    return { text: JSON.stringify({ ...sent, Signature: signature.sign(key, 'base64') }), at: Date.now() };
  };

  it('tells by SNS what became of a mail, by either version of its signature; its certificate is fetched once', async () => {
    requests.length = 0;
    const told = [];
    for (const version of ['1', '2'])
      for (const event of Object.values(sesEvents))
        told.push(await read('ses', {}, signed({ ...message(event), SignatureVersion: version })));
    const once = [
      ['bounced true recipient@example.com'],
      ['complained false recipient@example.com'],
      ['delivered false recipient@example.com'],
      ['opened false recipient@example.com'],
      ['clicked false recipient@example.com'],
      ['bounced false recipient@example.com'],
      [],
      [],
    ];
    expect(told.map(brief)).toEqual([...once, ...once]);
    expect(told[0]).toMatchObject({ reports: [{ notificationId, reason: 'smtp; 550 5.1.1 user unknown' }] });
    expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual([`GET ${certUrl}`]);
    for (const url of [`${certUrl}#1`, certUrl.replace('sns.us', 'SNS.us')]) {
      const otherwise = { ...message(sesEvents.bounce), SigningCertURL: url };
      expect(brief(await read('ses', {}, signed(otherwise)))).toEqual(['bounced true recipient@example.com']);
    }
    expect(requests).toHaveLength(1);
    const sentence = await read('ses', {}, signed(message('Successfully validated SNS topic')));
    expect(sentence).toMatchObject({ reports: [], other: 1 });
    expect(told[5]).toMatchObject({ reports: [{ reason: 'Bad content' }] });
    expect(told[7]).toMatchObject({ reports: [], foreign: 1 });
  });

  it('reads null where it has nothing to say; a kind that is kept in another form is malformed', async () => {
    const { bounce } = sesEvents.bounce;
    const told = { ...bounce, feedbackId: null, timestamp: null };
    const recipients = [{ emailAddress: 'recipient@example.com', diagnosticCode: null }];
    const nothing = { ...sesEvents.bounce, complaint: null, bounce: { ...told, bouncedRecipients: recipients } };
    expect(brief(await read('ses', {}, signed(message(nothing))))).toEqual(['bounced true recipient@example.com']);
    const untagged = { ...sesEvents.bounce, mail: { ...sesEvents.bounce.mail, tags: null } };
    expect(await read('ses', {}, signed(message(untagged)))).toMatchObject({ foreign: 1 });
    for (const other of [
      { ...sesEvents.bounce, bounce: { ...bounce, bouncedRecipients: null } },
      { ...sesEvents.bounce, bounce: null },
    ])
      expect(brief(await read('ses', {}, signed(message(other))))).toEqual(['malformed']);
  });

  it('has its subscription confirmed, once the message is verified', async () => {
    requests.length = 0;
    expect((await read('ses', {}, signed(confirmation))).kind).toBe('taken');
    expect(requests.map(({ url }) => url)).toEqual([confirmation.SubscribeURL]);
    const elsewhere = { ...confirmation, SubscribeURL: 'https://sns.us-west-2.amazonaws.com.example.net/?Action=x' };
    expect((await read('ses', {}, signed(elsewhere))).kind).toBe('unavailable');
    const sent = signed(confirmation);
    const forged = { ...sent, text: sent.text.replace('chosen', 'not chosen') };
    expect((await read('ses', {}, forged)).kind).toBe('forged');
    expect(requests).toHaveLength(1);
  });

  it('is refused with another message, by a certificate from elsewhere, and of another topic than the one saved', async () => {
    requests.length = 0;
    const sent = message(sesEvents.bounce);
    for (const [settings, forged] of [
      [{}, { ...signed(sent), text: signed(sent).text.replace('recipient@example.com', 'ada@example.com') }],
      ...[
        'https://sns.us-west-2.amazonaws.com.example.net/x.pem',
        'https://s3.us-west-2.amazonaws.com/x.pem',
        'https://bucket.s3.amazonaws.com/sns.us-east-1.amazonaws.com/x.pem',
        'http://sns.us-west-2.amazonaws.com/x.pem',
        'https://sns.us-west-2.amazonaws.com:8443/x.pem',
        'https://user@sns.us-west-2.amazonaws.com/x.pem',
        'https://sns.us-east-1.amazonaws.com/x.pem',
        'https://sns.any-thing-else.amazonaws.com/x.pem',
      ].map((url) => [{}, signed({ ...sent, SigningCertURL: url })] as const),
      [{ config: { snsTopicArn: 'arn:aws:sns:us-west-2:123456789012:Another' } }, signed(sent)],
    ] as const)
      expect(brief(await read('ses', settings, forged))).toEqual(['forged']);
    expect(requests).toEqual([]);
  });

  it('is refused before and after the time of its certificate', async () => {
    const sent = signed(message(sesEvents.bounce));
    const dayMs = 86_400_000;
    for (const at of [Date.now() - dayMs, Date.now() + 3 * dayMs])
      expect(brief(await read('ses', {}, { ...sent, at }))).toEqual(['forged']);
  });

  it('comes from the region of the topic, where that is named', async () => {
    const topic = 'arn:aws:sns:eu-west-1:123456789012:MyTopic';
    const config = { region: 'us-west-2', snsTopicArn: topic };
    const by = (host: string) =>
      signed({ ...message(sesEvents.bounce), TopicArn: topic, SigningCertURL: `https://${host}/x.pem` });
    expect(brief(await read('ses', { config }, by('sns.us-west-2.amazonaws.com')))).toEqual(['forged']);
    expect(brief(await read('ses', { config }, by('sns.eu-west-1.amazonaws.com')))).toEqual([
      'bounced true recipient@example.com',
    ]);
    const none = { region: 'x', snsTopicArn: undefined };
    expect(brief(await read('ses', { config: none }, by('sns.x.amazonaws.com')))).toEqual(['forged']);
  });

  it('has few certificates fetched at once, of a tenant two; what is known is known meanwhile', async () => {
    expect(brief(await read('ses', {}, signed(message(sesEvents.bounce))))).toHaveLength(1);
    requests.length = 0;
    const before = answer;
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    answer = () => held.then(() => ({ status: 404, body: '' }));
    const of = (tenant: number, n: number) => {
      const url = certUrl.replace('.pem', `-${tenant}-${n}.pem`);
      const sent = signed({ ...message(sesEvents.bounce), SigningCertURL: url });
      return read('ses', { tenantId: `tnt_${tenant}` as TenantId }, sent);
    };
    const asked = Array.from({ length: 10 }, (_, tenant) => [of(tenant, 0), of(tenant, 1), of(tenant, 2)]).flat();
    // Nobody asks twice for the same.
    asked.push(of(0, 0));
    expect(requests).toHaveLength(16);
    expect(brief(await read('ses', {}, signed(message(sesEvents.bounce))))).toHaveLength(1);
    letGo();
    expect((await Promise.all(asked)).flatMap(brief)).toEqual(asked.map(() => 'unavailable'));
    expect(requests).toHaveLength(16);
    answer = before;
    expect(brief(await of(9, 2))).toEqual(['bounced true recipient@example.com']);
  });

  it('is to be told again when the certificate can’t be had, and asks for it again 5 s later', async () => {
    const url = certUrl.replace('0000.pem', '0001.pem');
    const sent = signed({ ...message(sesEvents.bounce), SigningCertURL: url });
    const before = answer;
    requests.length = 0;
    answer = () => {
      throw new OutboundError('timeout', 'ETIMEDOUT', 'no answer');
    };
    expect(brief(await read('ses', {}, sent))).toEqual(['unavailable']);
    answer = () => ({ status: 503, body: 'slow down' });
    monotonic += 4_999;
    expect(brief(await read('ses', {}, sent))).toEqual(['unavailable']);
    expect(requests).toHaveLength(1);
    monotonic += 1;
    expect(brief(await read('ses', {}, sent))).toEqual(['unavailable']);
    expect(requests).toHaveLength(2);
    answer = before;
    monotonic += 5_000;
    expect(brief(await read('ses', {}, sent))).toEqual(['bounced true recipient@example.com']);
  });
});
