// Two people at one template or provider: what the other one has saved meanwhile is replaced by nobody who doesn't know of it.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';

import { beHidden } from './support/chromium.ts';
import type { Stage } from './support/dashboard.ts';
import { setStage } from './support/dashboard.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await setStage();
});
afterAll(() => stage.end());

/** Its tab was left, and its stream can't be opened at once when somebody comes back: then the page reads anew what it shows. */
async function readAnew(page: Page, path: string): Promise<void> {
  await page.clock.install();
  await page.evaluate(beHidden, true);
  await page.clock.fastForward(6000);
  let opened = 0;
  await page.route('**/api/v1/dashboard/stream', (route) => (++opened === 1 ? route.abort() : route.continue()));
  const read = page.waitForResponse((response) => response.url().endsWith(path) && response.ok());
  await page.evaluate(beHidden, false);
  await (await read).finished();
}

it('a template is compared with the other one’s version before it is saved', async () => {
  const template = { name: 'terms', channel: 'IN_APP', subject: 'S', body: 'one' };
  const made = await stage.herald.dashboard('POST', '/templates', template);
  const path = `/templates/${String(made.body['id'])}`;
  const version = async () => {
    const { body } = await stage.herald.dashboard('GET', `${path}/versions`);
    return (body['data'] as { readonly version: number; readonly subject: string }[])[0];
  };
  const { page, close } = await stage.open(path.slice(1));
  await page.getByLabel('Subject').fill('Mine');
  await stage.herald.dashboard('PUT', path, { ...template, body: 'of the other one' });
  await page.getByRole('button', { name: 'Save as version 2' }).click();
  await page.getByRole('alert').getByText('Version 2 was saved since this page read the template.').waitFor();
  expect(await version()).toMatchObject({ version: 2, subject: 'S' });
  await page.getByRole('region', { name: 'Changed lines' }).getByText('of the other one').waitFor();
  await page.getByRole('button', { name: 'Save as version 3' }).click();
  await page.getByText('Version 3 is in use.').waitFor();
  expect(await version()).toMatchObject({ version: 3, subject: 'Mine' });
  await close();
});

it('a provider that was changed meanwhile is replaced when it is saved once more, its secrets left as they are by now', async () => {
  const config = { fromName: 'A', fromEmail: 'a@a.example', domain: 'mg.a.example', region: 'eu' };
  const mailgun = { channel: 'EMAIL', provider: 'mailgun', apiKey: 'key-of-mailgun-itself', config };
  expect((await stage.herald.dashboard('POST', '/providers', mailgun)).status).toBe(200);
  const stored = async () => {
    const { body } = await stage.herald.dashboard('GET', '/providers');
    return (body as unknown as { readonly channel: string }[]).find(({ channel }) => channel === 'EMAIL');
  };
  const { page, close } = await stage.open('providers');
  await page.getByRole('region', { name: 'Email' }).getByRole('button', { name: 'Edit' }).click();
  const others = { ...mailgun, callbackSecret: 'a-signing-key-of-mailgun', enabled: false };
  expect((await stage.herald.dashboard('POST', '/providers', others)).status).toBe(200);
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('From name').fill('B');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByRole('alert').getByText('The provider was changed since this page read it.').waitFor();
  const before = await stored();
  expect(before).toMatchObject({ enabled: false, config: { fromName: 'A' } });
  // Behind the form the page shows it as it is now.
  await page.locator('section', { hasText: 'disabled' }).first().waitFor();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('It is saved.').waitFor();
  const { callbackSecret } = { ...before } as { readonly callbackSecret?: string };
  expect(callbackSecret).toContain('•');
  expect(await stored()).toMatchObject({ enabled: true, config: { fromName: 'B' }, callbackSecret });
  await close();
});

describe('also where the page has read it anew behind what is typed', () => {
  it('a template', async () => {
    const template = { name: 'prices', channel: 'IN_APP', subject: 'S', body: 'one' };
    const made = await stage.herald.dashboard('POST', '/templates', template);
    const path = `/templates/${String(made.body['id'])}`;
    const { page, close } = await stage.open(path.slice(1));
    await page.getByLabel('Subject').fill('Mine');
    await stage.herald.dashboard('PUT', path, { ...template, body: 'of the other one' });
    await readAnew(page, '/templates');
    await page.getByText('Version 2 is in use.').waitFor();
    await page.getByRole('button', { name: 'Save as version 3' }).click();
    await page.getByRole('alert').getByText('Version 2 was saved since this page read the template.').waitFor();
    await page.getByRole('button', { name: 'Save as version 3' }).click();
    await page.getByText('Version 3 is in use.').waitFor();
    // What one has saved oneself is asked about by nobody.
    await page.getByLabel('Subject').fill('Mine, again');
    await page.getByRole('button', { name: 'Save as version 4' }).click();
    await page.getByText('Version 4 is in use.').waitFor();
    await close();
  });

  it('a provider', async () => {
    const config = { fromName: 'A', fromEmail: 'a@a.example', domain: 'mg.a.example', region: 'eu' };
    const mailgun = { channel: 'EMAIL', provider: 'mailgun', apiKey: 'key-of-mailgun-itself', config };
    expect((await stage.herald.dashboard('POST', '/providers', mailgun)).status).toBe(200);
    const { page, close } = await stage.open('providers');
    await page.getByRole('region', { name: 'Email' }).getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('From name').fill('B');
    expect((await stage.herald.dashboard('POST', '/providers', { ...mailgun, enabled: false })).status).toBe(200);
    await readAnew(page, '/providers');
    await page.locator('section', { hasText: 'disabled' }).first().waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('alert').getByText('The provider was changed since this page read it.').waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('It is saved.').waitFor();
    await close();
  });
});
