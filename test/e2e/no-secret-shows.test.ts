// Unique secrets are planted, and everything that goes wrong is made to go wrong: none of them shows in an answer, a log line, a metric or a file.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { embeddedOnly } from '../support/engine-set.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald, token } from '../support/herald.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import type { SmtpSink } from '../support/smtp-sink.ts';
import { startSmtpSink } from '../support/smtp-sink.ts';
import { until } from '../support/until.ts';

const unique = () => randomBytes(12).toString('hex');
const accountSid = `AC${'0'.repeat(31)}1`;
const planted = {
  encryptionSecret: `encryption-${unique()}-${unique()}`,
  smtpPassword: `smtp-${unique()}`,
  resendKey: `re_${unique()}`,
  sendgridKey: `SG.${unique()}`,
  twilioToken: unique() + unique().slice(0, 8),
  signingSecret: `whsec_${randomBytes(24).toString('base64')}`,
  unknownKey: `nk_unknown${unique()}`,
};
/** Those that the service makes itself; filled in as they come. */
const made: Record<string, string> = {};
const answers: string[] = [];
let dataDir: DataDir;
let receiver: HttpSink;
let mail: SmtpSink;
let service: Herald;
let metrics = '';

/** What whoever is connected to may have of them, and how it may look. */
function formsOf(secret: string): string[] {
  const inBase64 = (text: string) => Buffer.from(text).toString('base64');
  return [
    secret,
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    inBase64(secret),
    inBase64(`${accountSid}:${secret}`),
    inBase64(`\0shop\0${secret}`),
  ];
}

const allForms = () => [...new Set([...Object.values(planted), ...Object.values(made)].flatMap(formsOf))];

beforeAll(async () => {
  dataDir = await makeDataDir();
  mail = await startSmtpSink();
  // Whatever it was sent, as it came and decoded, and the tenant's own keys it says back, in the way that its path asks for.
  receiver = await startHttpSink({
    respond: (request, response) => {
      // A bearer token never reaches a receiver.
      const { bearer: _unknown, ...ownKeys } = made;
      const [, sent = ''] = (request.headers['authorization'] ?? '').split(' ');
      const known = [sent, Buffer.from(sent, 'base64').toString(), planted.signingSecret, ...Object.values(ownKeys)];
      const told = [...known, JSON.stringify(request.headers), request.body].join(' ');
      const status = request.path.includes('/later') ? 500 : 400;
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({
          code: 21211,
          name: 'validation_error',
          message: told,
          errors: [{ message: told }],
        }),
      );
    },
  });
  service = await startHerald(dataDir, {
    ENCRYPTION_SECRET: planted.encryptionSecret,
    OUTBOUND_ALLOW: '127.0.0.1/32',
    PROVIDER_URLS: JSON.stringify({ twilio: receiver.url, resend: receiver.url, sendgrid: receiver.url }),
    RETRY_DELAYS: '1s',
    LOG_LEVEL: 'debug',
  });
}, 90_000);

afterAll(async () => {
  await service.stop();
  await Promise.all([receiver.close(), mail.close()]);
  await dataDir.remove();
}, 30_000);

/** The answer's text counts as shown. */
async function shown(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const answer = await service.dashboard(method, path, body);
  answers.push(JSON.stringify(answer.body));
  return answer.body;
}

async function save(channel: string, provider: string, apiKey: string, config: object): Promise<void> {
  expect(await shown('POST', '/providers', { channel, provider, apiKey, config, enabled: true })).toMatchObject({
    provider,
  });
}

/** Sent, and failed for good. */
async function fails(notification: Record<string, unknown>): Promise<void> {
  const { body } = await service.notify({ subject: 'Hi', body: 'Hi Ada', ...notification });
  answers.push(JSON.stringify(body));
  const path = `/notifications/${String(body['notificationId'])}/attempts`;
  await until(
    async () => ((await shown('GET', path))['notification'] as { status: string } | undefined)?.status === 'FAILED',
    {
      timeoutMs: 30_000,
      everyMs: 200,
      what: `${String(notification['channel'])} to fail`,
    },
  );
}

describe('secrets', () => {
  it('are in no answer, log line or metric, whatever a provider says back', async () => {
    const bearer = await token(dataDir);
    made['bearer'] = bearer;
    made['apiKey'] = service.apiKey;
    const { body: key } = await service.dashboard('POST', '/keys', { name: 'shop', scopes: ['notify'] });
    made['namedKey'] = String(key['key']);
    const { body: tenant } = await service.dashboard('GET', '/tenant');
    made['webhookSecret'] = String(tenant['webhookSecret']);

    const sender = { fromName: 'Shop', fromEmail: 'shop@example.com' };
    await save('WEBHOOK', 'custom', planted.signingSecret, {});
    await save('SMS', 'twilio', planted.twilioToken, { accountSid, from: '+15005550006' });
    await fails({ channel: 'WEBHOOK', recipient: `${receiver.url}/hook` });
    await fails({ channel: 'WEBHOOK', recipient: `${receiver.url}/later` });
    await fails({ channel: 'SMS', recipient: '+4915112345678' });
    await shown('POST', '/providers/SMS/test', { recipient: '+4915112345678' });
    await shown('POST', '/providers/WEBHOOK/test', { recipient: `${receiver.url}/hook` });
    for (const [provider, secret] of [
      ['resend', planted.resendKey],
      ['sendgrid', planted.sendgridKey],
    ] as const) {
      await save('EMAIL', provider, secret, sender);
      await fails({ channel: 'EMAIL', recipient: 'ada@example.com' });
    }
    const smtp = { ...sender, host: '127.0.0.1', port: mail.port, secure: false, user: 'shop' };
    await save('EMAIL', 'smtp', planted.smtpPassword, smtp);
    mail.refuse({ at: 'login', code: 535, message: `no such login: shop ${planted.smtpPassword}` });
    await fails({ channel: 'EMAIL', recipient: 'ada@example.com' });
    mail.refuse({ at: 'recipient', code: 550, message: `unknown to ${formsOf(planted.smtpPassword).join(' ')}` });
    await fails({ channel: 'EMAIL', recipient: 'ada@example.com' });

    for (const headers of [
      { 'x-api-key': planted.unknownKey },
      { authorization: `Bearer ${bearer}x` },
      { authorization: bearer },
    ] as Record<string, string>[])
      for (const path of ['/api/v1/notify', '/api/v1/providers', '/api/v1/dashboard/stream'])
        answers.push(JSON.stringify((await service.call('POST', path, { headers, body: {} })).body));
    for (const path of ['/providers', '/notifications?limit=100', '/keys', '/templates', '/dashboard/stats'])
      await shown('GET', path);
    const { body: regenerated } = await service.dashboard('POST', '/auth/regenerate-key', {});
    made['regenerated'] = String(regenerated['apiKey']);
    metrics = await (await fetch(`${service.operationsUrl}/metrics`)).text();

    // The receiver did get them, and what it said is there without them.
    expect(receiver.requests.length).toBeGreaterThan(5);
    expect(answers.join('\n')).toContain('[secret]');
    const everything = [...answers, service.logs(), metrics].join('\n');
    expect(everything.length).toBeGreaterThan(10_000);
    expect(allForms().filter((form) => everything.includes(form))).toEqual([]);
  }, 120_000);

  embeddedOnly('are nowhere in the data folder but sealed', async () => {
    await service.stop();
    const files = (await readdir(dataDir.path, { recursive: true, withFileTypes: true })).filter((file) =>
      file.isFile(),
    );
    const names = files.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['log.db', 'settings.db', 'views.db']));
    for (const file of files) {
      const bytes = await readFile(join(file.parentPath, file.name));
      const found = allForms().filter((form) => bytes.includes(form));
      expect({ file: file.name, found }).toEqual({ file: file.name, found: [] });
    }
  });
});
