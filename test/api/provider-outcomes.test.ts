// What a tenant sees of its providers' answers: the right status and class for each of them, and no secret in anything that is shown or logged.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { Behaviour } from '../contracts/provider.ts';
import { ownSecret } from '../contracts/provider.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { HttpStandIn } from '../support/stand-ins/http-stand-in.ts';
import { httpProviders } from '../support/stand-ins/http-providers.ts';
import { until } from '../support/until.ts';

const started = new Map<string, HttpStandIn>();
let app: App;

beforeAll(async () => {
  for (const { traits, start } of httpProviders) started.set(traits.name, await start());
  const urls = [...started.values()].map(({ providerUrls }) => providerUrls);
  app = await startApp({ providerUrls: Object.assign({}, ...urls), retryDelaysMs: [3_600_000] });
});

afterAll(async () => {
  await app.close();
  for (const standIn of started.values()) await standIn.close();
});

describe.each(httpProviders)('a notification by $traits.name', ({ traits }) => {
  const { channel, name } = traits;
  let standIn: HttpStandIn;
  let tenant: Awaited<ReturnType<App['tenant']>>;

  beforeAll(async () => {
    const found = started.get(name);
    if (found === undefined) throw new Error(name);
    standIn = found;
    tenant = await app.tenant(`tenant-of-${name}`, { email: 'owner@example.com' });
    const { status } = await tenant.dashboard('POST', '/providers', { channel, provider: name, ...standIn.settings });
    expect(status).toBe(200);
  });

  /** Sends one and waits for what became of its first attempt. */
  async function outcomeOf(behaviour: Behaviour, echo = '') {
    standIn.behave(behaviour, echo);
    const { recipient } = standIn;
    const { body: accepted } = await tenant.notify({ channel, recipient, subject: 'Hi', body: 'Hi Ada' });
    const shown = async () =>
      (await tenant.dashboard('GET', `/notifications/${accepted.notificationId}/attempts`)).body;
    await until(async () => (await shown()).attempts?.length > 0, { timeoutMs: 10_000, what: `an attempt by ${name}` });
    return shown();
  }

  it.each<readonly [Behaviour, string, string | null]>([
    ['success', 'DELIVERED', null],
    ['bad credentials', 'FAILED', 'credentials'],
    ['bad recipient', 'FAILED', 'recipient'],
    ['throttled', 'RETRYING', 'provider'],
    ['server error', 'RETRYING', 'provider'],
    ['malformed answer', 'RETRYING', 'provider'],
  ])('after %s is %s, class %s', async (behaviour, status, errorClass) => {
    const { notification, attempts } = await outcomeOf(behaviour);
    expect(notification).toMatchObject({ status, provider: name });
    expect(attempts).toMatchObject([{ provider: name, errorClass }]);
  });

  it('that fails with an answer full of secrets shows and logs none of them', async () => {
    const { body } = await tenant.dashboard('GET', '/tenant');
    const secrets = [...traits.echoes(standIn.settings), tenant.apiKey, body.webhookSecret];
    const { notification, attempts } = await outcomeOf('echo', `you sent ${secrets.join(' and ')}, did you not`);
    expect(notification.status).toBe('FAILED');
    expect(attempts[0].error).toContain('[secret]');
    const { body: saved } = await tenant.dashboard('GET', '/providers');
    const { body: tested } = await tenant.dashboard('POST', `/providers/${channel}/test`, testOf());
    expect(tested).toMatchObject({ success: false, error: expect.stringContaining('[secret]') });
    const seen = JSON.stringify([notification, attempts, saved, tested, app.lines]);
    for (const secret of [...secrets, ownSecret]) expect(seen).not.toContain(secret);
  });

  /** A mail goes to the tenant's own address. */
  const testOf = () => (channel === 'SMS' ? { recipient: standIn.recipient } : undefined);
});
