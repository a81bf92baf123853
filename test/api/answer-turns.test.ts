// Long answers on a thread that others wait for.

import { afterEach, expect, it } from '@jest/globals';

import type { ThreadTurns } from '../../src/ports/thread-turns.ts';
import { wholeTurns } from '../../src/ports/thread-turns.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';

let app: App;

afterEach(() => app.close());

it('one that may be long waits for its tenant’s turn before it is made a text and before it is made bytes, a short one for none but its request’s', async () => {
  let calls: ('wait' | 'piece')[] = [];
  const turns: ThreadTurns = {
    ...wholeTurns,
    isShared: () => true,
    isOver: () => true,
    async next() {
      calls.push('wait');
    },
    piece(work) {
      calls.push('piece');
      return work();
    },
  };
  app = await startApp({ delivers: false, replace: () => ({ turns }) });
  const tenant = await app.tenant('a');
  const accepted = await tenant.notify({ channel: 'IN_APP', recipient: 'ada', body: 'World' });
  const shown = await tenant.dashboard('GET', `/notifications/${String(accepted.body['notificationId'])}`);
  expect(shown.status).toBe(200);
  expect(calls.slice(-4)).toEqual(['wait', 'piece', 'wait', 'piece']);
  calls = [];
  expect((await tenant.dashboard('GET', '/tenant')).status).toBe(200);
  expect(calls).toEqual(['wait', 'piece', 'piece']);
});

it.each([
  ['GET', '/docs'],
  ['GET', '/openapi.json'],
  ['GET', '/dashboard'],
  ['GET', '/inbox.js'],
  ['GET', '/'],
  ['GET', '/.well-known/jwks.json'],
  ['GET', '/nothing'],
  ['OPTIONS', '/api/v1/notifications'],
])('%s %s, which anybody may ask for, waits for a turn of its own, and its time counts', async (method, path) => {
  let waited = 0;
  let chargedMs = 0;
  const turns: ThreadTurns = {
    ...wholeTurns,
    isShared: () => true,
    isOver: () => true,
    async next() {
      waited++;
    },
    charge(ms) {
      chargedMs += ms;
    },
  };
  app = await startApp({ delivers: false, replace: () => ({ turns }) });
  await app.call(method, path, {});
  expect(waited).toBe(1);
  expect(chargedMs).toBeGreaterThan(0);
});

it('nothing waits for a turn where nobody else is about', async () => {
  let waited = 0;
  const turns: ThreadTurns = {
    ...wholeTurns,
    isOver: () => true,
    async next() {
      waited++;
    },
  };
  app = await startApp({ delivers: false, replace: () => ({ turns }) });
  const tenant = await app.tenant('a');
  expect((await tenant.dashboard('GET', '/tenant')).status).toBe(200);
  expect((await app.call('GET', '/docs', {})).status).toBe(200);
  expect(waited).toBe(0);
});
