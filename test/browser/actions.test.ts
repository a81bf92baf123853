// What can be done in the dashboard, done by clicks and keys in a real browser, and seen to be done by the API.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';

import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';
import type { Stage } from './support/dashboard.ts';
import { goTo, setStage } from './support/dashboard.ts';

let stage: Stage;
let sink: HttpSink;
let sinkStatus = 500;

beforeAll(async () => {
  sink = await startHttpSink({ respond: (_, response) => void response.writeHead(sinkStatus).end() });
  // One attempt after another, then it has failed.
  stage = await setStage({ RETRY_DELAYS: '1ms' });
});
afterAll(async () => {
  await stage.end();
  await sink.close();
});

const statusOf = async (id: string) => {
  const { body } = await stage.herald.dashboard('GET', `/notifications/${id}`);
  return (body['notification'] as { readonly status: string }).status;
};

async function failedWebhook(): Promise<string> {
  sinkStatus = 500;
  const { body } = await stage.herald.notify({ channel: 'WEBHOOK', recipient: `${sink.url}/hook`, body: 'An order' });
  const id = String(body['notificationId']);
  await until(async () => (await statusOf(id)) === 'FAILED', { what: 'the webhook to fail', everyMs: 50 });
  return id;
}

describe('one notification', () => {
  it('says why it failed, is sent again by a click, and shows that it is delivered without a reload', async () => {
    const id = await failedWebhook();
    const watched = await stage.open(`notifications/${id}`);
    const { page, close } = watched;
    await page.getByText('Attempt 2: failed').waitFor();
    expect(await page.locator('.timeline').innerText()).toMatch(
      /Accepted[\s\S]*Attempt 1: failed[\s\S]*answer 500[\s\S]*no further try/,
    );
    sinkStatus = 200;
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByRole('heading', { name: 'Why it is delivered' }).waitFor();
    expect(await statusOf(id)).toBe('DELIVERED');
    await page.getByText('Its events in the log').click();
    await page.locator('summary', { hasText: 'RetryRequested' }).waitFor();
    await page.getByRole('button', { name: 'Send as a new one' }).click();
    await page.getByText('Content of', { exact: true }).waitFor();
    expect(page.url()).not.toContain(id);
    await close();
  });

  it('is cancelled by a click while it waits', async () => {
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    const { body } = await stage.herald.notify({ channel: 'IN_APP', recipient: 'ada', body: 'later', sendAt });
    const id = String(body['notificationId']);
    const { page, close } = await stage.open(`notifications/${id}`);
    await page.getByRole('button', { name: 'Cancel it' }).click();
    await page.getByRole('heading', { name: 'Why it is cancelled' }).waitFor();
    expect(await statusOf(id)).toBe('CANCELLED');
    await close();
  });

  it('shows HTML that attacks as it would look, and nothing of it runs, loads or leads anywhere', async () => {
    const fields = { fromName: 'Acme', fromEmail: 'hello@acme.example', host: '127.0.0.1', port: 9 };
    await stage.herald.dashboard('POST', '/providers', {
      channel: 'EMAIL',
      provider: 'smtp',
      apiKey: 'password',
      config: fields,
    });
    const attack = `<body style="background:rgb(1,2,3)" onload="parent.document.title='run'"><script>parent.document.title='run'</script>
      <img src="http://evil.example/x.png" onerror="parent.document.title='run'"><a id="link" href="javascript:parent.document.title='run'">click</a>
      <a id="away" href="http://evil.example/">away</a><form action="http://evil.example/"><button>go</button></form>
      <meta http-equiv="refresh" content="0;url=http://evil.example/"><base href="http://evil.example/"><iframe src="http://evil.example/"></iframe>
      <style>p { color: rgb(4,5,6); background: url(http://evil.example/bg) }</style><p>styled</p>`;
    // One word, up to the longest body there is.
    const longest = attack + 'w'.repeat(200 * 1024 - attack.length);
    const { body } = await stage.herald.notify({
      channel: 'EMAIL',
      recipient: 'ada@example.com',
      subject: 'Turned \u202E and hidden\u200B',
      body: longest,
    });
    const { page, hosts, close } = await stage.open(`notifications/${String(body['notificationId'])}`);
    const frame = page.frameLocator('iframe');
    await frame.getByText('styled').waitFor();
    // As a receiver sees it, styles included.
    expect(await frame.locator('p').evaluate((element) => getComputedStyle(element).color)).toBe('rgb(4, 5, 6)');
    expect(await frame.locator('script, iframe, meta, base').count()).toBe(0);
    for (const link of ['#link', '#away', 'button']) await frame.locator(link).click();
    await page.getByRole('heading', { level: 1, name: 'Turned \\u{202e} and hidden\\u{200b}' }).waitFor();
    await page.getByRole('tab', { name: 'Source' }).click();
    await page.getByText('parent.document.title').waitFor();
    expect(await page.title()).not.toBe('run');
    expect([...hosts]).toEqual([new URL(stage.herald.url).host]);
    await close();
  });
});

describe('the log', () => {
  it('keeps its filters in the address, so that a view can be sent on', async () => {
    const id = await failedWebhook();
    const watched = await stage.open('notifications');
    await watched.page.getByLabel('Status', { exact: true }).selectOption('FAILED');
    await watched.page.waitForURL(/status=FAILED/);
    const other = await stage.open(watched.page.url().split('#/')[1] ?? '');
    await other.page.locator(`a[href$="${id}"]`).waitFor();
    expect(await other.page.locator('tbody .status').allInnerTexts()).toEqual(
      expect.not.arrayContaining(['Delivered']),
    );
    await watched.close();
    await other.close();
  });

  it('sends many again at once that are chosen', async () => {
    const ids = [await failedWebhook(), await failedWebhook()];
    const { page, close } = await stage.open('notifications?status=FAILED');
    sinkStatus = 200;
    for (const id of ids)
      await page
        .locator('tr', { has: page.locator(`a[href$="${id}"]`) })
        .getByRole('checkbox')
        .check();
    await page.getByRole('button', { name: 'Retry 2' }).click();
    await page.getByText('2 done.').waitFor();
    for (const id of ids) await until(async () => (await statusOf(id)) === 'DELIVERED', { everyMs: 50 });
    await close();
  });

  it('sends again as one job whatever of a cause has failed, from the overview', async () => {
    const id = await failedWebhook();
    sinkStatus = 200;
    const { page, close } = await stage.open('');
    await page.getByRole('button', { name: 'Send again…' }).first().click();
    await page.getByText(/failed notifications? are sent again/).waitFor();
    await page.getByRole('button', { name: 'Send them again' }).click();
    await page.getByText(/^Done:/).waitFor();
    await until(async () => (await statusOf(id)) === 'DELIVERED', { everyMs: 50 });
    await close();
  });
});

describe('sending', () => {
  it('is done by keys alone, and shows the curl and the TypeScript of it', async () => {
    const watched = await stage.open('');
    const { page, close } = watched;
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to content');
    for (
      let press = 0;
      press < 20 && (await page.evaluate(() => document.activeElement?.textContent)) !== 'Send';
      press += 1
    )
      await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Send a test' }).waitFor();
    const tabTo = async (label: string) => {
      const id = await page.getByLabel(label).getAttribute('id');
      for (let press = 0; press < 30 && (await page.evaluate(() => document.activeElement?.id)) !== id; press += 1)
        await page.keyboard.press('Tab');
    };
    await tabTo('Recipient');
    await page.keyboard.type('ada');
    await tabTo('Body');
    await page.keyboard.type("It's here");
    await page.getByRole('region', { name: 'Shell' }).getByText(`It'\\''s here`).waitFor();
    await tabTo('Recipient');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'It is accepted' }).waitFor();
    await page.locator('.status', { hasText: 'Delivered' }).waitFor();
    await page.getByRole('tab', { name: 'TypeScript' }).click();
    expect(await page.getByRole('region', { name: 'TypeScript' }).innerText()).toContain(`body: "It's here"`);
    await close();
  });

  it('shows a refusal as the API said it, at the field that it is about', async () => {
    const { page, close } = await stage.open('send');
    await page.getByLabel('Channel').selectOption('SMS');
    await page.getByLabel('Recipient').fill('123');
    await page.getByLabel('Body').fill('x');
    await page.getByRole('button', { name: 'Send it' }).click();
    await page.getByRole('alert').getByText(/req_/).waitFor();
    expect(await page.locator('.field.wrong label').allInnerTexts()).toEqual(['Recipient']);
    await close();
  });
});

describe('what is asked for again after a lost answer', () => {
  /** Of each request; the service has the first one, and the page hears nothing of it. */
  async function losingFirst(page: Page, path: string): Promise<readonly string[]> {
    const keys: string[] = [];
    await page.route(path, async (route) => {
      keys.push(route.request().headers()['idempotency-key'] ?? '');
      if (keys.length > 1) return route.continue();
      await route.fetch();
      return route.abort();
    });
    return keys;
  }

  it('is sent once, and what is asked for after an answer is another', async () => {
    const { page, close } = await stage.open('send');
    const keys = await losingFirst(page, '**/api/v1/notify');
    const send = page.getByRole('button', { name: 'Send it' });
    const accepted = page.locator('section[aria-labelledby=sent] a');
    await page.getByLabel('Recipient').fill('once');
    await page.getByLabel('Body').fill('first');
    await send.click();
    await page.getByRole('alert').waitFor();
    await send.click();
    const first = await accepted.innerText();
    await send.click();
    await page.locator(`section[aria-labelledby=sent] a:not(:text-is("${first}"))`).waitFor();
    expect(keys.map((key) => keys.indexOf(key))).toEqual([0, 0, 2]);
    const { body } = await stage.herald.dashboard('GET', '/notifications?recipient=once');
    expect(body['data']).toHaveLength(2);
    await close();
  });

  it('is another once the draft is', async () => {
    const { page, close } = await stage.open('send');
    const keys = await losingFirst(page, '**/api/v1/notify');
    await page.getByLabel('Recipient').fill('changed');
    await page.getByLabel('Body').fill('first');
    await page.getByRole('button', { name: 'Send it' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Body').fill('second');
    await page.getByRole('button', { name: 'Send it' }).click();
    await page.getByRole('heading', { name: 'It is accepted' }).waitFor();
    expect(new Set(keys).size).toBe(2);
    await close();
  });

  it('is resent once', async () => {
    const { body } = await stage.herald.notify({ channel: 'IN_APP', recipient: 'resent', body: 'x' });
    const { page, close } = await stage.open(`notifications/${String(body['notificationId'])}`);
    const keys = await losingFirst(page, '**/api/v1/notifications/*/resend');
    const again = page.getByRole('button', { name: 'Send as a new one' });
    await again.click();
    await page.getByText('Herald can’t be reached').first().waitFor();
    await again.click();
    await page.getByText('Content of', { exact: true }).waitFor();
    expect(new Set(keys).size).toBe(1);
    const { body: listed } = await stage.herald.dashboard('GET', '/notifications?recipient=resent');
    expect(listed['data']).toHaveLength(2);
    await close();
  });
});

describe('settings', () => {
  it('a template is previewed while it is typed, with the place of its error, and compared with what it was', async () => {
    const { page, close } = await stage.open('templates/new');
    await page.getByLabel('Name', { exact: true }).fill('greeting');
    await page.getByLabel('Subject').fill('Hello');
    await page.getByLabel('Body', { exact: true }).fill('<p>Hi {{ name }}</p>\n{% if %}');
    await page.getByRole('button', { name: /^Go to line 2, column/ }).click();
    expect(await page.evaluate(() => (document.activeElement as HTMLTextAreaElement).selectionStart)).toBeGreaterThan(
      20,
    );
    await page.getByLabel('Body', { exact: true }).fill('<p>Hi {{ name }}</p>');
    // Nothing is saved yet.
    await page.getByText('The data lacks name.').waitFor();
    await page.getByLabel('Data (JSON)').fill('{"name":"Ada"}');
    await page.frameLocator('iframe').getByText('Hi Ada').waitFor();
    expect((await stage.herald.dashboard('GET', '/templates')).body).toEqual([]);
    await page.getByRole('button', { name: 'Make it' }).click();
    await page.getByText('The text in the editor is that of version 1.').waitFor();
    await page.getByLabel('Body', { exact: true }).fill('<p>Hello {{ name }}</p>');
    const diff = page.getByRole('region', { name: 'Changed lines' });
    expect(await diff.innerText()).toMatch(/removed:\s*<p>Hi[\s\S]*added:\s*<p>Hello/);
    await page.getByRole('button', { name: 'Save as version 2' }).click();
    await page.frameLocator('iframe').getByText('Hello').waitFor();
    await page.getByText('The text in the editor is that of version 2.').waitFor();
    await page.getByLabel('Compare with').selectOption('1');
    await diff.getByText('<p>Hi').waitFor();
    await page.getByRole('button', { name: 'Put version 1 into the editor' }).click();
    expect(await page.getByLabel('Body', { exact: true }).inputValue()).toBe('<p>Hi {{ name }}</p>');
    await page.getByRole('button', { name: 'Save as version 3' }).click();
    await page.getByText('Version 3 is in use.').waitFor();
    await close();
  });

  it('a provider is saved by the form of the catalog, its key masked from then on, and tested with its own answer', async () => {
    const { page, close } = await stage.open('providers');
    await page.getByRole('button', { name: 'Set up SMS' }).click();
    await page.getByLabel('Provider').selectOption('twilio');
    await page.getByLabel('Auth token').fill('0f1e2d3c4b5a69788796a5b4c3d2e1f0');
    await page.getByLabel(/account/i).fill('AC0f1e2d3c4b5a69788796a5b4c3d2e1f0');
    await page.getByLabel('Sender').fill('+15005550006');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('0f1••••••e1f0').waitFor();
    const { body } = await stage.herald.dashboard('GET', '/providers');
    expect(JSON.stringify(body)).toContain('twilio');
    await close();
  });

  it('a key is made and shown once, then revoked', async () => {
    const { page, close } = await stage.open('keys');
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Name').fill('shop');
    await page.getByRole('button', { name: 'Make it' }).click();
    const key = await page.getByRole('region', { name: 'API key' }).innerText();
    expect((await stage.herald.notify({ channel: 'IN_APP', recipient: 'ada', body: 'x' }, key.trim())).status).toBe(
      202,
    );
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Revoke shop' }).click();
    await page.getByRole('button', { name: 'Revoke it' }).click();
    await page.getByText('None yet.').waitFor();
    await until(
      async () =>
        (await stage.herald.notify({ channel: 'IN_APP', recipient: 'ada', body: 'x' }, key.trim())).status === 401,
      { everyMs: 100 },
    );
    await close();
  });

  it('the webhook secret is exchanged, a recipient is suppressed and taken off the list, and what was refused is listed', async () => {
    await stage.herald.notify({ channel: 'IN_APP' });
    const watched = await stage.open('settings');
    const { page, close } = watched;
    await page.getByText('400 BAD_REQUEST').first().waitFor();
    await page.getByRole('button', { name: 'Exchange it…' }).click();
    await page.getByRole('button', { name: 'Make a new one' }).click();
    expect(await page.getByRole('region', { name: 'Secret', exact: true }).innerText()).toMatch(/^whsec_/);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByLabel('Recipient', { exact: true }).fill('off@example.com');
    await page.getByRole('button', { name: 'Suppress' }).click();
    await page.getByRole('button', { name: 'Take off off@example.com' }).click();
    await page.getByText('None. Bounces').waitFor();
    await goTo(watched, 'nowhere');
    await page.getByRole('heading', { name: 'Not found' }).waitFor();
    await close();
  });
});

// Last: what fails here would be the most frequent cause on the overview.
describe('a mail', () => {
  it.each([
    ['of one beginning of a tag after another', '<a'.repeat(100_000)],
    ['of one beginning of an address after another in its style', `<p>x</p><style>${'url('.repeat(50_000)}</style>`],
    ['with an address in angle brackets', 'Write to Jane <jane@example.com>'],
  ])('%s is shown at once', async (_, body) => {
    const fields = { fromName: 'Acme', fromEmail: 'hello@acme.example', host: '127.0.0.1', port: 9 };
    const smtp = { channel: 'EMAIL', provider: 'smtp', apiKey: 'password', config: fields };
    expect((await stage.herald.dashboard('POST', '/providers', smtp)).status).toBe(200);
    const sent = await stage.herald.notify({ channel: 'EMAIL', recipient: 'ada@example.com', subject: 'S', body });
    const { page, close } = await stage.open('');
    await page.evaluate(
      (hash) => void (location.hash = hash),
      `#/notifications/${String(sent.body['notificationId'])}`,
    );
    const content = page.getByRole('region', { name: 'Content', exact: true });
    await content.waitFor({ timeout: 5000 });
    expect(await content.locator('iframe').count()).toBe(body.startsWith('<p>') ? 1 : 0);
    if (!body.startsWith('<p>')) expect(await content.locator('pre').innerText()).toBe(body);
    await close();
  });
});
