// Mails as their receivers and providers see them.

import type { Socket } from 'node:net';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import PostalMime from 'postal-mime';

import { createOutbound } from '../../src/adapters/http/outbound.ts';
import { createProviderRegistry } from '../../src/channels/registry.ts';
import type { DeliveryOutcome } from '../../src/domain/delivery-outcome.ts';
import type { Outbound } from '../../src/ports/outbound.ts';
import { OutboundError } from '../../src/ports/outbound.ts';
import type { Provider } from '../../src/ports/provider-registry.ts';
import { aDelivery, contextOf } from '../contracts/provider.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { localhostRsaCertificate, localhostRsaKey } from '../support/localhost-certificate.ts';
import { startRawServer, writeEndlessly } from '../support/raw-server.ts';
import type { SmtpSink } from '../support/smtp-sink.ts';
import { startSmtpSink } from '../support/smtp-sink.ts';
import { startTakingServer } from '../support/taking-server.ts';
import { until } from '../support/until.ts';
import { wallClock } from '../support/wall-clock.ts';

const sender = { fromName: 'Åsa "Q" Öst', fromEmail: 'noreply@example.com' };
const asEmail = (name: string) => ({ channel: 'EMAIL', name }) as const;
let outbound: Outbound;

function provider(name: string, providerUrls = {}): Provider {
  const found = createProviderRegistry({ outbound, clock: wallClock, providerUrls }).find('EMAIL', name);
  if (found === null) throw new Error(name);
  return found;
}

beforeEach(() => {
  outbound = createOutbound({ allow: ['127.0.0.1/32'], clock: wallClock });
});
afterEach(() => outbound.close());

const linesFor = (url: string) => [`List-Unsubscribe: <${url}>`, 'List-Unsubscribe-Post: List-Unsubscribe=One-Click'];

describe('a mail by SMTP', () => {
  let sink: SmtpSink;
  let smtp: Provider;

  async function start(options: Parameters<typeof startSmtpSink>[0] = {}): Promise<void> {
    sink = await startSmtpSink(options);
    smtp = provider('smtp');
  }
  afterEach(async () => {
    await outbound.close();
    await sink.close();
  });

  function send(
    request: Parameters<typeof aDelivery>[0] = {},
    config: Readonly<Record<string, unknown>> = {},
    apiKey = 'the password',
  ): Promise<DeliveryOutcome> {
    const settings = { apiKey, config: { ...sender, host: '127.0.0.1', port: sink.port, user: 'mailer', ...config } };
    const context = contextOf(asEmail('smtp'), { settings }, AbortSignal.timeout(5_000));
    return smtp.send(aDelivery({ recipient: 'ada@example.org', ...request }), context);
  }

  it('has sender, recipient, subject and a text body', async () => {
    await start();
    await send({ request: { subject: 'Grüße ✓', body: 'Hallo Ada,\n\nbis bald.\n' } });
    const [mail] = sink.mails;
    expect(mail).toMatchObject({ from: 'noreply@example.com', to: ['ada@example.org'], user: 'mailer' });
    expect(mail?.email.from).toMatchObject({ name: 'Åsa "Q" Öst', address: 'noreply@example.com' });
    expect(mail?.email.subject).toBe('Grüße ✓');
    expect(mail?.email.text).toBe('Hallo Ada,\n\nbis bald.\n');
    expect(mail?.email.html).toBeUndefined();
  });

  it('has an HTML body when the body is HTML, and before it what that says as text', async () => {
    await start();
    await send({ request: { bodyFormat: 'html', body: '<p>Hallo <b>Ada</b></p><p>Grüße &amp; mehr' } });
    const [mail] = sink.mails;
    expect(mail?.email.html).toContain('<p>Hallo <b>Ada</b></p>');
    expect(mail?.email.text?.trim()).toBe('Hallo Ada\n\nGrüße & mehr');
    const types = [...(mail?.raw ?? '').matchAll(/^content-type: ([a-z/]+)/gim)].map(([, type]) => type);
    expect(types).toEqual(['multipart/alternative', 'text/plain', 'text/html']);
  });

  it('says in one line each how to unsubscribe, however long the address is', async () => {
    await start();
    const url = `https://herald.test/api/v1/unsubscribe/${'x'.repeat(600)}`;
    await send({ unsubscribe: { url } });
    await send();
    const [first, second] = sink.mails;
    expect(first?.raw.split('\r\n')).toEqual(expect.arrayContaining(linesFor(url)));
    expect(second?.raw).not.toContain('Unsubscribe');
  });

  it('has HTML alone where that says nothing', async () => {
    await start();
    await send({ request: { bodyFormat: 'html', body: '<img src="https://example.com/a.png">' } });
    expect(sink.mails[0]?.email.html).toContain('<img');
    expect(sink.mails[0]?.email.text).toBeUndefined();
  });

  it('names its sender’s domain in EHLO, or what the config says: a server that takes no bare address takes it', async () => {
    await start({ refusesBareAddresses: true });
    expect(await send()).toMatchObject({ kind: 'delivered' });
    expect(await send({}, { heloName: 'relay.example.net' })).toMatchObject({ kind: 'delivered' });
    expect(sink.mails.map(({ heloName }) => heloName)).toEqual(['example.com', 'relay.example.net']);
    expect(await send({}, { heloName: '[127.0.0.1]' })).toMatchObject({ kind: 'rejected', reason: { code: '550' } });
  });

  it('goes to its copies, of whom the blind ones are seen by nobody; answers go to the request’s own address', async () => {
    await start();
    const request = {
      cc: ['Cy@example.org', 'ADA@example.org', 'bo@bücher.example'],
      bcc: ['eve@example.net', 'cy@example.org'],
    };
    await send({ request: { ...request, replyTo: 'help@bücher.example' } }, { replyTo: 'shop@example.com' });
    await send({}, { replyTo: 'shop@example.com' });
    const [mail, second] = sink.mails;
    // The sink reads domains back.
    expect(mail?.to).toEqual(['ada@example.org', 'Cy@example.org', 'bo@bücher.example', 'eve@example.net']);
    expect(mail?.email.to?.map(({ address }) => address)).toEqual(['ada@example.org']);
    expect(mail?.email.cc?.map(({ address }) => address)).toEqual(['Cy@example.org', 'bo@xn--bcher-kva.example']);
    expect(mail?.email.replyTo?.map(({ address }) => address)).toEqual(['help@xn--bcher-kva.example']);
    expect(mail?.raw).not.toContain('eve@example.net');
    expect(second?.email.replyTo?.map(({ address }) => address)).toEqual(['shop@example.com']);
    expect(second?.email.cc).toBeUndefined();
  });

  it('goes to a recipient at an internationalised domain by its name in ASCII', async () => {
    const ascii = 'Ada.Lovelace@xn--bcher-kva.xn--r8jz45g.example';
    await start();
    await send({ recipient: 'Ada.Lovelace@Bücher.例え.example' });
    expect(sink.mails[0]?.email.to?.[0]?.address).toBe(ascii);
    const server = await startTakingServer([]);
    const outcome = await send(
      { recipient: 'Ada.Lovelace@Bücher.例え.example' },
      { port: server.port, user: undefined },
    );
    expect(outcome).toMatchObject({ reason: { message: expect.stringContaining(`no such user ${ascii}`) } });
    await server.close();
  });

  it.each([
    '=?utf-8?B?SGVsbG8=?=',
    'Re: =?utf-8?Q?Hello?= and more',
    '=?not quite',
    `${'Grüße '.repeat(60)}=?`,
    'x'.repeat(998),
    'a\tb "c" <d@example.com>',
  ])('shows its subject as it was written: %j', async (subject) => {
    await start();
    await send({ request: { subject } });
    expect(sink.mails[0]?.email.subject).toBe(subject);
    const lines = (sink.mails[0]?.raw ?? '').split('\r\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(78);
  });

  it('has the same Message-ID on every try of a round', async () => {
    await start();
    for (const round of [1, 1, 2]) await send({ round });
    const id = 'notif_0abcdefghjkmnpqrstvwxyz012';
    const ids = sink.mails.map(({ email }) => email.messageId);
    expect(ids).toEqual([`<${id}@example.com>`, `<${id}@example.com>`, `<${id}.2@example.com>`]);
  });

  it('lets nothing in the request add a header or a recipient', async () => {
    await start();
    await send({ request: { subject: 'Hi\r\nBcc: eve@example.net' } });
    expect(sink.mails[0]?.email.bcc).toBeUndefined();
    expect(sink.mails[0]?.email.subject).toBe('Hi Bcc: eve@example.net');
    await send({ recipient: 'ada@example.org, eve@example.net' });
    expect(sink.mails.flatMap(({ to }) => to)).not.toContain('eve@example.net');
  });

  it('goes over one connection after another mail, with one login', async () => {
    await start();
    for (let i = 0; i < 5; i++) await send();
    expect(sink.mails).toHaveLength(5);
    expect(sink.connections()).toBe(1);
    expect(sink.logins).toHaveLength(1);
  });

  it('never goes over a connection of other settings', async () => {
    await start();
    await send({}, { user: 'one' });
    await send({}, { user: 'two' });
    await send({}, { user: 'two' }, 'another password');
    await send({ tenantId: 'tnt_2' as never }, { user: 'two' });
    expect(sink.mails.map(({ user }) => user)).toEqual(['one', 'two', 'two', 'two']);
    expect(sink.connections()).toBe(4);
  });

  it('goes over a new connection when the server has closed the kept one', async () => {
    await start();
    await send();
    sink.disconnectAll();
    expect(await send()).toMatchObject({ kind: 'delivered' });
    expect(sink.mails).toHaveLength(2);
  });

  it('is not sent again by itself when the connection breaks after the mail was read', async () => {
    await start();
    await send();
    sink.hang();
    const outcome = send();
    await until(() => sink.held() === 1);
    sink.disconnectAll();
    expect(await outcome).toMatchObject({ kind: 'retryable', reason: { failureClass: 'network' } });
    expect(sink.connections()).toBe(1);
  });

  it('goes over a connection again after a recipient was refused on it', async () => {
    await start();
    sink.refuse({ at: 'recipient', code: 550, message: 'No such user' });
    expect(await send()).toMatchObject({ kind: 'rejected', reason: { failureClass: 'recipient', code: '550' } });
    sink.refuse(null);
    expect(await send()).toMatchObject({ kind: 'delivered' });
  });

  it('ends for all at once when its recipient is refused, whoever else is taken: a further try sends no copy twice', async () => {
    await start();
    sink.refuse({ at: 'recipient', of: 'ada@example.org', code: 550, message: 'No such user' });
    const request = { cc: ['cy@example.org'], bcc: ['bo@example.org'] };
    expect(await send({ request })).toMatchObject({
      kind: 'rejected',
      reason: { failureClass: 'recipient', code: '550' },
    });
    sink.refuse({ at: 'recipient', of: 'cy@example.org', code: 450, message: 'greylisted' });
    expect(sink.mails).toEqual([]);
    expect(await send({ request })).toMatchObject({ kind: 'delivered' });
    expect(sink.mails.map(({ to }) => to)).toEqual([['ada@example.org', 'bo@example.org']]);
  });

  it.each([
    [['PIPELINING'], 'alone'],
    [[], 'alone'],
    [['PIPELINING'], 'with copies'],
    [[], 'with copies'],
  ])(
    'ends at once, class recipient, at a server (%j) that says 354 after it refused everybody, sent %s',
    async (extensions, how) => {
      const server = await startTakingServer(extensions);
      const settings = { apiKey: 'x', config: { ...sender, host: '127.0.0.1', port: server.port } };
      // No deadline cuts it: it ends by itself, or the test does.
      const context = contextOf(asEmail('smtp'), { settings }, new AbortController().signal);
      const request = how === 'alone' ? {} : { cc: ['cy@example.org'] };
      await start();
      expect(await smtp.send(aDelivery({ recipient: 'ada@example.org', request }), context)).toMatchObject({
        kind: 'rejected',
        reason: {
          failureClass: 'recipient',
          code: '550',
          message: expect.stringContaining('no such user ada@example.org'),
        },
      });
      await server.close();
    },
  );

  it('is the server’s, not the recipient’s, where it ends the session at a recipient', async () => {
    await start();
    const server = await startTakingServer([], '421 4.7.0 too busy for');
    expect(await send({}, { port: server.port })).toMatchObject({
      kind: 'retryable',
      reason: { failureClass: 'provider', code: '421' },
    });
    await server.close();
  });

  describe('at a server that replies without an end', () => {
    it.each([
      ['empty lines', '220 mx\r\n', '\r\n'],
      ['a greeting of more and more lines', '', '220-mx\r\n'],
      ['a line that never ends', '220 mx\r\n250-', 'a'],
    ])('%s: fails at once, and the connection is closed', async (_, greeting, endlessly) => {
      await start();
      const server = await startRawServer((socket) => {
        socket.write(greeting);
        writeEndlessly(socket, endlessly);
      });
      expect(await send({}, { port: server.port })).toMatchObject({
        kind: 'retryable',
        reason: { failureClass: 'network', code: 'ANSWER_TOO_LONG' },
      });
      await until(() => server.open() === 0, { what: 'the connection to be closed' });
      await server.close();
    });

    it('does not use a connection again on which the server went on between two mails', async () => {
      await start();
      const greeted: Socket[] = [];
      const server = await startRawServer((socket) => {
        greeted.push(socket);
        socket.write('220 mx\r\n');
        socket.on('data', (chunk: Buffer) => {
          const text = chunk.toString('latin1');
          if (text.startsWith('DATA')) socket.write('354 go on\r\n');
          else if (!text.includes('\r\n.\r\n') && !/^[A-Z]{4}/.test(text)) return;
          else socket.write('250 ok\r\n');
        });
      });
      const mail = () => send({}, { port: server.port, user: undefined });
      expect(await mail()).toMatchObject({ kind: 'delivered' });
      greeted[0]?.write('\r\n'.repeat(20_000));
      await until(() => server.open() === 0, { what: 'the connection to be closed' });
      expect(await mail()).toMatchObject({ kind: 'delivered' });
      expect(greeted).toHaveLength(2);
      await server.close();
    });
  });

  it('does not compute with a prime that the server chooses, however long', async () => {
    await start();
    const dhe = { ciphers: 'DHE-RSA-AES128-GCM-SHA256', maxVersion: 'TLSv1.2', dhparam: 'auto' } as const;
    const key = { key: localhostRsaKey, cert: localhostRsaCertificate };
    const server = await startRawServer((socket) => void socket.write('220 mx\r\n'), { ...key, ...dhe });
    expect(await send({}, { port: server.port, secure: true })).toMatchObject({
      kind: 'retryable',
      reason: { failureClass: 'network', message: expect.stringMatching(/handshake failure/i) },
    });
    await server.close();
  });

  it.each(['before it is asked where it leads', 'while that is looked up'])(
    'fails at once on a connection that was reset %s',
    async (when) => {
      await start();
      let opened: Socket | null = null;
      const reset: Outbound = {
        ...outbound,
        async connect(to) {
          opened = await outbound.connect(to);
          return when.startsWith('before') ? opened.destroy() : opened;
        },
        isAllowListed: () => Promise.resolve(opened?.destroy() !== undefined),
      };
      smtp = createProviderRegistry({ outbound: reset, clock: wallClock, providerUrls: {} }).find(
        'EMAIL',
        'smtp',
      ) as Provider;
      expect(await send()).toMatchObject({
        kind: 'retryable',
        reason: { failureClass: 'network', code: 'ECONNRESET' },
      });
    },
  );

  it('closes a connection for whose TLS there was no turn', async () => {
    await start();
    const server = await startRawServer((socket) => void socket.write('220 mx\r\n'));
    const none = new OutboundError('network', 'ETIMEDOUT', 'no turn');
    const withoutTurn: Outbound = { ...outbound, takeHandshake: (_, __, refuse) => refuse(none) };
    const found = createProviderRegistry({ outbound: withoutTurn, clock: wallClock, providerUrls: {} });
    smtp = found.find('EMAIL', 'smtp') as Provider;
    expect(await send({}, { port: server.port, secure: true })).toMatchObject({
      kind: 'retryable',
      reason: { failureClass: 'network', code: 'ETIMEDOUT', message: 'no turn' },
    });
    await until(() => server.open() === 0, { timeoutMs: 3_000, what: 'the connection to be closed' });
    await server.close();
  });

  it('begins TLS after a rest where it has just failed, with STARTTLS and from the first byte', async () => {
    await start({ startTls: true });
    const greetings: number[] = [];
    const server = await startRawServer((socket) => {
      socket.once('data', () => {
        greetings.push(performance.now());
        socket.destroy();
      });
    });
    const failing = () => send({}, { port: server.port, secure: true });
    expect((await failing()).kind).toBe('retryable');
    expect((await failing()).kind).toBe('retryable');
    expect(greetings).toHaveLength(2);
    const [first = 0, second = 0] = greetings;
    expect(second - first).toBeGreaterThan(900);
    expect(await send()).toMatchObject({ kind: 'delivered' });
    expect(performance.now() - second).toBeGreaterThan(900);
    await server.close();
  });

  it('is encrypted when STARTTLS is offered, whoever signed the certificate of an exempt server', async () => {
    await start({ startTls: true });
    await send();
    expect(sink.mails[0]?.encrypted).toBe(true);
  });

  it('goes without a login to a server that offers none', async () => {
    await start({ withoutLogin: true });
    await send();
    expect(sink.mails[0]).toMatchObject({ user: null });
  });

  it('sends no password in the clear to a server that OUTBOUND_ALLOW does not name', async () => {
    await start();
    // It connects as to any public server: the guard is told so, the allow list is not.
    smtp = createProviderRegistry({
      outbound: { ...outbound, isAllowListed: () => Promise.resolve(false) },
      clock: wallClock,
      providerUrls: {},
    }).find('EMAIL', 'smtp') as Provider;
    expect(await send()).toMatchObject({ kind: 'rejected', reason: { failureClass: 'credentials' } });
    expect(sink.logins).toEqual([]);
  });

  it('trusts no certificate of its own making from such a server', async () => {
    await start({ startTls: true });
    smtp = createProviderRegistry({
      outbound: { ...outbound, isAllowListed: () => Promise.resolve(false) },
      clock: wallClock,
      providerUrls: {},
    }).find('EMAIL', 'smtp') as Provider;
    const outcome = await send();
    expect(outcome).toMatchObject({ kind: 'retryable', reason: { failureClass: 'network' } });
    expect(JSON.stringify(outcome)).toContain('certificate');
    expect(sink.logins).toEqual([]);
  });

  it.each([
    [{ at: 'sender', code: 550, message: '5.1.8 bad sender' }, 'rejected', 'credentials'],
    [{ at: 'sender', code: 552, message: 'too large' }, 'rejected', 'content'],
    [{ at: 'recipient', code: 552, message: 'mailbox full' }, 'rejected', 'recipient'],
    // The login is at fault, or that there is none: nobody elsewhere gets anything.
    [{ at: 'recipient', code: 554, message: '5.7.1 <a@b.c>: Relay access denied' }, 'rejected', 'credentials'],
    [{ at: 'recipient', code: 454, message: '4.7.1 <a@b.c>: Relay access denied' }, 'retryable', 'provider'],
    [{ at: 'recipient', code: 550, message: 'relay not permitted' }, 'rejected', 'credentials'],
    [
      { at: 'recipient', code: 553, message: '5.7.1 <a@b.c>: Sender address rejected: not owned by user x' },
      'rejected',
      'credentials',
    ],
    [
      { at: 'recipient', code: 450, message: '4.1.8 <a@b.c>: Sender address rejected: Domain not found' },
      'retryable',
      'provider',
    ],
    [
      { at: 'recipient', code: 554, message: '5.7.1 <unknown[203.0.113.7]>: Client host rejected: Access denied' },
      'rejected',
      'credentials',
    ],
    [
      { at: 'recipient', code: 554, message: '5.7.1 Service unavailable; Client host [203.0.113.7] blocked using x' },
      'rejected',
      'credentials',
    ],
    [
      { at: 'recipient', code: 450, message: '4.7.1 <mx.b.c>: Helo command rejected: Host not found' },
      'retryable',
      'provider',
    ],
    [
      {
        at: 'recipient',
        code: 550,
        message:
          '5.1.1 <a@b.c>: Recipient address rejected: undeliverable address: host mx.b.c said: 554 Relay access denied',
      },
      'rejected',
      'recipient',
    ],
    [{ at: 'recipient', code: 554, message: '5.7.1 <a@b.c>: Recipient address rejected: no' }, 'rejected', 'recipient'],
    [{ at: 'recipient', code: 450, message: 'greylisted' }, 'retryable', 'recipient'],
    [{ at: 'recipient', code: 450, message: '4.1.2 [10.4.3.2] domain not found' }, 'retryable', 'recipient'],
    [{ at: 'recipient', code: 452, message: '4.2.2 over quota' }, 'retryable', 'recipient'],
    [{ at: 'recipient', code: 451, message: '4.3.0 lookup failed' }, 'retryable', 'provider'],
    [{ at: 'sender', code: 450, message: '4.1.8 domain not found' }, 'retryable', 'provider'],
    [{ at: 'data', code: 552, message: 'too large' }, 'rejected', 'content'],
    [{ at: 'data', code: 554, message: 'looks like spam' }, 'rejected', 'content'],
    [{ at: 'login', code: 454, message: 'try later' }, 'retryable', 'provider'],
  ] as const)('refused by %j is %s, class %s', async (refusal, kind, failureClass) => {
    await start();
    sink.refuse(refusal);
    expect(await send()).toMatchObject({ kind, reason: { failureClass, code: String(refusal.code) } });
  });

  it.each([
    ['554 mx.example.org No SMTP service here\r\n', '554'],
    ['521 mx.example.org does not accept mail now\r\n', '521'],
    ['220 mx\r\n550 5.7.1 Access denied\r\n', '550'],
  ])('is tried again at a server that refuses the session: %j', async (replies, code) => {
    await start();
    const server = await startRawServer((socket) => {
      const [greeting = '', ...answers] = replies.split(/(?<=\n)/);
      socket.write(greeting);
      // EHLO, then HELO.
      socket.on('data', () => socket.write(answers[0] ?? '503 no\r\n'));
    });
    expect(await send({}, { port: server.port })).toMatchObject({
      kind: 'retryable',
      reason: { failureClass: 'provider', code },
    });
    await server.close();
  });

  it('leaves no connection behind when it is cut off', async () => {
    await start();
    sink.hang();
    const settings = { apiKey: 'x', config: { ...sender, host: '127.0.0.1', port: sink.port } };
    const context = contextOf(asEmail('smtp'), { settings }, AbortSignal.timeout(100));
    expect(await smtp.send(aDelivery({ recipient: 'ada@example.org' }), context)).toMatchObject({ kind: 'retryable' });
    await until(() => sink.open() === 0, { what: 'the connection to be closed' });
  });
});

describe('a mail by an HTTP API', () => {
  let sink: HttpSink;
  let answer = '';

  beforeEach(async () => {
    sink = await startHttpSink({ respond: (_, response) => response.end(answer) });
  });
  afterEach(async () => {
    await outbound.close();
    await sink.close();
  });

  it('goes to Resend with an Idempotency-Key that is the same on every try of a round', async () => {
    answer = '{"id":"1"}';
    const settings = { apiKey: 're_123', config: sender };
    for (const round of [1, 2]) {
      const context = contextOf(asEmail('resend'), { settings }, AbortSignal.timeout(5_000));
      const delivery = aDelivery({
        recipient: 'ada@example.org',
        round,
        request: {
          bodyFormat: 'html',
          body: '<p>x',
          replyTo: 'r@example.org',
          cc: ['c@example.org'],
          bcc: ['d@example.org'],
        },
      });
      await provider('resend', { resend: `${sink.url}/` }).send(delivery, context);
    }
    const [first, second] = sink.requests;
    expect(first).toMatchObject({ method: 'POST', path: '/emails' });
    expect(first?.headers).toMatchObject({
      authorization: 'Bearer re_123',
      'idempotency-key': 'notif_0abcdefghjkmnpqrstvwxyz012',
    });
    expect(second?.headers['idempotency-key']).toBe('notif_0abcdefghjkmnpqrstvwxyz012.2');
    expect(JSON.parse(first?.body ?? '')).toEqual({
      from: '"Åsa \\"Q\\" Öst" <noreply@example.com>',
      to: ['ada@example.org'],
      cc: ['c@example.org'],
      bcc: ['d@example.org'],
      reply_to: 'r@example.org',
      subject: 'Hello',
      text: 'x',
      html: '<p>x',
      tags: [{ name: 'notificationId', value: 'notif_0abcdefghjkmnpqrstvwxyz012' }],
    });
  });

  it('says to Resend how to unsubscribe, where it is to', async () => {
    answer = '{"id":"1"}';
    const context = contextOf(
      asEmail('resend'),
      { settings: { apiKey: 're_123', config: sender } },
      AbortSignal.timeout(5_000),
    );
    const unsubscribe = { url: 'https://herald.test/api/v1/unsubscribe/token' };
    for (const more of [{ unsubscribe }, {}])
      await provider('resend', { resend: sink.url }).send(
        aDelivery({ recipient: 'ada@example.org', ...more }),
        context,
      );
    expect(sink.requests.map(({ body }) => JSON.parse(body).headers)).toEqual([
      { 'List-Unsubscribe': `<${unsubscribe.url}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
      undefined,
    ]);
  });

  it('goes to Amazon SES signed, with the sender in ASCII', async () => {
    answer = '<SendEmailResponse><SendEmailResult><MessageId>m</MessageId></SendEmailResult></SendEmailResponse>';
    const config = { ...sender, region: 'eu-central-1', accessKeyId: 'AKIAIOSFODNN7EXAMPLE' };
    const context = contextOf(asEmail('ses'), { settings: { apiKey: 'k', config } }, AbortSignal.timeout(5_000));
    const delivery = aDelivery({ recipient: 'ada@example.org', request: { body: 'Grüße' } });
    expect(await provider('ses', { ses: sink.url }).send(delivery, context)).toMatchObject({ kind: 'delivered' });
    const [request] = sink.requests;
    expect(request?.headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE\/\d+\/eu-central-1\/ses/,
    );
    expect(request?.headers['x-amz-security-token']).toBeUndefined();
    const form = new URLSearchParams(request?.body);
    expect(form.get('Action')).toBe('SendEmail');
    expect(form.get('Source')).toBe(
      `=?UTF-8?B?${Buffer.from(sender.fromName).toString('base64')}?= <noreply@example.com>`,
    );
    expect(form.get('Destination.ToAddresses.member.1')).toBe('ada@example.org');
    expect(form.get('Message.Body.Text.Data')).toBe('Grüße');
    expect(form.get('Message.Body.Html.Data')).toBeNull();
    expect([...form.keys()].filter((name) => /Cc|Bcc|ReplyTo/.test(name))).toEqual([]);
  });

  it('goes by Amazon SES to its copies, with a text beside the HTML, and to international domains in ASCII', async () => {
    answer = '<SendEmailResponse><SendEmailResult><MessageId>m</MessageId></SendEmailResult></SendEmailResponse>';
    const config = { ...sender, region: 'eu-central-1', accessKeyId: 'AKIAIOSFODNN7EXAMPLE' };
    const context = contextOf(asEmail('ses'), { settings: { apiKey: 'k', config } }, AbortSignal.timeout(5_000));
    const request = { bodyFormat: 'html' as const, body: '<p>Grüße', replyTo: 'r@example.org', cc: ['c@example.org'] };
    const delivery = aDelivery({ recipient: 'ada@bücher.example', request: { ...request, bcc: ['d@example.org'] } });
    expect(await provider('ses', { ses: sink.url }).send(delivery, context)).toMatchObject({ kind: 'delivered' });
    expect(Object.fromEntries(new URLSearchParams(sink.requests[0]?.body))).toMatchObject({
      'Destination.ToAddresses.member.1': 'ada@xn--bcher-kva.example',
      'Destination.CcAddresses.member.1': 'c@example.org',
      'Destination.BccAddresses.member.1': 'd@example.org',
      'ReplyToAddresses.member.1': 'r@example.org',
      'Message.Body.Text.Data': 'Grüße',
      'Message.Body.Html.Data': '<p>Grüße',
    });
  });

  it('goes whole by Amazon SES where it says how to unsubscribe, to all of its recipients, the blind copies unnamed', async () => {
    answer =
      '<SendRawEmailResponse><SendRawEmailResult><MessageId>m</MessageId></SendRawEmailResult></SendRawEmailResponse>';
    const config = { ...sender, region: 'eu-central-1', accessKeyId: 'AKIAIOSFODNN7EXAMPLE' };
    const context = contextOf(asEmail('ses'), { settings: { apiKey: 'k', config } }, AbortSignal.timeout(5_000));
    const unsubscribe = { url: `https://herald.test/api/v1/unsubscribe/${'x'.repeat(400)}` };
    const request = { bodyFormat: 'html' as const, body: '<p>Grüße', cc: ['c@example.org'], bcc: ['d@example.org'] };
    const delivery = aDelivery({ recipient: 'ada@example.org', request, unsubscribe });
    const outcome = await provider('ses', { ses: sink.url }).send(delivery, context);
    expect(outcome).toEqual({ kind: 'delivered', messageId: 'm' });
    const form = new URLSearchParams(sink.requests[0]?.body);
    expect(Object.fromEntries(form)).toMatchObject({
      Action: 'SendRawEmail',
      'Destinations.member.1': 'ada@example.org',
      'Destinations.member.2': 'c@example.org',
      'Destinations.member.3': 'd@example.org',
    });
    const raw = Buffer.from(form.get('RawMessage.Data') ?? '', 'base64').toString('utf8');
    const mail = await PostalMime.parse(raw);
    expect(mail).toMatchObject({ from: { name: sender.fromName, address: sender.fromEmail }, subject: 'Hello' });
    expect([mail.html, mail.text?.trim()]).toEqual([expect.stringContaining('<p>Grüße'), 'Grüße']);
    expect(raw.split('\r\n')).toEqual(expect.arrayContaining(linesFor(unsubscribe.url)));
    expect(raw).not.toContain('d@example.org');
  });
});

describe('the settings of an email provider', () => {
  const problems = (name: string, config: unknown, apiKey = 'key') =>
    provider(name)
      .check({ apiKey, config })
      .map(({ path }) => path);

  it('name every field that is wrong', () => {
    expect(problems('resend', {})).toEqual(['config.fromName', 'config.fromEmail']);
    expect(problems('resend', { fromName: 'a\r\nBcc: x', fromEmail: 'nobody' })).toEqual([
      'config.fromName',
      'config.fromEmail',
    ]);
    expect(problems('resend', sender, 'with space')).toEqual(['apiKey']);
    expect(problems('smtp', { ...sender, host: 'a b', port: 0 })).toEqual(['config.host', 'config.port']);
    expect(problems('smtp', { ...sender, host: 'mail.example.com' })).toEqual([]);
    for (const heloName of ['mx.example.com', '[192.0.2.1]', '[IPv6:2001:db8::1]'])
      expect(problems('smtp', { ...sender, host: 'mail.example.com', heloName })).toEqual([]);
    for (const heloName of ['', 'localhost', 'a b.example', 'a.example\r\nMAIL FROM:<x>', 'a..b'])
      expect(problems('smtp', { ...sender, host: 'mail.example.com', heloName })).toEqual(['config.heloName']);
    expect(problems('postmark', { ...sender, replyTo: 'nobody' })).toEqual(['config.replyTo']);
    expect(problems('ses', { ...sender, region: 'evil.com/', accessKeyId: 'AKIA1234' })).toEqual(['config.region']);
  });

  it('are refused in words of our own', () => {
    const messages = provider('smtp')
      .check({ apiKey: 'key', config: { fromName: 1, fromEmail: 'shop@example.com', port: '587' } })
      .map(({ path, message }) => [path, message]);
    expect(messages).toContainEqual(['config.fromName', 'must be a string']);
    expect(messages).toContainEqual(['config.host', 'is required']);
    expect(messages.join('\n')).not.toContain('Invalid input');
  });
});
