// The dashboard's settings: who gets in, tenant, key, providers, templates.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SignJWT, UnsecuredJWT } from 'jose';

import { createTenantDirectory } from '../../src/adapters/memory/tenant-directory.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

let app: App;
let sink: HttpSink;
let tenant: Tenant;

beforeAll(async () => {
  app = await startApp();
  sink = await startHttpSink();
  tenant = await app.tenant('owner', { email: 'owner@example.com', name: 'Ada Shop' });
});

afterAll(async () => {
  await app.close();
  await sink.close();
});

const paths = (body: { details: { path: string }[] }) => body.details.map((detail) => detail.path);
const sender = { fromName: 'Shop', fromEmail: 'shop@example.com' };
const inApp = { channel: 'IN_APP', recipient: 'u', body: 'b' };

describe('a bearer token', () => {
  const withToken = (authorization: string) => app.call('GET', '/api/v1/tenant', { authorization });

  it('that is absent, malformed, expired, unsigned, of another issuer or for another audience gets 401', async () => {
    const expired = await app.tokens.token({ sub: 'owner', hours: -1 });
    const unsigned = new UnsecuredJWT({ sub: 'owner' }).setIssuer('https://issuer.test').setAudience('herald').encode();
    const hmac = (claims: { iss: string; aud: string }) =>
      new SignJWT({ sub: 'owner', ...claims })
        .setProtectedHeader({ alg: 'HS256' })
        .sign(new TextEncoder().encode('x'.repeat(32)));
    const tampered = `${tenant.token.slice(0, -4)}AAAA`;
    for (const header of ['', 'Basic YTpi', 'Bearer', 'Bearer a.b.c', 'Bearer x y'])
      expect((await withToken(header)).status).toBe(401);
    for (const token of [expired, unsigned, tampered, await hmac({ iss: 'https://issuer.test', aud: 'herald' })]) {
      const { status, headers, body } = await withToken(`Bearer ${token}`);
      expect(status).toBe(401);
      expect(body.code).toBe('UNAUTHORIZED');
      expect(headers.get('www-authenticate')).toBe('Bearer');
    }
  });

  it('in the query is taken by the stream alone', async () => {
    expect((await app.call('GET', `/api/v1/tenant?token=${tenant.token}`, {})).status).toBe(401);
  });

  it('of someone without a tenant gets 403 that names provision-tenant', async () => {
    const { dashboard } = await app.person('nobody-yet');
    for (const path of ['/tenant', '/providers', '/notifications', '/dashboard/stream']) {
      const { status, body } = await dashboard('GET', path);
      expect(status).toBe(403);
      expect(body).toMatchObject({ code: 'FORBIDDEN', error: expect.stringContaining('provision-tenant') });
    }
  });

  it('is checked before the body', async () => {
    const { status } = await app.call('POST', '/api/v1/providers', { 'content-type': 'text/plain' }, 'x');
    expect(status).toBe(401);
    expect((await tenant.dashboard('POST', '/providers', 'x', { 'content-type': 'text/plain' })).status).toBe(415);
  });
});

describe('a tenant', () => {
  it('is made once, however often and however parallel it is asked for', async () => {
    const { dashboard } = await app.person('eager', { email: 'eager@example.com' });
    const replies = await Promise.all(Array.from({ length: 5 }, () => dashboard('POST', '/auth/provision-tenant')));
    const [first] = replies;
    expect(first?.status).toBe(200);
    for (const { body } of replies) expect(body).toEqual(first?.body);
    const { tenantId, apiKey, tenant: made } = first?.body ?? {};
    expect(made).toEqual({
      id: tenantId,
      name: 'eager@example.com',
      email: 'eager@example.com',
      apiKey: expect.stringMatching(/^nk_[0-9A-Za-z]{38}$/),
      createdAt: expect.any(String),
    });
    expect(apiKey).toBe(`nk_••••••${made.apiKey.slice(-4)}`);
  });

  it('is shown with its key, its limits and its webhook secret', async () => {
    const { status, body } = await tenant.dashboard('GET', '/tenant');
    expect(status).toBe(200);
    expect(body).toEqual({
      id: tenant.id,
      name: 'Ada Shop',
      email: 'owner@example.com',
      apiKey: tenant.apiKey,
      createdAt: expect.stringMatching(/Z$/),
      limits: { requests: 100_000, windowSeconds: 10 },
      webhookSecret: expect.stringMatching(/^whsec_[0-9A-Za-z+/]{43}=$/),
    });
  });

  it('gets a new key; the old one ends at once, or after the grace period', async () => {
    const own = await app.tenant('careful');
    expect((await own.notify(inApp)).status).toBe(202);
    const { status, body } = await own.dashboard('POST', '/auth/regenerate-key');
    expect(status).toBe(200);
    expect((await own.notify(inApp)).status).toBe(401);
    const withNew = () => app.call('POST', '/api/v1/notify', { 'x-api-key': body.apiKey }, inApp);
    expect((await withNew()).status).toBe(202);
    expect((await own.dashboard('POST', '/auth/regenerate-key', { graceSeconds: 604_800 })).status).toBe(200);
    expect((await withNew()).status).toBe(202);
    for (const graceSeconds of [604_801, -1, 1.5, '1']) {
      expect(paths((await own.dashboard('POST', '/auth/regenerate-key', { graceSeconds })).body)).toEqual([
        'graceSeconds',
      ]);
    }
  });

  it('and the old one opens nothing any more, by whatever clock', async () => {
    const own = await app.tenant('clockless');
    expect((await own.dashboard('POST', '/auth/regenerate-key', { graceSeconds: 60 })).status).toBe(200);
    expect((await own.notify(inApp)).status).toBe(202);
    expect((await own.dashboard('POST', '/auth/regenerate-key')).status).toBe(200);
    const { settings: store, clock } = app.deps;
    const behind = { ...clock, now: () => clock.now() - 50_000 };
    const elsewhere = createTenantDirectory({ ...app.deps, store, clock: behind });
    await elsewhere.start();
    expect(await elsewhere.holderOfApiKey(own.apiKey)).toBeNull();
    await elsewhere.close();
  });
});

describe('a provider', () => {
  it('is saved, masked, kept by its mask, and never shown whole', async () => {
    const key = 're_0123456789abcdef';
    const saved = await tenant.dashboard('POST', '/providers', {
      channel: 'EMAIL',
      provider: 'resend',
      apiKey: key,
      config: sender,
    });
    expect(saved.status).toBe(200);
    expect(saved.body).toMatchObject({
      tenantId: tenant.id,
      channel: 'EMAIL',
      provider: 'resend',
      apiKey: 're_••••••cdef',
      config: sender,
      enabled: true,
    });
    const again = await tenant.dashboard('POST', '/providers', {
      ...saved.body,
      id: undefined,
      tenantId: undefined,
      createdAt: undefined,
      updatedAt: undefined,
      enabled: false,
    });
    expect(again.body).toMatchObject({ apiKey: 're_••••••cdef', enabled: false, createdAt: saved.body.createdAt });
    const listed = await tenant.dashboard('GET', '/providers');
    expect(listed.body).toContainEqual(again.body);
    expect(JSON.stringify(listed.body)).not.toContain(key);
    const stored = await app.deps.directory.provider(tenant.id as never, 'EMAIL');
    expect(stored?.apiKey).toBe(key);
    const off = await tenant.notify({ channel: 'EMAIL', recipient: 'a@example.com', subject: 's', body: 'b' });
    expect(off.status).toBe(422);
  });

  it.each([
    [{ channel: 'SMS', provider: 'twilio', apiKey: 'abc••••••wxyz', config: {} }, 'apiKey'],
    [{ channel: 'EMAIL', provider: 'smtp', apiKey: 're_••••••cdef', config: sender }, 'apiKey'],
    [{ channel: 'EMAIL', provider: 'pigeon', apiKey: 'x'.repeat(20), config: sender }, 'provider'],
    [
      { channel: 'EMAIL', provider: 'resend', apiKey: 're_0123456789abcdef', config: { fromName: 'Shop' } },
      'config.fromEmail',
    ],
    [
      { channel: 'EMAIL', provider: 'resend', apiKey: 're_0123456789abcdef', config: { ...sender, extra: 1 } },
      'config.extra',
    ],
    [{ channel: 'IN_APP', provider: 'inbox', apiKey: 'x'.repeat(20), config: {} }, 'channel'],
    [{ channel: 'EMAIL', provider: 'resend', config: sender }, 'apiKey'],
  ])('that is wrong is refused by name: %j', async (sent, path) => {
    const { status, body } = await tenant.dashboard('POST', '/providers', sent);
    expect(status).toBe(400);
    expect(paths(body)).toContain(path);
  });

  it.each([
    ['smtp', { host: 'mail.example.com', port: 2525, secure: false, user: 'shop' }],
    ['ses', { region: 'eu-central-1', accessKeyId: 'AKIAIOSFODNN7EXAMPLE' }],
    ['mailgun', { domain: 'mg.example.com', region: 'eu' }],
    ['sendgrid', { region: 'eu' }],
  ])('of %s keeps its masked key only for where it was given for', async (provider, config) => {
    const own = await app.tenant(`keeps-${provider}`);
    const save = (apiKey: string, changed: object) =>
      own.dashboard('POST', '/providers', {
        channel: 'EMAIL',
        provider,
        apiKey,
        config: { ...sender, ...config, ...changed },
      });
    const whole = 'key-0123456789abcdef';
    const { body, status } = await save(whole, {});
    expect(status).toBe(200);
    for (const [name, value] of Object.entries(config)) {
      const other =
        typeof value === 'string'
          ? value === 'eu'
            ? 'us'
            : `${value}x`
          : typeof value === 'number'
            ? value + 1
            : !value;
      const elsewhere = await save(body.apiKey, { [name]: other });
      expect([name, elsewhere.status, paths(elsewhere.body)]).toEqual([name, 400, ['apiKey']]);
      expect(elsewhere.body.error).toContain(`config.${name}`);
    }
    // What it had is untouched; who it is from may change.
    expect((await own.dashboard('GET', '/providers')).body[0]).toMatchObject({ config });
    expect((await save(body.apiKey, { fromName: 'Another name', maxPerSecond: 3 })).status).toBe(200);
    expect((await app.deps.directory.provider(own.id as never, 'EMAIL'))?.apiKey).toBe(whole);
  });

  it('for webhooks signs with the old secret too after a change', async () => {
    const save = (apiKey: string) =>
      tenant.dashboard('POST', '/providers', { channel: 'WEBHOOK', provider: 'custom', apiKey, config: {} });
    const former = async () => (await app.deps.directory.settings(tenant.id as never))?.formerSigners(Date.now());
    const { body } = await tenant.dashboard('GET', '/tenant');
    expect((await save('the first secret of the shop')).status).toBe(200);
    expect(await former()).toEqual([body.webhookSecret]);
    await save('the second secret of the shop');
    expect(await former()).toEqual(['the first secret of the shop', body.webhookSecret]);
    await save('the••••••shop');
    expect(await former()).toEqual(['the first secret of the shop', body.webhookSecret]);
  });

  it('is tested by one message that goes out at once', async () => {
    const test = (channel: string, body?: unknown) => tenant.dashboard('POST', `/providers/${channel}/test`, body);
    expect((await test('FAX')).status).toBe(400);
    expect((await test('SMS', { recipient: '+14155550123' })).body).toEqual({
      success: false,
      error: expect.stringContaining('SMS'),
    });
    expect((await test('WEBHOOK')).body).toEqual({ success: false, error: expect.stringContaining('recipient') });
    expect((await test('WEBHOOK', { recipient: 'https://10.0.0.1/' })).body).toEqual({
      success: false,
      error: expect.any(String),
    });
    expect((await test('WEBHOOK', { recipient: `${sink.url}/test` })).body).toEqual({ success: true });
    expect(sink.requests).toHaveLength(1);
  });

  it('is deleted once', async () => {
    const { status, body } = await tenant.dashboard('DELETE', '/providers/EMAIL');
    expect([status, typeof body.message]).toEqual([200, 'string']);
    expect((await tenant.dashboard('DELETE', '/providers/EMAIL')).status).toBe(404);
    expect((await tenant.dashboard('DELETE', '/providers/FAX')).status).toBe(404);
  });
});

describe('a template', () => {
  const template = { name: 'order.shipped', channel: 'EMAIL', subject: 'Hi {{ name }}', body: 'On its way' };

  it('is made, listed newest first, changed into a new version and deleted', async () => {
    const made = await tenant.dashboard('POST', '/templates', template);
    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      id: expect.stringMatching(/^tpl_/),
      ...template,
      strict: false,
      version: 1,
      createdAt: expect.any(String),
      updatedAt: made.body.createdAt,
    });
    await tenant.dashboard('POST', '/templates', { name: 'later', channel: 'SMS', body: 'b' });
    const listed = await tenant.dashboard('GET', '/templates');
    expect(listed.body.map((one: { name: string }) => one.name)).toEqual(['later', 'order.shipped']);
    const changed = await tenant.dashboard('PUT', `/templates/${made.body.id}`, {
      ...template,
      name: 'order.sent',
      body: 'Sent',
    });
    expect(changed.status).toBe(200);
    expect(changed.body).toMatchObject({
      id: made.body.id,
      name: 'order.sent',
      body: 'Sent',
      version: 2,
      createdAt: made.body.createdAt,
    });
    expect((await tenant.dashboard('DELETE', `/templates/${made.body.id}`)).status).toBe(200);
    expect((await tenant.dashboard('DELETE', `/templates/${made.body.id}`)).status).toBe(404);
    expect((await tenant.dashboard('PUT', `/templates/${made.body.id}`, template)).status).toBe(404);
  });

  it('of a name that is taken gets 409, made or renamed', async () => {
    const other = await tenant.dashboard('POST', '/templates', { ...template, name: 'taken' });
    const again = await tenant.dashboard('POST', '/templates', { ...template, name: 'taken' });
    expect([again.status, again.body.code]).toEqual([409, 'CONFLICT']);
    const { body } = await tenant.dashboard('POST', '/templates', { ...template, name: 'free' });
    expect((await tenant.dashboard('PUT', `/templates/${body.id}`, { ...template, name: 'taken' })).status).toBe(409);
    expect((await tenant.dashboard('PUT', `/templates/${other.body.id}`, { ...template, name: 'taken' })).status).toBe(
      200,
    );
  });

  it("of another tenant reads as none, and keeps to its own tenant's names", async () => {
    const { body } = await tenant.dashboard('POST', '/templates', { ...template, name: 'mine' });
    const other = await app.tenant('another');
    expect((await other.dashboard('PUT', `/templates/${body.id}`, template)).status).toBe(404);
    expect((await other.dashboard('DELETE', `/templates/${body.id}`)).status).toBe(404);
    expect((await other.dashboard('POST', '/templates', { ...template, name: 'mine' })).status).toBe(201);
  });

  it.each([
    [{ ...template, name: 'no spaces' }, 'name'],
    [{ ...template, name: 'x'.repeat(101) }, 'name'],
    [{ ...template, subject: undefined }, 'subject'],
    [{ ...template, subject: '' }, 'subject'],
    [{ ...template, subject: 'x'.repeat(999) }, 'subject'],
    [{ ...template, body: '' }, 'body'],
    [{ ...template, body: 'x'.repeat(200 * 1024 + 1) }, 'body'],
    [{ ...template, body: '{{ a b }}' }, 'body'],
    [{ ...template, version: 3 }, 'version'],
  ])('that is wrong is refused by name: %#', async (sent, path) => {
    const { status, body } = await tenant.dashboard('POST', '/templates', sent);
    expect(status).toBe(400);
    expect(paths(body)).toContain(path);
  });

  it('keeps its channel', async () => {
    const { body } = await tenant.dashboard('POST', '/templates', { ...template, name: 'steady' });
    const moved = await tenant.dashboard('PUT', `/templates/${body.id}`, {
      ...template,
      name: 'steady',
      channel: 'SMS',
    });
    expect(moved.status).toBe(400);
    expect(paths(moved.body)).toEqual(['channel']);
  });
});

describe('a page of another origin', () => {
  const preflight = (origin: string) =>
    app.call('OPTIONS', '/api/v1/templates', {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    });

  it('may call the dashboard routes when its origin is listed', async () => {
    const { status, headers } = await preflight('https://dashboard.test');
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-origin')).toBe('https://dashboard.test');
    expect(headers.get('access-control-allow-methods')).toContain('POST');
    expect(headers.get('access-control-allow-headers')).toContain('authorization');
    for (const name of ['traceparent', 'tracestate', 'baggage'])
      expect(headers.get('access-control-allow-headers')?.split(', ')).toContain(name);
    const unknown = await app.call('GET', '/api/v1/templats', { origin: 'https://dashboard.test' });
    expect([unknown.status, unknown.headers.get('access-control-allow-origin')]).toEqual([
      404,
      'https://dashboard.test',
    ]);
    const answer = await tenant.dashboard('GET', '/tenant', undefined, { origin: 'https://dashboard.test' });
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://dashboard.test');
    const refused = await app.call('GET', '/api/v1/tenant', { origin: 'https://dashboard.test' });
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([
      401,
      'https://dashboard.test',
    ]);
  });

  it('may not when it is not listed, and never calls the key routes', async () => {
    expect((await preflight('https://elsewhere.test')).headers.get('access-control-allow-origin')).toBeNull();
    const asked = { origin: 'https://dashboard.test' };
    for (const path of ['/notify/batch/none', '/notify/none'])
      expect(
        (await tenant.withKey('GET', path, undefined, asked)).headers.get('access-control-allow-origin'),
      ).toBeNull();
    // But an inbox, which a browser may ask for by a recipient's token.
    const { headers } = await tenant.withKey('GET', '/notify/inapp/u', undefined, asked);
    expect(headers.get('access-control-allow-origin')).toBe('https://dashboard.test');
  });
});

describe('the audit', () => {
  it('names who changed what, and holds no secret', async () => {
    const changes: unknown[] = [];
    const stop = app.deps.log.tail(['notifications.settings'], ({ event }) => changes.push(event));
    await tenant.dashboard('POST', '/providers', {
      channel: 'SMS',
      provider: 'twilio',
      apiKey: 'twilio-token-0123456789abcdef',
      config: { from: '+15005550006', accountSid: `AC${'0'.repeat(32)}` },
    });
    await tenant.dashboard('DELETE', '/providers/SMS');
    stop();
    expect(changes).toMatchObject([
      {
        type: 'SettingsChanged',
        tenantId: tenant.id,
        subject: 'provider',
        subjectId: 'SMS',
        action: 'created',
        actor: 'owner',
      },
      { type: 'SettingsChanged', subject: 'provider', action: 'deleted' },
    ]);
    expect(JSON.stringify(changes)).not.toContain('twilio-token');
  });
});

describe('the keys of the embedded issuer', () => {
  it('are served without their private parts', async () => {
    const { status, body } = await app.call('GET', '/.well-known/jwks.json', {});
    expect(status).toBe(200);
    expect(body.keys).toEqual([
      {
        kty: 'EC',
        crv: 'P-256',
        x: expect.any(String),
        y: expect.any(String),
        kid: expect.any(String),
        alg: 'ES256',
        use: 'sig',
      },
    ]);
  });
});
