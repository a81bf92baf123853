// The calls with which /docs opens: all of them do what they say, as curl and by the typed client, as the page has them.

import { tmpdir } from 'node:os';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { createHerald } from '../../clients/typescript/src/index.ts';
import { firstCalls, given } from '../../src/api/docs/first-calls.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import { runInShell } from './shell.ts';

let app: App;
let tenant: Awaited<ReturnType<App['tenant']>>;
let page: string;

beforeAll(async () => {
  app = await startApp();
  tenant = await app.tenant('first', { email: 'owner@example.com' });
  page = String((await app.call('GET', '/docs', {})).body);
});
afterAll(() => app.close());

/** As a page shows it. */
const shown = (code: string) =>
  code.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

it('are ten, and come before everything else', () => {
  expect(firstCalls).toHaveLength(10);
  const end = page.indexOf('<div id="docs">');
  for (const { title, curl, typescript } of [{ title: '', ...given }, ...firstCalls])
    for (const text of [title, curl, typescript]) {
      const at = page.indexOf(shown(text));
      expect([text, at >= 0 && at < end]).toEqual([text, true]);
    }
});

describe('do what they say', () => {
  it('as curl', async () => {
    const commands = firstCalls.flatMap(({ curl }, i) => [
      curl.includes('-sSN')
        ? `${curl} --max-time 1 || [ $? = 28 ]`
        : `ANSWER=$(${curl} --fail-with-body); echo "$ANSWER"`,
      ...(i === 0 ? [`ID=$(printf '%s' "$ANSWER" | sed 's/.*"notificationId":"\\([^"]*\\)".*/\\1/')`] : []),
    ]);
    const { PATH = '' } = process.env;
    const environment = { PATH, API: `${app.url}/api/v1`, KEY: tenant.apiKey, TOKEN: tenant.token };
    const outcomes = await runInShell(commands, { cwd: tmpdir(), environment });
    expect(outcomes.filter(({ code, stdout }) => code !== 0 || stdout.includes('"code":"'))).toEqual([]);
    expect(outcomes[2]?.stdout).toContain('Your order 17 has left the house');
    expect(outcomes.at(-1)?.stdout).toContain('"event":"connected"');
  });

  it('by the typed client', async () => {
    const herald = createHerald({ url: app.url, apiKey: tenant.apiKey, token: tenant.token });
    const code = firstCalls.map(({ typescript }) =>
      typescript.replace(
        'console.log(data);',
        'return [notification, results, template, matching, unreadCount, notifications, token, data];',
      ),
    );
    const AsyncFunction = (async () => {}).constructor as new (
      ...texts: string[]
    ) => (...values: unknown[]) => Promise<unknown>;
    const [notification, results, template, matching, , , token, data] = (await new AsyncFunction(
      'herald',
      code.join('\n'),
    )(herald)) as unknown[];
    expect(notification).toMatchObject({ body: 'Your order 17 has left the house' });
    expect(results).toMatchObject([{ status: 'queued' }, { status: 'queued' }]);
    expect(template).toMatchObject({ name: 'welcome-2' });
    expect(matching).toBe(0);
    expect(token).toMatch(/^eyJ/);
    expect(data).toMatchObject({ event: 'connected' });
  });
});
