// GET /providers/catalog: what a dashboard draws its form from.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

let app: App;
let tenant: Tenant;

beforeAll(async () => {
  app = await startApp({ delivers: false });
  tenant = await app.tenant('catalog-reader');
});
afterAll(() => app.close());

describe('the catalog of providers', () => {
  it('has every channel, its providers by name, and whether one is needed', async () => {
    const { status, body } = await tenant.dashboard('GET', '/providers/catalog');
    expect(status).toBe(200);
    const shown = body.map(
      ({ channel, required, providers }: { channel: string; required: boolean; providers: [] }) => [
        channel,
        required,
        providers.map(({ name }) => name),
      ],
    );
    expect(shown).toEqual([
      ['EMAIL', true, ['smtp', 'resend', 'ses', 'sendgrid', 'postmark', 'mailgun']],
      ['SMS', true, ['twilio', 'vonage', 'messagebird', 'sns', 'plivo']],
      ['WEBHOOK', false, ['custom']],
      ['IN_APP', false, []],
    ]);
  });

  it('has the fields of each, with all that a form needs', async () => {
    const { body } = await tenant.dashboard('GET', '/providers/catalog');
    const [{ providers }] = body;
    const mailgun = providers.find(({ name }: { name: string }) => name === 'mailgun');
    const text = { type: 'text', required: true, default: null, choices: null, min: null, max: null };
    expect(mailgun).toEqual({
      name: 'mailgun',
      label: 'Mailgun',
      help: null,
      fields: [
        {
          ...text,
          name: 'apiKey',
          path: 'apiKey',
          label: 'API key',
          type: 'secret',
          help: 'A sending key of the domain, or a key of the account.',
        },
        { ...text, name: 'fromName', path: 'config.fromName', label: 'From name', help: expect.any(String) },
        {
          ...text,
          name: 'fromEmail',
          path: 'config.fromEmail',
          label: 'From email',
          type: 'email',
          help: expect.any(String),
        },
        {
          ...text,
          name: 'replyTo',
          path: 'config.replyTo',
          label: 'Reply to',
          type: 'email',
          required: false,
          help: expect.any(String),
        },
        {
          ...text,
          name: 'unsubscribeUrl',
          path: 'config.unsubscribeUrl',
          label: 'Unsubscribe URL',
          required: false,
          help: expect.any(String),
        },
        { ...text, name: 'domain', path: 'config.domain', label: 'Domain', help: expect.any(String) },
        {
          ...text,
          name: 'region',
          path: 'config.region',
          label: 'Region',
          type: 'choice',
          required: false,
          default: 'us',
          choices: ['us', 'eu'],
          help: 'Where the domain was set up.',
        },
        {
          ...text,
          name: 'maxPerSecond',
          path: 'config.maxPerSecond',
          label: 'Max per second',
          type: 'integer',
          required: false,
          min: 1,
          max: 10_000,
          help: expect.any(String),
        },
        {
          ...text,
          name: 'callbackSecret',
          path: 'callbackSecret',
          label: 'Webhook signing key',
          type: 'secret',
          required: false,
          help: expect.any(String),
        },
      ],
    });
  });

  it('names fields as a refused save names them', async () => {
    const saved = await tenant.dashboard('POST', '/providers', {
      channel: 'EMAIL',
      provider: 'mailgun',
      apiKey: 'key-0123456789',
      config: { fromName: 'Shop', fromEmail: 'shop@example.com' },
    });
    expect(saved.status).toBe(400);
    expect(saved.body.details.map(({ path }: { path: string }) => path)).toEqual(['config.domain']);
  });

  it('is for people with a tenant, and only to be read', async () => {
    expect((await app.call('GET', '/api/v1/providers/catalog', {})).status).toBe(401);
    const { dashboard } = await app.person('without-a-tenant');
    expect((await dashboard('GET', '/providers/catalog')).status).toBe(403);
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const { status, headers } = await tenant.dashboard(method, '/providers/catalog');
      expect([method, status, headers.get('allow')]).toEqual([method, 405, 'GET, HEAD']);
    }
  });

  it('is there under /v1, too', async () => {
    const { status, body } = await app.call('GET', '/v1/providers/catalog', {
      authorization: `Bearer ${tenant.token}`,
    });
    expect([status, body.length]).toEqual([200, 4]);
  });
});
