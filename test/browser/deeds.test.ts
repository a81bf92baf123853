// More of what can be done in the dashboard, with real receivers: what they got is looked at, and what the page then says.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';

import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import type { SmtpSink } from '../support/smtp-sink.ts';
import { startSmtpSink } from '../support/smtp-sink.ts';
import { until } from '../support/until.ts';
import type { Stage } from './support/dashboard.ts';
import { setStage } from './support/dashboard.ts';

let stage: Stage;
let sink: HttpSink;
let mail: SmtpSink;
let sinkStatus = 200;

beforeAll(async () => {
  sink = await startHttpSink({ respond: (_, response) => void response.writeHead(sinkStatus).end('so it is') });
  mail = await startSmtpSink();
  stage = await setStage({ RETRY_DELAYS: '1ms' });
});
afterAll(async () => {
  await stage.end();
  await sink.close();
  await mail.close();
});

const statusOf = async (id: string) => {
  const { body } = await stage.herald.dashboard('GET', `/notifications/${id}`);
  return (body['notification'] as { readonly status: string }).status;
};

async function send(request: object): Promise<string> {
  const { body } = await stage.herald.notify(request);
  return String(body['notificationId']);
}

async function failedWebhooks(count: number): Promise<readonly string[]> {
  sinkStatus = 500;
  const ids = [];
  for (let i = 0; i < count; i++)
    ids.push(await send({ channel: 'WEBHOOK', recipient: `${sink.url}/hook`, body: 'An order' }));
  for (const id of ids)
    await until(async () => (await statusOf(id)) === 'FAILED', { what: 'the webhook to fail', everyMs: 50 });
  return ids;
}

describe('the overview', () => {
  it('is narrowed by dragging across the plot, and by two times: the address says which', async () => {
    await send({ channel: 'IN_APP', recipient: 'ada', body: 'x' });
    const { page, close } = await stage.open('?channel=IN_APP');
    const over = page.locator('.u-over');
    await page.getByRole('img', { name: /Plot of 2\d points: [1-9]/ }).waitFor();
    const box = await over.boundingBox();
    if (box === null) throw new Error('there is no plot');
    await page.mouse.move(box.x + box.width * 0.3, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 60, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/channel=IN_APP&from=.*&to=/);
    const { searchParams } = new URL(page.url().replace('#/', ''));
    const [from, to] = [Date.parse(searchParams.get('from') ?? ''), Date.parse(searchParams.get('to') ?? '')];
    // 0.3 of some 24 hours.
    expect((to - from) / 3_600_000).toBeGreaterThan(5);
    expect((to - from) / 3_600_000).toBeLessThan(9);
    await page.getByLabel('Until').fill('2031-01-01T00:00');
    await page.waitForURL(/to=20(30-12-31|31-01-01)T/);
    await page.getByRole('link', { name: 'Back to 24 hours' }).click();
    await page.getByLabel('Until').waitFor({ state: 'detached' });
    expect(new URL(page.url()).hash).toBe('#/?channel=IN_APP');
    await close();
  });

  it('shows what a bulk retry would do, how far it is, and stops it', async () => {
    const ids = await failedWebhooks(4);
    sinkStatus = 200;
    const { page, close } = await stage.open('');
    await page.getByRole('button', { name: 'Send again…' }).first().click();
    await page.getByText('4 failed notifications are sent again, each once.').waitFor();
    await page.getByLabel('At most, a second').fill('1');
    await page.getByRole('button', { name: 'Send them again' }).click();
    await page.getByText(/^Running: [1-3] of 4 sent again/).waitFor();
    await page.getByRole('button', { name: 'Stop it' }).click();
    await page.getByText(/^Stopped: [1-3] of 4 sent again/).waitFor();
    expect(await page.getByRole('progressbar').getAttribute('max')).toBe('4');
    const statuses = await Promise.all(ids.map(statusOf));
    expect(statuses.filter((status) => status === 'FAILED').length).toBeGreaterThan(0);
    await close();
  });
});

describe('the log', () => {
  it('cancels at once many that wait', async () => {
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    const ids = [];
    for (const recipient of ['bo', 'cy', 'di'])
      ids.push(await send({ channel: 'IN_APP', recipient, body: 'later', sendAt }));
    const { page, close } = await stage.open('notifications?status=SCHEDULED');
    await page.getByRole('link', { name: 'di' }).waitFor();
    await page.getByLabel('Choose all that are loaded').check();
    await page.getByRole('button', { name: 'Cancel 3' }).click();
    await page.getByText('3 done.').waitFor();
    expect(await Promise.all(ids.map(statusOf))).toEqual(['CANCELLED', 'CANCELLED', 'CANCELLED']);
    await close();
  });

  it('comes as a file for a spreadsheet, by the filters that are shown', async () => {
    await send({ channel: 'IN_APP', recipient: 'spreadsheet', subject: 'a,"b"', body: 'x' });
    const { page, complaints, close } = await stage.open('notifications?recipient=spreadsheet');
    await page.getByRole('link', { name: 'spreadsheet' }).waitFor();
    const coming = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download as CSV' }).click();
    const download = await coming;
    expect(download.suggestedFilename()).toMatch(/^notifications-\d{4}-\d\d-\d\d\.csv$/);
    const text = await readFile(await download.path(), 'utf8');
    const response = await fetch(`${stage.herald.url}/api/v1/notifications.csv?recipient=spreadsheet`, {
      headers: { authorization: `Bearer ${stage.link.split('#token=')[1]}` },
    });
    expect(text).toBe(await response.text());
    expect(text.trim().split('\n')).toHaveLength(2);
    await page.getByText(/ saved\.$/).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });
});

describe('providers', () => {
  it('an email account is tested with its own answer: taken, or refused in its own words', async () => {
    const config = { fromName: 'Acme', fromEmail: 'hello@acme.example', host: '127.0.0.1', port: mail.port };
    const saved = { channel: 'EMAIL', provider: 'smtp', apiKey: 'password', config };
    expect((await stage.herald.dashboard('POST', '/providers', saved)).status).toBe(200);
    const { page, close } = await stage.open('providers');
    await page.getByRole('button', { name: 'Test' }).click();
    await page.getByRole('button', { name: 'Send it' }).click();
    await page.getByText('The provider has taken it.').waitFor();
    expect(mail.mails).toHaveLength(1);
    mail.refuse({ at: 'recipient', code: 550, message: 'No mailbox of this name' });
    await page.getByRole('button', { name: 'Send it' }).click();
    await page.getByRole('dialog').getByText('No mailbox of this name').waitFor();
    mail.refuse(null);
    await close();
  });

  it('a webhook is tested at the address that is given', async () => {
    const saved = { channel: 'WEBHOOK', provider: 'custom', apiKey: 'a-secret-of-sixteen', config: {} };
    expect((await stage.herald.dashboard('POST', '/providers', saved)).status).toBe(200);
    const { page, close } = await stage.open('providers');
    await page.getByRole('region', { name: 'Webhook' }).getByRole('button', { name: 'Test' }).click();
    sinkStatus = 200;
    await page.getByLabel('Address').fill(`${sink.url}/tested`);
    await page.getByRole('button', { name: 'Send it' }).click();
    await page.getByText('The provider has taken it.').waitFor();
    expect(sink.requests.some(({ path }) => path === '/tested')).toBe(true);
    sinkStatus = 403;
    await page.getByRole('button', { name: 'Send it' }).click();
    await page.getByRole('dialog').getByText(/403/).waitFor();
    await page.getByRole('button', { name: 'Close', exact: true }).click();
    await page.getByRole('region', { name: 'Webhook' }).getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete it' }).click();
    await page.getByRole('button', { name: 'Set up Webhook' }).waitFor();
    await close();
  });
});

describe('secrets', () => {
  it('the main key is replaced: the former one ends at once, and the page shows the next', async () => {
    const former = stage.herald.apiKey;
    const { page, close } = await stage.open('keys');
    await page.getByRole('button', { name: 'Replace…' }).click();
    await page.getByLabel('How long the former key is still taken').selectOption('3600');
    await page.getByRole('button', { name: 'Replace it' }).click();
    await page.getByText('The main key is replaced.').waitFor();
    const inApp = { channel: 'IN_APP', recipient: 'ada', body: 'x' };
    expect((await stage.herald.notify(inApp, former)).status).toBe(202);
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    const second = await page.getByText(/^nk_/).innerText();
    expect((await stage.herald.notify(inApp, second)).status).toBe(202);
    await page.getByRole('button', { name: 'Replace…' }).click();
    await page.getByLabel('How long the former key is still taken').selectOption('0');
    await page.getByRole('button', { name: 'Replace it' }).click();
    await until(async () => (await stage.herald.notify(inApp, second)).status === 401, { everyMs: 100 });
    expect((await stage.herald.notify(inApp, former)).status).toBe(401);
    const { body } = await stage.herald.dashboard('GET', '/tenant');
    expect((await stage.herald.notify(inApp, String(body['apiKey']))).status).toBe(202);
    await close();
  });
});
