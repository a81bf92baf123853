// The files of the dashboard, as a browser is given them: compressed, kept as long as they hold, under a policy that lets nothing in.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { request } from 'undici';

import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';

let app: App;

beforeAll(async () => {
  app = await startApp({ delivers: false, folds: false, runsJobs: false });
});
afterAll(() => app.close());

/** fetch would unpack the answer. */
async function packed(path: string, encoding: string) {
  const { statusCode, headers, body } = await request(app.url + path, { headers: { 'accept-encoding': encoding } });
  return { status: statusCode, headers, bytes: Buffer.from(await body.arrayBuffer()) };
}

describe('the inbox for other pages', () => {
  it('is loaded by pages of any origin, by a name that stays, and kept for minutes', async () => {
    for (const [path, type] of [
      ['/inbox.js', 'text/javascript; charset=utf-8'],
      ['/inbox.d.ts', 'text/plain; charset=utf-8'],
    ] as const) {
      const { status, headers } = await app.call('GET', path, { origin: 'https://shop.test' });
      expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
        200,
        type,
        'public, max-age=300',
      ]);
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin');
      const br = await packed(path, 'br');
      expect([br.headers['content-encoding'], br.headers['vary']]).toEqual(['br', 'accept-encoding']);
      expect(br.bytes.length).toBeLessThanOrEqual(15_000);
      expect((await app.call('POST', path, {}, {})).status).toBe(405);
    }
  });
});

describe('the dashboard', () => {
  it('is one page whose policy lets in nothing that is inline or from elsewhere', async () => {
    const { status, headers, body } = await app.call('GET', '/dashboard', {});
    expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
      200,
      'text/html; charset=utf-8',
      'no-cache',
    ]);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|http|\*/);
    expect(String(body)).not.toMatch(/<script(?![^>]*\bsrc=)|style=|https?:\/\//);
  });

  it('names its files by what is in them, so that they are kept for a year, and packs them', async () => {
    const { body } = await app.call('GET', '/dashboard', {});
    const names = [...String(body).matchAll(/(?:src|href)="(dashboard\/assets\/[^"]+)"/g)].map(([, name = '']) => name);
    expect(names.length).toBeGreaterThanOrEqual(3);
    for (const name of names) {
      const plain = await packed(`/${name}`, 'identity');
      expect([plain.status, plain.headers['cache-control'], plain.headers['vary']]).toEqual([
        200,
        'public, max-age=31536000, immutable',
        'accept-encoding',
      ]);
      const br = await packed(`/${name}`, 'gzip, br');
      const gzip = await packed(`/${name}`, 'gzip');
      expect([br.headers['content-encoding'], gzip.headers['content-encoding']]).toEqual(['br', 'gzip']);
      expect(brotliDecompressSync(br.bytes).equals(plain.bytes)).toBe(true);
      expect(gunzipSync(gzip.bytes).equals(plain.bytes)).toBe(true);
    }
  });

  it('shows content in a frame that runs nothing, even when it is opened by itself', async () => {
    const { headers } = await app.call('GET', '/dashboard/content', {});
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain('sandbox allow-same-origin');
    expect(policy).not.toMatch(/allow-scripts|script-src/);
  });

  it('says how people sign in, and lets the page speak to the identity provider and nobody else', async () => {
    const issuer = 'https://id.example/realms/acme';
    const signIn = { kind: 'issuer', issuer, clientId: 'dash', scope: 'openid', audience: 'herald' } as const;
    const other = await startApp({ delivers: false, folds: false, runsJobs: false, options: { signIn } });
    try {
      expect((await other.call('GET', '/dashboard/sign-in.json', {})).body).toEqual(signIn);
      const { headers } = await other.call('GET', '/dashboard', {});
      expect(headers.get('content-security-policy')).toContain("connect-src 'self' https://id.example;");
    } finally {
      await other.close();
    }
  });

  it('takes no other method, leads from an address with a slash to the page, and has no other files', async () => {
    expect((await app.call('POST', '/dashboard', {}, {})).status).toBe(405);
    const slash = await request(`${app.url}/dashboard/`);
    expect([slash.statusCode, slash.headers.location]).toEqual([308, '../dashboard']);
    expect((await app.call('GET', '/dashboard/assets/none.js', {})).status).toBe(404);
    expect((await app.call('GET', '/dashboard/assets/..%2f..%2fpackage.json', {})).status).toBe(404);
  });
});
