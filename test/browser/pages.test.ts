// Every page of the dashboard, light and dark, on a phone and on a wide screen: accessible (axe), within its width, asking nobody else for anything.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { until } from '../support/until.ts';
import type { Stage } from './support/dashboard.ts';
import { goTo, setStage } from './support/dashboard.ts';
import { settled, violations } from './support/looks.ts';

let stage: Stage;
let notificationId: string;

beforeAll(async () => {
  stage = await setStage({ RETRY_DELAYS: '1ms' });
  const { herald } = stage;
  for (const recipient of ['ada', 'bo', 'cy'])
    await herald.notify({ channel: 'IN_APP', recipient, subject: 'Hello', body: 'A first notification' });
  const failed = await herald.notify({
    channel: 'WEBHOOK',
    recipient: 'http://127.0.0.1:9/x',
    body: 'x',
    data: { a: 1 },
  });
  notificationId = String(failed.body['notificationId']);
  await herald.dashboard('POST', '/templates', {
    name: 'welcome',
    channel: 'EMAIL',
    subject: 'Hi',
    body: '<p>Hi {{ name }}</p>',
  });
  await herald.dashboard('POST', '/keys', { name: 'shop', scopes: ['notify'] });
  await herald.dashboard('POST', '/suppressions', { channel: 'EMAIL', recipient: 'off@example.com' });
  const config = { fromName: 'Acme', fromEmail: 'hello@acme.example' };
  await herald.dashboard('POST', '/providers', {
    channel: 'EMAIL',
    provider: 'resend',
    apiKey: 're_8mQk2Vt5x9Qz',
    config,
  });
  await herald.notify({ channel: 'IN_APP' });
  await until(async () => {
    const { body } = await herald.dashboard('GET', `/notifications/${notificationId}`);
    return (body['notification'] as { status: string }).status === 'FAILED';
  });
});
afterAll(() => stage.end());

const pages = [
  '',
  'notifications',
  'notifications/:id',
  'send',
  'templates',
  'templates/new',
  'providers',
  'keys',
  'settings',
];

describe.each(['light', 'dark'] as const)('in %s colours', (colorScheme) => {
  it.each([360, 1440])(
    '%i px wide no page breaks a rule of axe, is wider than the screen, or asks another host',
    async (width) => {
      const watched = await stage.open('', { colorScheme, viewport: { width, height: 800 } });
      const { page, hosts, complaints } = watched;
      for (const at of pages) {
        await goTo(watched, at.replace(':id', notificationId));
        await settled(page);
        expect([at, await violations(page)]).toEqual([at, []]);
        expect([at, await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)]).toEqual([at, true]);
      }
      expect([...hosts]).toEqual([new URL(stage.herald.url).host]);
      expect(complaints).toEqual([]);
      await watched.close();
    },
  );
});
