// `/`: what a person or a program finds who knows the address alone.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';

let app: App;

beforeAll(async () => {
  app = await startApp({ delivers: false });
});
afterAll(() => app.close());

it('leads a browser to the documentation by links that work, also below a path', async () => {
  const { status, headers, body } = await app.call('GET', '/', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
  expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  const links = [...String(body).matchAll(/href="([^"]+)"/g)].map(([, link = '']) => link);
  expect(links).toHaveLength(3);
  for (const link of links) {
    expect(link).toMatch(/^[a-z]/);
    expect((await app.call('GET', `/${link}`, {})).status).toBe(200);
  }
});

it('tells a program the same as JSON, whose addresses are there', async () => {
  const { status, body } = await app.call('GET', '/', { accept: '*/*' });
  expect([status, body.name]).toEqual([200, 'Herald']);
  for (const at of [body.dashboard, body.docs, body.openapi]) expect((await app.call('GET', at, {})).status).toBe(200);
  expect((await app.call('GET', `${body.api}/tenant`, {})).status).toBe(401);
});

it('takes no other method', async () => {
  const { status, headers } = await app.call('POST', '/', {}, {});
  expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
});
