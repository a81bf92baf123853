// Mails as the HTTP APIs of SendGrid, Postmark and Mailgun see them, and what their errors, Resend's and Amazon SES's mean.

import { describe, expect, it } from '@jest/globals';

import type { SinkRequest } from '../support/http-sink.ts';
import { awsError } from '../support/stand-ins/aws-check.ts';
import type { StandInAnswer } from '../support/stand-ins/http-stand-in.ts';
import { json } from '../support/stand-ins/http-stand-in.ts';
import { mailgunStandIn } from '../support/stand-ins/mailgun.ts';
import { postmarkStandIn } from '../support/stand-ins/postmark.ts';
import { resendStandIn } from '../support/stand-ins/resend.ts';
import { sendgridStandIn } from '../support/stand-ins/sendgrid.ts';
import { sesStandIn } from '../support/stand-ins/ses.ts';
import { addressOf, httpApi } from './http-apis.ts';

const id = 'notif_0abcdefghjkmnpqrstvwxyz012';
const parsed = (request: SinkRequest | undefined) => JSON.parse(request?.body ?? '');
const form = (request: SinkRequest | undefined) => Object.fromEntries(new URLSearchParams(request?.body));

interface Content {
  readonly type: string;
  readonly value: string;
}
interface Address {
  readonly email: string;
}

const apis = [
  {
    standIn: sendgridStandIn,
    keyOf: (request: SinkRequest) => parsed(request).personalizations[0].custom_args.notificationId,
    headersOf: (request: SinkRequest) => parsed(request).headers,
    bodiesOf: (request: SinkRequest) => parsed(request).content.map(({ type, value }: Content) => [type, value]),
    bodies: ['text/plain', 'text/html'],
    partiesOf(request: SinkRequest) {
      const { personalizations, reply_to } = parsed(request);
      const [{ to, cc, bcc }] = personalizations;
      return [to, cc, bcc].map((list) => list?.map(({ email }: Address) => email)).concat(reply_to?.email);
    },
  },
  {
    standIn: postmarkStandIn,
    keyOf: (request: SinkRequest) => parsed(request).Metadata.notificationId,
    headersOf(request: SinkRequest) {
      const headers = parsed(request).Headers?.map((one: { Name: string; Value: string }) => [one.Name, one.Value]);
      return headers === undefined ? undefined : Object.fromEntries(headers);
    },
    bodiesOf: (request: SinkRequest) => Object.entries(parsed(request)).filter(([name]) => name.endsWith('Body')),
    bodies: ['TextBody', 'HtmlBody'],
    partiesOf(request: SinkRequest) {
      const { To, Cc, Bcc, ReplyTo } = parsed(request);
      return [To, Cc, Bcc].map((list) => list?.split(', ')).concat(ReplyTo);
    },
  },
  {
    standIn: mailgunStandIn,
    keyOf: (request: SinkRequest) => form(request)['v:notificationId'],
    headersOf(request: SinkRequest) {
      const headers = Object.entries(form(request)).filter(([name]) => name.startsWith('h:List-'));
      return headers.length === 0
        ? undefined
        : Object.fromEntries(headers.map(([name, value]) => [name.slice(2), value]));
    },
    bodiesOf: (request: SinkRequest) => Object.entries(form(request)).filter(([name]) => /^(text|html)$/.test(name)),
    bodies: ['text', 'html'],
    partiesOf(request: SinkRequest) {
      const { to, cc, bcc, 'h:Reply-To': replyTo } = form(request);
      return [to, cc, bcc].map((list): unknown => list?.split(', ')).concat(replyTo);
    },
  },
];

describe.each(apis)('a mail by $standIn.traits.name', ({ standIn, keyOf, headersOf, bodiesOf, bodies, partiesOf }) => {
  const api = httpApi(standIn);

  it('carries an id that every try of a round has, and no other round', async () => {
    for (const round of [1, 1, 2]) await api.send({ round });
    expect(api.standIn().requests.map(keyOf)).toEqual([id, id, `${id}.2`]);
  });

  it('is text as its body is, or HTML and what that says as text, where it says something', async () => {
    await api.send({ request: { body: 'Grüße & <b>' } });
    await api.send({ request: { body: '<p>Grüße &amp; mehr', bodyFormat: 'html' } });
    await api.send({ request: { body: '<img src="x">', bodyFormat: 'html' } });
    expect(api.standIn().requests.map(bodiesOf)).toEqual([
      [[bodies[0], 'Grüße & <b>']],
      [
        [bodies[0], 'Grüße & mehr'],
        [bodies[1], '<p>Grüße &amp; mehr'],
      ],
      [[bodies[1], '<img src="x">']],
    ]);
  });

  it('goes to its copies, each named once, and names where answers go to', async () => {
    const copies = {
      cc: ['c@example.org', 'ADA@example.org', 'e@bücher.example'],
      bcc: ['d@example.org', 'C@example.org'],
    };
    expect(await api.send({ request: copies }, { replyTo: 'shop@example.org' })).toMatchObject({ kind: 'delivered' });
    const replyTo = 'r@bücher.example';
    expect(await api.send({ request: { replyTo } }, { replyTo: 'shop@example.org' })).toMatchObject({
      kind: 'delivered',
    });
    expect(await api.send()).toMatchObject({ kind: 'delivered' });
    const { recipient } = api.standIn();
    expect(api.standIn().requests.map(partiesOf)).toEqual([
      [[recipient], ['c@example.org', 'e@xn--bcher-kva.example'], ['d@example.org'], 'shop@example.org'],
      [[recipient], undefined, undefined, 'r@xn--bcher-kva.example'],
      [[recipient], undefined, undefined, undefined],
    ]);
  });

  it('says how to unsubscribe where it is to, by the tenant’s own address where there is one', async () => {
    const unsubscribe = { url: 'https://herald.test/api/v1/unsubscribe/token' };
    await api.send({ unsubscribe });
    await api.send({ unsubscribe }, { unsubscribeUrl: 'https://shop.test/{notificationId}' });
    await api.send({ unsubscribe: { url: null } });
    await api.send({}, { unsubscribeUrl: 'https://shop.test/{notificationId}' });
    const headers = (url: string) => ({
      'List-Unsubscribe': `<${url}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    });
    expect(api.standIn().requests.map(headersOf)).toEqual([
      headers(unsubscribe.url),
      headers(`https://shop.test/${id}`),
      undefined,
      undefined,
    ]);
  });

  it('goes to an internationalised domain by its name in ASCII', async () => {
    expect(await api.send({ recipient: 'ada@bücher.example' })).toMatchObject({ kind: 'delivered' });
    expect(api.standIn().requests.map(partiesOf)).toMatchObject([[['ada@xn--bcher-kva.example']]]);
  });

  it('goes to nobody when the recipient is more than one address', async () => {
    for (const recipient of [
      'a@example.org, b@example.org',
      'A <a@example.org>',
      'a@example.org\r\nBcc: b@x.org',
      '',
    ]) {
      expect(await api.send({ recipient })).toMatchObject({
        kind: 'rejected',
        reason: { failureClass: 'recipient', code: 'BAD_RECIPIENT' },
      });
    }
    expect(api.standIn().requests).toEqual([]);
  });
});

type Row = readonly [what: string, answer: StandInAnswer, kind: string, failureClass: string];

describe('an answer of SendGrid', () => {
  const api = httpApi(sendgridStandIn);
  const error = (status: number, field: string | null, headers = {}) =>
    json(status, { errors: [{ message: 'why', field }] }, headers);

  it.each<Row>([
    ['a sender that is not verified', error(403, 'from'), 'rejected', 'credentials'],
    ['a sender that is no address', error(400, 'from.email'), 'rejected', 'credentials'],
    ['a recipient', error(400, 'personalizations.0.to.0.email'), 'rejected', 'recipient'],
    ['a copy', error(400, 'personalizations.0.bcc.1.email'), 'rejected', 'recipient'],
    ['a subject', error(400, 'personalizations.0.subject'), 'rejected', 'content'],
    ['a body', error(400, 'content.0.value'), 'rejected', 'content'],
    ['the field "null"', error(400, 'null'), 'rejected', 'content'],
    ['a mail too large', error(413, null), 'rejected', 'content'],
    ['another region', error(451, null), 'rejected', 'credentials'],
    ['an unknown path', error(404, null), 'rejected', 'provider'],
    ['no JSON', { status: 400, body: '<html>' }, 'rejected', 'content'],
    ['a gateway', { status: 502, body: '' }, 'retryable', 'provider'],
  ])('about %s', async (_, answer, kind, failureClass) => {
    api.standIn().answer(answer);
    const code = String(answer.status);
    expect(await api.send()).toMatchObject({ kind, reason: { failureClass, code } });
  });

  it('that throttles is waited for as Retry-After says, where there is one', async () => {
    api.standIn().answer(error(429, null, { 'retry-after': '3', 'x-ratelimit-reset': '1392815263' }));
    expect(await api.send()).toMatchObject({ kind: 'retryable', retryAfterMs: 3_000 });
    api.standIn().answer(error(429, null, { 'x-ratelimit-reset': '1392815263' }));
    expect(await api.send()).toMatchObject({ kind: 'retryable', retryAfterMs: 0 });
    api.standIn().answer(error(429, null, { 'x-ratelimit-reset': 'soon' }));
    expect(await api.send()).toMatchObject({ kind: 'retryable', retryAfterMs: null });
  });
});

describe('an answer of Postmark', () => {
  const api = httpApi(postmarkStandIn);
  const error = (status: number, ErrorCode: number, Message = 'why') => json(status, { ErrorCode, Message });

  it.each<readonly [number, StandInAnswer, string, string]>([
    [10, error(401, 10), 'rejected', 'credentials'],
    [100, error(422, 100), 'retryable', 'provider'],
    [300, error(422, 300, "Error parsing 'To': Illegal email domain 'x.' in address"), 'rejected', 'recipient'],
    [300, error(422, 300, "Invalid 'To' address: 'nope'."), 'rejected', 'recipient'],
    [300, error(422, 300, "Error parsing 'Cc': Illegal email domain 'x.' in address"), 'rejected', 'recipient'],
    [300, error(422, 300, "Error parsing 'From': Illegal email address ']'."), 'rejected', 'credentials'],
    [300, error(422, 300, 'Provide either email TextBody or HtmlBody or both.'), 'rejected', 'content'],
    [400, error(422, 400), 'rejected', 'credentials'],
    [401, error(422, 401), 'rejected', 'credentials'],
    [402, error(422, 402), 'rejected', 'content'],
    [405, error(422, 405), 'rejected', 'credentials'],
    [406, error(422, 406), 'rejected', 'recipient'],
    [412, error(422, 412), 'rejected', 'credentials'],
    [413, error(422, 413), 'rejected', 'credentials'],
    [429, error(422, 429), 'retryable', 'provider'],
    [1235, error(422, 1235), 'rejected', 'credentials'],
    [500, { status: 500, body: '<html>' }, 'retryable', 'provider'],
    [503, { status: 503, body: '' }, 'retryable', 'provider'],
  ])('with code %d', async (code, answer, kind, failureClass) => {
    api.standIn().answer(answer);
    expect(await api.send()).toMatchObject({ kind, reason: { failureClass, code: String(code) } });
  });
});

describe('a mail with copies that Postmark takes', () => {
  const api = httpApi(postmarkStandIn);

  it.each([{}, { To: null, Message: null }, { Message: 'OK' }])(
    'is delivered where it says no more than %j',
    async (more) => {
      api.standIn().answer(json(200, { ErrorCode: 0, MessageID: 'id', ...more }));
      expect(await api.send({ request: { cc: ['bo@example.org'] } })).toEqual({ kind: 'delivered', messageId: 'id' });
    },
  );

  const why =
    'Inactive recipients are ones that have generated a hard bounce, a spam complaint, or a manual suppression.';
  const answered = (To: string, inactive: string) =>
    json(200, {
      To,
      Cc: 'bo@example.org',
      SubmittedAt: '2026-01-02T03:04:05Z',
      MessageID: '0a129aee-e1cd-480d-b08d-4f48548ff48d',
      ErrorCode: 0,
      Message: `Message OK, but will not deliver to these inactive addresses: ${inactive}`,
    });

  it.each([
    ['ada@example.org.'],
    [`ada@example.org. ${why}`],
    ['bo@example.org, ada@example.org'],
    [`ada@example.org, bo@example.org. ${why} `],
  ])('is not delivered where its recipient is among the inactive ones: %s', async (inactive) => {
    api.standIn().answer(answered('Ada@example.org', inactive));
    expect(await api.send({ recipient: 'Ada@example.org', request: { cc: ['bo@example.org'] } })).toMatchObject({
      kind: 'rejected',
      reason: { failureClass: 'recipient', code: '406', message: expect.stringContaining('inactive') },
    });
  });

  it.each([['bo@example.org.'], [`ada@example.org.uk, xada@example.org. ${why}`]])(
    'is delivered where a copy alone is: %s',
    async (inactive) => {
      api.standIn().answer(answered('ada@example.org', inactive));
      expect(await api.send({ recipient: 'ada@example.org', request: { cc: ['bo@example.org'] } })).toEqual({
        kind: 'delivered',
        messageId: '0a129aee-e1cd-480d-b08d-4f48548ff48d',
      });
    },
  );
});

describe('an answer of Mailgun', () => {
  const api = httpApi(mailgunStandIn);
  const error = (status: number, message: string) => json(status, { message });

  it.each<Row>([
    [
      'a recipient',
      error(400, "'to' parameter is not a valid address. please check documentation"),
      'rejected',
      'recipient',
    ],
    [
      'a copy',
      error(400, "'cc' parameter is not a valid address. please check documentation"),
      'rejected',
      'recipient',
    ],
    [
      'a sender',
      error(400, "'from' parameter is not a valid address. please check documentation"),
      'rejected',
      'credentials',
    ],
    [
      'a body',
      error(400, "Need at least one of 'text', 'html', 'amp-html' or 'template' parameters"),
      'rejected',
      'content',
    ],
    ['an account without money', error(402, 'Payment required'), 'rejected', 'credentials'],
    [
      'a domain that may not send',
      error(403, 'Domain mg.example.com is not allowed to send'),
      'rejected',
      'credentials',
    ],
    ['a domain of another region', error(404, 'Domain not found: mg.example.com'), 'rejected', 'credentials'],
    ['a mail too large', error(413, 'too large'), 'rejected', 'content'],
    ['a limit of an hour', error(420, 'Domain has exceeded its hourly limit'), 'retryable', 'provider'],
    ['a gateway', { status: 504, body: '<html>' }, 'retryable', 'provider'],
  ])('about %s', async (_, answer, kind, failureClass) => {
    api.standIn().answer(answer);
    const code = String(answer.status);
    expect(await api.send()).toMatchObject({ kind, reason: { failureClass, code } });
  });
});

describe('a limit of Mailgun', () => {
  const api = httpApi(mailgunStandIn);
  // The tests' clock says 03:04:05.
  const until = (time: string) =>
    `Domain mg.example.com is not allowed to send: recipient limit exceeded, try again after ${time}`;

  it.each([
    [420, until('Fri, 02 Jan 2026 03:34:05 UTC'), {}, 1_800_000],
    [429, until('Fri, 02 Jan 2026 03:04:35 UTC'), {}, 30_000],
    [420, until('Fri, 02 Jan 2026 03:00:00 UTC'), {}, 0],
    [420, until('Sat, 02 Jan 2027 03:04:05 UTC'), {}, 86_400_000],
    [420, until('Fri, 02 Jan 2026 03:34:05 UTC'), { 'retry-after': '7' }, 7_000],
    [420, until('some time, UTC'), {}, null],
    [420, 'Domain has exceeded its hourly limit', {}, null],
  ])('%d, %s, is waited for as it says', async (status, message, headers, retryAfterMs) => {
    api.standIn().answer(json(status, { message }, headers));
    expect(await api.send()).toMatchObject({ kind: 'retryable', reason: { failureClass: 'provider' }, retryAfterMs });
  });
});

describe('an answer of Resend', () => {
  const api = httpApi(resendStandIn);
  const error = (statusCode: number, name: string, message: string) => json(statusCode, { statusCode, name, message });

  it.each<Row>([
    ['a key', error(400, 'validation_error', 'API key is invalid'), 'rejected', 'credentials'],
    ['a domain', error(403, 'validation_error', 'The domain is not verified.'), 'rejected', 'credentials'],
    ['a recipient', error(422, 'validation_error', 'Invalid `to` field.'), 'rejected', 'recipient'],
    ['a sender', error(422, 'validation_error', 'Invalid `from` field.'), 'rejected', 'credentials'],
    ['a body', error(422, 'validation_error', 'Missing `html` or `text` field.'), 'rejected', 'content'],
    ['a quota', error(429, 'daily_quota_exceeded', 'You have reached your daily quota.'), 'retryable', 'provider'],
  ])('about %s', async (_, answer, kind, failureClass) => {
    api.standIn().answer(answer);
    expect(await api.send()).toMatchObject({ kind, reason: { failureClass } });
  });
});

describe('an answer of Amazon SES', () => {
  const api = httpApi(sesStandIn);

  it.each([
    ['AccountSendingPausedException', 'rejected', 'credentials'],
    ['ConfigurationSetSendingPausedException', 'rejected', 'credentials'],
    ['ConfigurationSetDoesNotExist', 'rejected', 'credentials'],
    ['MailFromDomainNotVerifiedException', 'rejected', 'credentials'],
    ['MessageRejected', 'rejected', 'content'],
    ['LimitExceeded', 'retryable', 'provider'],
  ])('with %s', async (code, kind, failureClass) => {
    api.standIn().answer(awsError(400, code, 'why'));
    expect(await api.send()).toMatchObject({ kind, reason: { failureClass } });
  });
});

describe('the address of an email API', () => {
  it.each([
    [sendgridStandIn, {}, 'https://api.sendgrid.com/v3/mail/send'],
    [sendgridStandIn, { region: 'eu' }, 'https://api.eu.sendgrid.com/v3/mail/send'],
    [postmarkStandIn, {}, 'https://api.postmarkapp.com/email'],
    [mailgunStandIn, { region: undefined }, 'https://api.mailgun.net/v3/mg.example.com/messages'],
    [mailgunStandIn, { region: 'eu' }, 'https://api.eu.mailgun.net/v3/mg.example.com/messages'],
  ])('is that of the region: %#', async (standIn, config, url) => {
    expect(await addressOf(standIn, { config })).toBe(url);
  });
});
