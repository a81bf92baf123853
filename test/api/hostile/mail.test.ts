// The wall: nothing of a tenant's or a caller's becomes a header, a second recipient or another sender of a mail.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addressParser } from 'postal-mime';

import { createOutbound } from '../../../src/adapters/http/outbound.ts';
import { createProviderRegistry } from '../../../src/channels/registry.ts';
import { aDelivery, contextOf } from '../../contracts/provider.ts';
import type { App } from '../../support/app.ts';
import { startApp } from '../../support/app.ts';
import type { HttpSink } from '../../support/http-sink.ts';
import { startHttpSink } from '../../support/http-sink.ts';
import type { SmtpSink } from '../../support/smtp-sink.ts';
import { startSmtpSink } from '../../support/smtp-sink.ts';
import { expectAlive } from '../../support/unharmed.ts';
import { until } from '../../support/until.ts';
import { wallClock } from '../../support/wall-clock.ts';

let app: App;
let tenant: Awaited<ReturnType<App['tenant']>>;
let sink: SmtpSink;

const fromEmail = 'shop@example.com';
const save = (fromName: string) =>
  tenant.dashboard('POST', '/providers', {
    channel: 'EMAIL',
    provider: 'smtp',
    apiKey: 'the password',
    config: { fromName, fromEmail, host: '127.0.0.1', port: sink.port },
    enabled: true,
  });

beforeAll(async () => {
  sink = await startSmtpSink();
  app = await startApp();
  tenant = await app.tenant('owner', { email: 'owner@example.com' });
  expect((await save('Shop')).status).toBe(200);
});

afterAll(async () => {
  await expectAlive(app);
  await app.close();
  await sink.close();
});

/** What a mail of ours has, and nothing else. */
const headerNames = [
  'content-transfer-encoding',
  'content-type',
  'date',
  'from',
  'message-id',
  'mime-version',
  'subject',
  'to',
];

async function delivered(before: number) {
  const mail = await until(() => sink.mails[before], { what: 'the mail' });
  const names = new Set(mail.email.headers.map(({ key }) => key));
  expect([...names].sort()).toEqual(headerNames);
  expect(mail.from).toBe(fromEmail);
  expect(mail.to).toHaveLength(1);
  return mail;
}

const send = (over: object) =>
  tenant.notify({ channel: 'EMAIL', recipient: 'ada@example.org', subject: 's', body: 'b', ...over });

describe('a recipient', () => {
  it.each([
    'a@example.com\r\nBcc: b@example.com',
    'a@example.com\nBcc: b@example.com',
    'a@example.com\rBcc: b@example.com',
    'a@example.com\u0000',
    'a@example.com\u2028b@example.com',
    'a@example.com\u0085Bcc: b@example.com',
    'undisclosed-recipients:;',
    'Friends: a@example.com, b@example.com;',
    'a@example.com, b@example.com',
    'a@example.com; b@example.com',
    'a@example.com b@example.com',
    '<a@example.com>',
    'Ada <a@example.com>',
    'a@example.com (b@example.com)',
    '"a@b"@example.com',
    '@one.example,@two.example:a@example.com',
    'a@b@example.com',
    'a@example.com> SIZE=1 <b@example.com',
    'a@[IPv6:::1]',
    'a@127.0.0.1',
    'a@localhost',
    'a@exa\u00admple.com',
    '\u202ea@example.com',
    'a\u0301@example.com',
    'a@example.com.',
    'a@example..com',
    'postmaster',
    '|/bin/sh',
  ])('is one plain address, or refused: %j', async (recipient) => {
    const { status, body } = await send({ recipient });
    expect(status).toBe(400);
    expect(body.details).toMatchObject([{ path: 'recipient' }]);
  });
});

describe('a subject', () => {
  it.each(['a\r\nBcc: b@example.com', 'a\nb', 'a\rb', '\r\n\r\nbody', 'a\u0000b', '\ud800'])(
    'of more than a line is refused, given or rendered: %j',
    async (text) => {
      expect((await send({ subject: text })).status).toBe(400);
      expect((await send({ subject: '{{ x }}', data: { x: text } })).status).toBe(400);
    },
  );

  it.each([
    'a\u0001\u0008\u001b[31mb',
    'a\u000bb\u000cc',
    'a\u0085Bcc: b@example.com',
    'a\u2028Bcc: b@example.com\u2029',
    'Bcc: b@example.com',
    '=?utf-8?B?DQpCY2M6IGJAZXhhbXBsZS5jb20=?=',
    '=?utf-8?Q?=0D=0ABcc=3A_b@example.com?=',
    `${'x'.repeat(990)}\u00e9`,
    `${'word '.repeat(150)}Bcc: b@example.com`,
  ])('of one line adds no header, whatever it says: %#', async (subject) => {
    const before = sink.mails.length;
    expect((await send({ subject })).status).toBe(202);
    const mail = await delivered(before);
    expect(mail.to).toEqual(['ada@example.org']);
    expect(mail.email.bcc ?? []).toEqual([]);
  });

  it('and a body that ends a mail early do not: dots and header lines in a body stay there', async () => {
    const before = sink.mails.length;
    const body = 'a\r\n.\r\nRCPT TO:<eve@example.net>\r\nDATA\r\n\r\nBcc: eve@example.net\r\n.\r\nQUIT\r\n';
    expect((await send({ body })).status).toBe(202);
    const mail = await delivered(before);
    expect(mail.email.text).toContain('RCPT TO:<eve@example.net>');
    expect(sink.mails).toHaveLength(before + 1);
  });
});

const names = [
  'Evil" <eve@example.net>, "',
  'Evil <eve@example.net>',
  'eve@example.net, Ada',
  'Friends: eve@example.net;',
  '\\" <eve@example.net> \\',
  'Ada (eve@example.net)',
  '=?utf-8?B?IjxldmVAZXhhbXBsZS5uZXQ+?=',
  '\u202e<eve@example.net>',
  '<script>alert(1)</script>',
  "';--",
];

describe('a sender', () => {
  it.each(['a\r\nBcc: b@example.com', 'a\nb', 'a\u0000', 'a\u0085b', '\ud800', '', 'x'.repeat(201)])(
    'whose name is no line of text is refused: %j',
    async (fromName) => {
      const { status, body } = await save(fromName);
      expect(status).toBe(400);
      expect(body.details[0].path).toBe('config.fromName');
    },
  );

  it.each(names)('by SMTP is the one that was set, whatever its name says: %s', async (fromName) => {
    expect((await save(fromName)).status).toBe(200);
    const before = sink.mails.length;
    expect((await send({})).status).toBe(202);
    const mail = await delivered(before);
    expect(mail.email.from?.address).toBe(fromEmail);
    const raw = mail.email.headers.filter(({ key }) => key === 'from').map(({ value }) => value);
    expect(raw.flatMap((value) => addressParser(value)).map(({ address }) => address)).toEqual([fromEmail]);
  });

  describe.each(['resend', 'sendgrid', 'postmark', 'mailgun', 'ses'])('by %s', (name) => {
    let api: HttpSink;
    beforeAll(async () => {
      api = await startHttpSink({ respond: (_, response) => response.writeHead(500).end() });
    });
    afterAll(() => api.close());

    it('is the one that was set, whatever its name says', async () => {
      const outbound = createOutbound({ allow: ['127.0.0.1/32'], clock: wallClock });
      const registry = createProviderRegistry({ outbound, clock: wallClock, providerUrls: { [name]: api.url } });
      for (const fromName of names) {
        const settings = {
          apiKey: 'a_key_of_the_test_0123456789',
          config: {
            fromName,
            fromEmail,
            ...(name === 'mailgun' ? { domain: 'mg.example.com', region: 'us' } : {}),
            ...(name === 'ses' ? { region: 'eu-central-1', accessKeyId: 'AKIA0123456789' } : {}),
          },
        };
        const context = contextOf({ channel: 'EMAIL', name }, { settings }, AbortSignal.timeout(5000));
        await registry.find('EMAIL', name)?.send(aDelivery({ recipient: 'ada@example.org' }), context);
        const sender = senderOf(name, api.requests.at(-1)?.body ?? '');
        expect([fromName, addressParser(sender).map(({ address }) => address)]).toEqual([fromName, [fromEmail]]);
      }
      await outbound.close();
    });
  });
});

/** The From line that a provider is asked for. */
function senderOf(name: string, body: string): string {
  switch (name) {
    case 'resend':
      return (JSON.parse(body) as { from: string }).from;
    case 'postmark':
      return (JSON.parse(body) as { From: string }).From;
    case 'sendgrid':
      return (JSON.parse(body) as { from: { email: string } }).from.email;
    case 'mailgun':
      return new URLSearchParams(body).get('from') ?? '';
    default:
      return new URLSearchParams(body).get('Source') ?? '';
  }
}

describe('the address of a tenant, which its identity provider says', () => {
  it.each([
    'a@example.com, b@example.com',
    'a@example.com\r\nBcc: b@example.com',
    'Friends: a@example.com;',
    'Ada <a@example.com>',
    'a@example.com> NOTIFY=NEVER',
    'a@localhost',
    '',
    '\u0000',
    'x'.repeat(300),
  ])('is written to if it is one plain address: %j', async (email) => {
    const owner = await app.tenant(`owner ${JSON.stringify(email).length}`, { email });
    await owner.dashboard('POST', '/providers', {
      channel: 'EMAIL',
      provider: 'smtp',
      apiKey: 'the password',
      config: { fromName: 'Shop', fromEmail, host: '127.0.0.1', port: sink.port },
      enabled: true,
    });
    const before = sink.mails.length;
    const { status, body } = await owner.dashboard('POST', '/providers/EMAIL/test');
    expect([status, body.success]).toEqual([200, false]);
    expect(sink.mails).toHaveLength(before);
  });

  it('gets the test when it is', async () => {
    const before = sink.mails.length;
    expect((await save('Shop')).status).toBe(200);
    expect((await tenant.dashboard('POST', '/providers/EMAIL/test')).body).toEqual({ success: true });
    expect((await delivered(before)).to).toEqual(['owner@example.com']);
  });
});
