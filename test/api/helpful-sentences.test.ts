// What a refusal says to whoever sent the right thing in a wrong way: where it goes, what is missing, what was meant; never what was sent.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { App, Reply } from '../support/app.ts';
import { startApp } from '../support/app.ts';

let app: App;
let tenant: Awaited<ReturnType<App['tenant']>>;

beforeAll(async () => {
  app = await startApp({ delivers: false });
  tenant = await app.tenant('owner', { email: 'owner@example.com' });
});

afterAll(() => app.close());

const inApp = { channel: 'IN_APP', recipient: 'ada', body: 'Hello' };
const json = { 'content-type': 'application/json' };

function send(headers: Readonly<Record<string, string>>, body: unknown = inApp): Promise<Reply> {
  return app.call(
    'POST',
    '/api/v1/notify',
    { ...json, ...headers },
    typeof body === 'string' ? body : JSON.stringify(body),
  );
}

const refused = (status: number, error: RegExp) => ({
  status,
  body: { error: expect.stringMatching(error), details: expect.anything(), requestId: expect.stringMatching(/^req_/) },
});

describe('an API key in the place of a bearer token', () => {
  it('is told to go into x-api-key, however it came', async () => {
    const inBasic = `Basic ${Buffer.from(`${tenant.apiKey}:`).toString('base64')}`;
    for (const authorization of [`Bearer ${tenant.apiKey}`, `bearer  ${tenant.apiKey}`, tenant.apiKey, inBasic]) {
      expect(await send({ authorization })).toMatchObject(
        refused(401, /in the header x-api-key, not as a bearer token/),
      );
      for (const path of ['/notifications', '/templates', '/tenant', '/dashboard/stream']) {
        const answer = await app.call('GET', `/api/v1${path}`, { authorization });
        expect(answer).toMatchObject(refused(401, /is an API key: it goes into the header x-api-key/));
        expect(JSON.stringify(answer.body)).not.toContain(tenant.apiKey);
      }
    }
    const inQuery = await app.call('GET', `/api/v1/dashboard/stream?token=${tenant.apiKey}`, {});
    expect(inQuery).toMatchObject(refused(401, /is an API key/));
  });

  it('on an address that takes no key at all is told so', async () => {
    const answer = await tenant.withKey('GET', '/tenant');
    expect(answer).toMatchObject(refused(401, /takes a bearer token in the header Authorization, no API key/));
  });
});

describe('a bearer token in the place of an API key', () => {
  it('is told what the address takes, and where the key is shown', async () => {
    const asKey = await send({ 'x-api-key': tenant.token });
    expect(asKey).toMatchObject(
      refused(401, /is a bearer token.+A key begins with nk_; GET \/api\/v1\/tenant shows it/),
    );
    expect(JSON.stringify(asKey.body)).not.toContain(tenant.token);
    const asToken = await send({ authorization: `Bearer ${tenant.token}` });
    expect(asToken).toMatchObject(refused(401, /takes an API key in the header x-api-key, no bearer token/));
    const read = await app.call('GET', '/api/v1/notifications', { 'x-api-key': tenant.token });
    expect(read).toMatchObject(refused(401, /Authorization: Bearer <token>/));
  });
});

it('a masked key is told where it is shown whole', async () => {
  const masked = Buffer.from('nk_••••••abcd').toString('latin1');
  expect(await send({ 'x-api-key': masked })).toMatchObject(refused(401, /is masked. GET \/api\/v1\/tenant/));
});

it('a main key on what the dashboard reads is told which scope is missing and how to make a key that has it', async () => {
  const answer = await tenant.withKey('GET', '/notifications');
  expect(answer).toMatchObject(refused(403, /lacks the scope that this call takes: read\. POST \/api\/v1\/keys/));
  const [, body = ''] = /(\{.+\})/.exec(answer.body.error) ?? [];
  const made = await tenant.dashboard('POST', '/keys', JSON.parse(body));
  expect(made.status).toBe(201);
  expect((await app.call('GET', '/api/v1/notifications', { 'x-api-key': made.body.key })).status).toBe(200);
});

describe('a body', () => {
  it('that is no JSON is told the place and what should stand there, not what it holds', async () => {
    const text = '{\n  "channel": "IN_APP",\n  "body": "s3cret-code"\n  "recipient": "ada"\n}';
    const answer = await send({ 'x-api-key': tenant.apiKey }, text);
    expect(answer).toMatchObject(
      refused(400, /^The body is not valid JSON at line 4, column 3: a comma or \} should stand here\.$/),
    );
    expect(JSON.stringify(answer.body)).not.toContain('s3cret');
    const settings = await app.call(
      'POST',
      '/api/v1/templates',
      { ...json, authorization: `Bearer ${tenant.token}` },
      "{'name':1}",
    );
    expect(settings).toMatchObject(refused(400, /at line 1, column 2: .+no single ones/));
  });

  it.each([
    [
      { 'content-type': 'application/x-www-form-urlencoded' },
      /came as a form: to curl's -d belongs -H 'content-type: application\/json'/,
    ],
    [{ 'content-type': 'text/plain;charset=UTF-8' }, /came as text\/plain\./],
    [{ 'content-type': 'application/json; charset=utf-16' }, /in another character set/],
    [{ 'content-type': '<script>' }, /in UTF-8\.$/],
  ])('of another type is told which one is wanted and which one came: %j', async (headers, error) => {
    expect(await send({ 'x-api-key': tenant.apiKey, ...headers })).toMatchObject(refused(415, error));
  });

  it('without a type is told so', async () => {
    const headers = { 'x-api-key': tenant.apiKey };
    const answer = await app.call('POST', '/api/v1/notify', headers, new TextEncoder().encode('{}'));
    expect(answer).toMatchObject(refused(415, /without a content-type/));
  });
});

describe('a name that is nearly right', () => {
  it.each([
    [{ ...inApp, channel: 'in-app' }, 'channel', 'must be one of EMAIL, SMS, WEBHOOK, IN_APP; did you mean IN_APP?'],
    [{ ...inApp, channel: 'push' }, 'channel', 'must be one of EMAIL, SMS, WEBHOOK, IN_APP'],
    [{ ...inApp, priority: 'high' }, 'priority', 'must be one of HIGH, DEFAULT, BULK; did you mean HIGH?'],
    [{ ...inApp, metadta: {} }, 'metadta', 'is not a known field; did you mean metadata?'],
    [{ ...inApp, colour: 1 }, 'colour', 'is not a known field'],
  ])('%j', async (body, path, message) => {
    const answer = await tenant.notify(body);
    expect(answer.body.details).toEqual([{ path, message }]);
  });

  it('is told in queries and paths too', async () => {
    const value = await tenant.dashboard('GET', '/notifications?channel=email');
    expect(value.body.error).toContain('did you mean EMAIL?');
    const name = await tenant.dashboard('GET', '/notifications?statsu=FAILED');
    expect(name.body.error).toContain('did you mean status?');
    const tested = await tenant.dashboard('POST', '/providers/e-mails/test');
    expect(tested.body.error).toContain('did you mean EMAIL?');
  });
});

it('a method that an address does not take is told which it takes, an unknown address where all of them are', async () => {
  const posted = await tenant.dashboard('POST', '/notifications', {});
  expect(posted).toMatchObject(refused(405, /^This address takes GET, HEAD\.$/));
  expect(posted.headers.get('allow')).toBe('GET, HEAD');
  expect(await tenant.dashboard('GET', '/notification')).toMatchObject(refused(404, /\/docs/));
});
