// Signing in to the dashboard at an identity provider: an authorization code with PKCE, in the page itself and in a window of its own.

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Browser } from 'playwright-core';

import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import { launchChromium, openPage } from './support/chromium.ts';

/** Of the next sign-in; a second one is somebody's whose token has ended meanwhile. */
let tokens: string[] = [];
let app: App;
let browser: Browser;
/** The challenges of the codes that were given out. */
const asked = new Map<string, string>();
const refusedVerifiers: string[] = [];

/** As RFC 6749 and 7636 have it: one code for each request, given for the verifier of its challenge alone. */
const idp = createServer((request, response) => {
  const url = new URL(request.url ?? '', origin());
  if (url.pathname.endsWith('/.well-known/openid-configuration'))
    answer(response, 200, { authorization_endpoint: `${origin()}/authorize`, token_endpoint: `${origin()}/token` });
  else if (url.pathname === '/authorize') response.writeHead(302, { location: codeFor(url.searchParams) }).end();
  else void text(request).then((body) => answer(response, ...tokenFor(new URLSearchParams(body))));
});

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json', 'access-control-allow-origin': '*' });
  response.end(JSON.stringify(body));
}

/** Where the browser goes on to. */
function codeFor(query: URLSearchParams): string {
  const code = `code-${asked.size}`;
  asked.set(code, query.get('code_challenge') ?? '');
  const back = new URL(query.get('redirect_uri') ?? '');
  back.searchParams.set('code', code);
  back.searchParams.set('state', query.get('state') ?? '');
  return back.href;
}

function tokenFor(form: URLSearchParams): [status: number, body: unknown] {
  const code = form.get('code') ?? '';
  const challenge = asked.get(code);
  asked.delete(code);
  const verifier = form.get('code_verifier') ?? '';
  if (createHash('sha256').update(verifier).digest('base64url') === challenge)
    return [200, { access_token: tokens.shift(), token_type: 'Bearer' }];
  refusedVerifiers.push(verifier);
  return [400, { error: 'invalid_grant' }];
}

const origin = () => `http://127.0.0.1:${(idp.address() as AddressInfo).port}`;

beforeAll(async () => {
  await new Promise<void>((resolve) => idp.listen(0, '127.0.0.1', resolve));
  const signIn = {
    kind: 'issuer',
    issuer: `${origin()}/realm`,
    clientId: 'dashboard',
    scope: 'openid',
    audience: 'herald',
  } as const;
  app = await startApp({ options: { signIn } });
  browser = await launchChromium();
});
afterAll(async () => {
  await browser.close();
  await app.close();
  idp.close();
});

it('leads there and back to the page that was asked for, whose tenant is made when there is none; no token is kept', async () => {
  const { token } = await app.person('ada');
  tokens = [token];
  const { page, complaints, close } = await openPage(browser);
  await page.goto(`${app.url}/dashboard#/keys`);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('button', { name: 'Make my tenant' }).click();
  await page.getByRole('heading', { name: 'API keys' }).waitFor();
  expect(page.url()).toBe(`${app.url}/dashboard#/keys`);
  expect(await page.evaluate(() => JSON.stringify([sessionStorage, localStorage, document.cookie]))).not.toContain(
    token,
  );
  expect(refusedVerifiers).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

it('asks in a window of its own once the token has ended, and the page stays as it is', async () => {
  const first = await app.person('bo');
  await first.dashboard('POST', '/auth/provision-tenant');
  tokens = [first.token, (await app.person('bo')).token];
  const { page, close } = await openPage(browser);
  await page.goto(`${app.url}/dashboard#/keys`);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name').fill('kept');
  // The first token is refused from here on, as one that has ended is.
  let refused = 0;
  await page.route('**/api/v1/keys', (route) => {
    if (route.request().method() !== 'POST' || refused > 0) return route.continue();
    refused += 1;
    return route.fulfill({
      status: 401,
      json: { code: 'UNAUTHORIZED', error: 'The bearer token is not valid.', details: [], requestId: 'req_1' },
    });
  });
  await page.getByRole('button', { name: 'Make it' }).click();
  await page.getByRole('heading', { name: 'Your sign-in has ended' }).waitFor();
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'The key kept' }).waitFor();
  await close();
});

it.each([
  ['another tenant', (): Promise<{ readonly token: string }> => app.tenant('di')],
  ['whoever has no tenant yet', () => app.person('eve')],
])(
  'finishes nothing of what waits when %s signs in after the end, and begins anew without a trace',
  async (_, next) => {
    const former = await app.tenant('cy');
    await former.notify({ channel: 'IN_APP', recipient: 'of-the-former', subject: 'Hello', body: 'x' });
    const { token } = await next();
    tokens = [former.token, token];
    const { page, close } = await openPage(browser);
    await page.goto(`${app.url}/dashboard#/notifications`);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('of-the-former').first().click();
    const again = page.getByRole('button', { name: 'Send as a new one' });
    await again.waitFor();
    // The former token is refused from here on, as one that has ended is.
    const asked: string[] = [];
    await page.route('**/api/v1/**', (route) => {
      const request = route.request();
      if (request.headers()['authorization'] === `Bearer ${token}`) {
        asked.push(`${request.method()} ${new URL(request.url()).pathname}`);
        return route.continue();
      }
      return route.fulfill({
        status: 401,
        json: { code: 'UNAUTHORIZED', error: 'The bearer token is not valid.', details: [], requestId: 'req_1' },
      });
    });
    await again.click();
    await page.getByRole('heading', { name: 'Your sign-in has ended' }).waitFor();
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'Herald', level: 1 }).waitFor();
    expect(page.url()).toBe(`${app.url}/dashboard`);
    expect(await page.locator('body').innerText()).not.toContain('of-the-former');
    expect(asked).toEqual(['GET /api/v1/tenant']);
    await close();
  },
);

it('is never done by a link with a token, which anybody can make for somebody else', async () => {
  const { token } = await app.tenant('mallory');
  const { page, close } = await openPage(browser);
  await page.goto(`${app.url}/dashboard#token=${token}`);
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
  expect(page.url()).not.toContain('token');
  const victim = await app.tenant('victim');
  tokens = [victim.token];
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('link', { name: 'API keys' }).click();
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name').fill('kept');
  await page.evaluate((hash) => void (location.hash = hash), `token=${token}`);
  await page.waitForURL(`${app.url}/dashboard#/keys`);
  expect(await page.getByLabel('Name').inputValue()).toBe('kept');
  await close();
});

it('is refused with the identity provider’s own words', async () => {
  const { page, close } = await openPage(browser);
  await page.route(`${origin()}/authorize*`, (route) => {
    const query = new URL(route.request().url()).searchParams;
    const back = `${query.get('redirect_uri')}?error=access_denied&error_description=Not+today&state=${query.get('state')}`;
    return route.fulfill({ status: 302, headers: { location: back } });
  });
  await page.goto(`${app.url}/dashboard`);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('alert').getByText('The identity provider refused: Not today').waitFor();
  await close();
});
