// Content that attacks, in every place that shows a tenant's: as large as a request carries it, with markup, and with characters that turn or hide what stands
// beside them. It is shown, it does nothing, and no other host hears of it.

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';

import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';
import type { Stage } from './support/dashboard.ts';
import { goTo, setStage } from './support/dashboard.ts';
import { settled } from './support/looks.ts';

/** The longest body there is (200 KiB, API.md), and the longest data beside it: a request has at most 256 KiB. */
const bodyMax = 200 * 1024;
const dataMax = 50 * 1024;
const turned = '\u202egnp.exe\u200b\u2066\u{e0041}';
const evil = `${turned}<img src="http://evil.example/x" onerror="document.title='run'"><script>document.title='run'</script>`;
const filled = (text: string, bytes: number) => text + 'w'.repeat(bytes - Buffer.byteLength(text));

let stage: Stage;
let sink: HttpSink;
let ids: Readonly<Record<'inApp' | 'mail' | 'refused', string>>;
let templateId: string;

async function send(request: object): Promise<string> {
  const { status, body } = await stage.herald.notify(request);
  expect([status, body]).toMatchObject([202, {}]);
  return String(body['notificationId']);
}

async function save(method: string, path: string, body: object): Promise<Record<string, unknown>> {
  const answer = await stage.herald.dashboard(method, path, body);
  expect([path, answer.body, answer.status < 300]).toEqual([path, answer.body, true]);
  return answer.body;
}

beforeAll(async () => {
  // Permanent, and in words of its own.
  sink = await startHttpSink({ respond: (_, response) => void response.writeHead(400).end(filled(evil, 4000)) });
  stage = await setStage({ RETRY_DELAYS: '1ms' });
  const config = { fromName: `Acme ${turned}`, fromEmail: 'hello@acme.example', host: '127.0.0.1', port: 9 };
  await save('POST', '/providers', { channel: 'EMAIL', provider: 'smtp', apiKey: 'password', config });
  await save('POST', '/keys', { name: evil.slice(0, 60), scopes: ['notify'] });
  await save('POST', '/suppressions', { channel: 'WEBHOOK', recipient: `${sink.url}/${turned}` });
  const template = { name: 'attack', channel: 'EMAIL', subject: `{{ name }} ${evil}`, body: `<p>Hi ${evil}</p>` };
  const made = await save('POST', '/templates', template);
  templateId = String(made['id']);
  await save('PUT', `/templates/${templateId}`, { ...template, body: filled(`<b>${evil}</b>\n`, 150 * 1024) });
  ids = {
    inApp: await send({
      channel: 'IN_APP',
      recipient: evil,
      subject: evil,
      body: filled(evil, bodyMax),
      data: { [evil]: 'd'.repeat(dataMax) },
      metadata: { [turned]: turned },
    }),
    mail: await send({
      channel: 'EMAIL',
      recipient: 'ada@example.com',
      subject: evil,
      body: filled(`<p id="shown">${evil}</p><style>p { width: 9e9px }</style>`, bodyMax),
    }),
    refused: await send({ channel: 'WEBHOOK', recipient: `${sink.url}/hook/${turned}x`, body: evil }),
  };
  await send({ channel: 'IN_APP', recipient: 'formula', subject: '=HYPERLINK("http://evil.example")', body: 'x' });
  expect((await stage.herald.notify({ [evil.slice(0, 60)]: 1 })).status).toBe(400);
  for (const id of [ids.refused, ids.mail])
    await until(
      async () => {
        const { body } = await stage.herald.dashboard('GET', `/notifications/${id}`);
        return (body['notification'] as { status: string }).status === 'FAILED';
      },
      { everyMs: 50, what: 'it to fail' },
    );
});
afterAll(async () => {
  await stage.end();
  await sink.close();
});

/** What the browser says of a mail's scripts in the frame that shows it: they don't run. */
const refusal = (url: string) => `Blocked script execution in '${url}/dashboard/content' because`;

/** Where such a character stands in the page itself: in a text, or in what is said of something. What somebody edits is what it is. */
async function exposed(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const hidden = /[\u200b\u202e\u2066\ufeff\u{e0041}]/u;
    const names = ['title', 'aria-label', 'alt', 'placeholder'];
    const found = hidden.test(document.title) ? ['the title'] : [];
    for (const element of document.querySelectorAll('body *:not(textarea, input)')) {
      const texts = [...element.childNodes].map((node) => (node instanceof Text ? node.data : ''));
      const said = names.map((name) => element.getAttribute(name) ?? '');
      if ([...texts, ...said].some((text) => hidden.test(text))) found.push(element.outerHTML.slice(0, 120));
    }
    return found;
  });
}

async function expectInert(page: Page, at: string): Promise<void> {
  await settled(page);
  expect([at, await exposed(page)]).toEqual([at, []]);
  const seen = await page.evaluate(() => ({
    made: document.querySelectorAll('main script, main img, main form[action]').length,
    isWithin: document.documentElement.scrollWidth <= innerWidth,
    hasRun: document.title === 'run',
  }));
  expect([at, seen]).toEqual([at, { made: 0, isWithin: true, hasRun: false }]);
}

it.each([360, 1440])(
  'on every page, %i px wide, it is shown written out, runs nothing and widens nothing',
  async (width) => {
    const watched = await stage.open('', { viewport: { width, height: 800 } });
    const { page, hosts, complaints } = watched;
    const shows = [
      'notifications',
      `notifications/${ids.inApp}`,
      `notifications/${ids.mail}`,
      `notifications/${ids.refused}`,
      'templates',
      `templates/${templateId}`,
      'providers',
      'keys',
      'settings',
    ];
    await expectInert(page, 'the overview');
    for (const at of shows) {
      await goTo(watched, at);
      await page.locator('main').getByText('\\u{202e}').first().waitFor();
      await expectInert(page, at);
    }
    expect([...hosts]).toEqual([new URL(stage.herald.url).host]);
    expect(complaints.filter((text) => !text.startsWith(refusal(stage.herald.url)))).toEqual([]);
    await watched.close();
  },
);

it('in events, source, preview, diff, toasts, snippets and the file for a spreadsheet as well', async () => {
  const watched = await stage.open(`notifications/${ids.mail}`);
  const { page, hosts, complaints } = watched;
  await page.frameLocator('iframe').locator('#shown').waitFor();
  expect(await page.frameLocator('iframe').locator('script, img[src]').count()).toBe(0);
  await page.getByRole('tab', { name: 'Source' }).click();
  await expectInert(page, 'the source');
  await page.getByText('Its events in the log').click();
  await page.locator('summary', { hasText: 'NotificationRequested' }).click();
  await page
    .getByRole('region', { name: /^NotificationRequested at/ })
    .getByText('u{202e}')
    .waitFor();
  await expectInert(page, 'the events');

  await goTo(watched, `templates/${templateId}`);
  await page.getByLabel('Data (JSON)').fill(JSON.stringify({ name: turned }));
  await page.getByRole('region', { name: 'Preview' }).getByText('\\u{202e}gnp.exe').first().waitFor();
  await page.getByLabel('Compare with').selectOption('1');
  await page.getByRole('region', { name: 'Changed lines' }).getByText('\\u{202e}').first().waitFor();
  await expectInert(page, 'preview and diff');

  await goTo(watched, 'send');
  await page.getByLabel('Recipient').fill(turned);
  await page.getByRole('region', { name: 'Shell' }).getByText('\\u202egnp.exe\\u200b').waitFor();
  await page.getByRole('tab', { name: 'TypeScript' }).click();
  await expectInert(page, 'the snippets');

  await goTo(watched, 'settings');
  await page.getByRole('button', { name: /^Take off/ }).click();
  await page.getByText('is off the list.').waitFor();
  await expectInert(page, 'a toast');

  // A file is data: what it holds is as it is, but nothing that a spreadsheet would run.
  await goTo(watched, 'notifications');
  const coming = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download as CSV' }).click();
  const text = await readFile(await (await coming).path(), 'utf8');
  expect(text).toContain(`,"'=HYPERLINK(""http://evil.example"")",`);
  expect(text).toContain(turned);
  expect(text).not.toMatch(/(^|,)"?[=+@]/m);
  expect([...hosts]).toEqual([new URL(stage.herald.url).host]);
  expect(complaints.filter((text) => !text.startsWith(refusal(stage.herald.url)))).toEqual([]);
  await watched.close();
});
