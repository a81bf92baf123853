// What can't be taken back, done in the settings: a recipient is erased, the webhook secret exchanged. What is gone, and what receivers get, is looked at.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';

import type { WebhookToVerify } from '../../clients/typescript/src/index.ts';
import { verifyWebhook, WebhookVerificationError } from '../../clients/typescript/src/index.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { freePort } from '../support/free-ports.ts';
import type { Herald } from '../support/herald.ts';
import { startHerald } from '../support/herald.ts';
import type { HttpSink, SinkRequest } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { withSettings } from '../support/stored-settings.ts';
import { until } from '../support/until.ts';
import type { Stage } from './support/dashboard.ts';
import { goTo, setStage } from './support/dashboard.ts';
import { violations } from './support/looks.ts';

let stage: Stage;
let sink: HttpSink;
let port: string;
/** Whichever runs. */
let herald: Herald;

beforeAll(async () => {
  sink = await startHttpSink();
  port = String(await freePort());
  stage = await setStage({ PORT: port });
  ({ herald } = stage);
});
afterAll(async () => {
  if (herald !== stage.herald) await herald.stop();
  await stage.end({ isStopped: herald !== stage.herald });
  await sink.close();
});

async function send(request: object): Promise<string> {
  const { status, body } = await herald.notify(request);
  expect(status).toBe(202);
  return String(body['notificationId']);
}

describe('erasing a recipient', () => {
  it('is asked for twice, says how far it is, and leaves nothing in list, record, search and inbox', async () => {
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    const inApp = { channel: 'IN_APP', subject: 'Zebrafish', body: 'Okapi' };
    const gone = await send({ ...inApp, recipient: 'gone' });
    await send({ ...inApp, recipient: 'gone', sendAt });
    await send({ ...inApp, recipient: 'stays' });
    const watched = await stage.open('notifications?recipient=gone');
    const { page, complaints, close } = watched;
    await page.getByRole('link', { name: 'gone' }).nth(1).waitFor();
    await goTo(watched, 'settings');
    const region = page.getByRole('region', { name: 'Erase a recipient' });
    await region.getByLabel('Channel').selectOption('IN_APP');
    await region.getByLabel('Recipient to erase').fill('gone');
    await region.getByRole('button', { name: 'Erase…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Erase this recipient?' });
    await dialog.getByText('In-app gone: what is erased can’t be brought back.').waitFor();
    await dialog.getByRole('button', { name: 'Keep it' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await herald.dashboard('GET', `/notifications/${gone}`)).body).toMatchObject({
      notification: { recipient: 'gone', body: 'Okapi' },
    });
    await region.getByRole('button', { name: 'Erase…' }).click();
    await dialog.getByRole('button', { name: 'Erase it for good' }).click();
    await region.getByText('Done: 2 of 2 erased').waitFor();
    expect(await region.getByLabel('Recipient to erase').inputValue()).toBe('');
    await goTo(watched, 'notifications?recipient=gone');
    await page.getByText('Nothing fits these filters.').waitFor();
    await goTo(watched, 'notifications?q=zebrafish');
    await page.getByRole('link', { name: 'stays' }).waitFor();
    expect(await page.locator('tbody tr:not(.space)').count()).toBe(1);
    await goTo(watched, `notifications/${gone}`);
    await page.getByRole('heading', { level: 1, name: 'Erased recipient' }).waitFor();
    await page.getByText('It was erased with its recipient.').waitFor();
    expect(await page.getByRole('button', { name: /Retry|Send as/ }).count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    expect(await page.locator('main').innerText()).not.toMatch(/Zebrafish|Okapi|\bgone\b/);
    await goTo(watched, 'notifications');
    await page.getByRole('link', { name: 'Erased recipient' }).nth(1).waitFor();
    expect(await violations(page)).toEqual([]);
    const inbox = await herald.call('GET', '/api/v1/notify/inapp/gone', { headers: { 'x-api-key': herald.apiKey } });
    expect(inbox.body).toMatchObject({ notifications: [], unreadCount: 0 });
    expect(complaints).toEqual([]);
    await close();
  });

  it('shows what the API refuses as it said it, at its field, with the request id', async () => {
    const { page, close } = await stage.open('settings');
    const region = page.getByRole('region', { name: 'Erase a recipient' });
    await region.getByLabel('Recipient to erase').fill('no address');
    await region.getByRole('button', { name: 'Erase…' }).click();
    const answer = page.waitForResponse((response) => response.request().method() === 'DELETE');
    await page.getByRole('button', { name: 'Erase it for good' }).click();
    const { error, requestId } = (await (await answer).json()) as {
      readonly error: string;
      readonly requestId: string;
    };
    const alert = region.getByRole('alert');
    await alert.getByText(error).waitFor();
    await alert.getByText(requestId).waitFor();
    expect(await region.locator('.field.wrong label').allInnerTexts()).toEqual(['Recipient to erase']);
    expect(await region.getByLabel('Recipient to erase').inputValue()).toBe('no address');
    await close();
  });
});

describe('exchanging the webhook secret', () => {
  async function received(): Promise<SinkRequest> {
    const id = await send({ channel: 'WEBHOOK', recipient: `${sink.url}/hook`, body: 'An order' });
    const isOf = ({ body }: SinkRequest) => body.includes(id);
    await until(() => sink.requests.some(isOf), { everyMs: 50, what: 'the webhook' });
    const request = sink.requests.find(isOf);
    if (request === undefined) throw new Error('it came, and is gone');
    return request;
  }
  const signaturesOf = ({ headers }: SinkRequest) => String(headers['webhook-signature']).split(' ');
  /** By the typed client, and by the library of those who wrote the standard. */
  async function fits({ headers, body }: SinkRequest, secrets: WebhookToVerify['secrets']): Promise<boolean> {
    const byClient = await verifyWebhook({ secrets, headers, body }).then(
      ({ data }) => data.body === 'An order',
      (error: unknown) => {
        if (error instanceof WebhookVerificationError) return false;
        throw error;
      },
    );
    const byLibrary = [secrets].flat().some((secret) => {
      try {
        return new Webhook(secret).verify(body, headers as Record<string, string>) !== undefined;
      } catch {
        return false;
      }
    });
    expect(byLibrary).toBe(byClient);
    return byClient;
  }

  it('signs by both until the rotation ends, and by the new one alone from then on', async () => {
    const { id, webhookSecret } = (await herald.dashboard('GET', '/tenant')).body;
    const former = String(webhookSecret);
    const before = await received();
    expect([signaturesOf(before).length, await fits(before, former)]).toEqual([1, true]);

    const { page, complaints, close } = await stage.open('settings');
    await page.getByRole('button', { name: 'Exchange it…' }).click();
    await page.getByRole('button', { name: 'Make a new one' }).click();
    const next = (await page.getByRole('region', { name: 'Secret', exact: true }).innerText()).trim();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByText('A secret of your own signs.').waitFor();
    expect(await page.locator('body').innerText()).not.toContain(next);

    const between = await received();
    expect(signaturesOf(between)).toHaveLength(2);
    expect([await fits(between, former), await fits(between, next), await fits(between, [next, former])]).toEqual([
      true,
      true,
      true,
    ]);

    // The 24 hours, for a test: their end is moved to before now while nothing runs.
    expect(await herald.stop()).toBe(0);
    await withSettings(stage.dataDir.environment, async (settings) => {
      const stored = await settings.settings(id as TenantId);
      const signing = stored?.providers.find(({ channel }) => channel === 'WEBHOOK');
      if (signing?.previousUntil == null) throw new Error('no secret is being rotated');
      expect(signing.previousUntil).toBeGreaterThan(Date.now() + 23 * 3_600_000);
      await settings.saveProvider({ ...signing, previousUntil: Date.now() - 1 });
    });
    herald = await startHerald(stage.dataDir, { PORT: port });
    const after = await received();
    expect(signaturesOf(after)).toHaveLength(1);
    expect([await fits(after, former), await fits(after, next)]).toEqual([false, true]);
    expect(complaints).toEqual([]);
    await close();
  });
});
