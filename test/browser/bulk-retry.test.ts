// A bulk retry is of what its dialog says: of the filters that it was opened with, and once, whatever became of the answer.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';
import type { Stage } from './support/dashboard.ts';
import { goTo, setStage } from './support/dashboard.ts';

let stage: Stage;
let sink: HttpSink;

beforeAll(async () => {
  sink = await startHttpSink({ respond: (_, response) => void response.writeHead(400).end() });
  stage = await setStage({ RETRY_DELAYS: '1ms' });
});
afterAll(async () => {
  await stage.end();
  await sink.close();
});

async function failed(priorities: readonly string[]): Promise<void> {
  const ids: string[] = [];
  for (const priority of priorities) {
    const { body } = await stage.herald.notify({ channel: 'WEBHOOK', recipient: `${sink.url}/x`, body: 'x', priority });
    ids.push(String(body['notificationId']));
  }
  await until(
    async () => {
      const { body } = await stage.herald.dashboard('GET', '/notifications?status=FAILED');
      const found = new Set((body['data'] as { readonly id: string }[]).map(({ id }) => id));
      return ids.every((id) => found.has(id));
    },
    { what: 'the webhooks to fail', everyMs: 50 },
  );
}

it('of a list says its filters, and ends with another address', async () => {
  await failed(['DEFAULT', 'HIGH']);
  const watched = await stage.open('notifications?status=FAILED&channel=WEBHOOK');
  const { page, close } = watched;
  await goTo(watched, 'notifications?status=FAILED&priority=HIGH');
  await page.getByText('1 found').waitFor();
  await page.getByRole('button', { name: 'Retry all that are found…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('1 failed notifications are sent again').waitFor();
  expect(await dialog.locator('dl').innerText()).toMatch(/^priority\s+HIGH$/);
  await page.goBack();
  await page.getByText('2 found').waitFor();
  expect(await dialog.count()).toBe(0);
  await close();
});

it('of a cause ends with another address, too', async () => {
  const watched = await stage.open('?channel=WEBHOOK');
  const { page, close } = watched;
  await goTo(watched, '');
  await page.getByRole('button', { name: 'Send again…' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('2 failed notifications are sent again').waitFor();
  await page.goBack();
  await page.waitForURL(/channel=WEBHOOK/);
  await dialog.waitFor({ state: 'detached' });
  await close();
});

it('is of the same ones after a refusal, and without an answer of all that had failed in the second of the count', async () => {
  const { page, close } = await stage.open('notifications?status=FAILED');
  const answers = ['refused', 'lost', 'refused'];
  const filters: { readonly failedTo?: string }[] = [];
  await page.route('**/api/v1/notifications/retry', (route) => {
    const { dryRun, filter } = route.request().postDataJSON() as { dryRun?: boolean; filter: { failedTo?: string } };
    if (dryRun === true) return route.continue();
    filters.push(filter);
    if (answers.shift() === 'lost') return route.abort();
    const json = { code: 'SERVICE_UNAVAILABLE', error: 'Busy.', details: [], requestId: 'req_x' };
    return route.fulfill({ status: 503, json });
  });
  const counting = page.waitForResponse('**/api/v1/notifications/retry');
  await page.getByRole('button', { name: 'Retry all that are found…' }).click();
  const countedAt = Date.parse((await (await counting).allHeaders())['date'] ?? '');
  const dialog = page.getByRole('dialog');
  for (const said of ['Busy.', 'can’t be reached', 'Busy.']) {
    await dialog.getByText('2 failed notifications are sent again').waitFor();
    await dialog.getByRole('button', { name: 'Send them again' }).click();
    await dialog.getByRole('alert').getByText(said).waitFor();
  }
  await dialog.getByText('2 failed notifications are sent again').waitFor();
  expect(filters.map(({ failedTo }) => failedTo)).toEqual([
    undefined,
    undefined,
    new Date(countedAt + 1000).toISOString(),
  ]);
  await close();
});

it('sends each once, though its answer is lost and it is asked for again', async () => {
  const before = sink.requests.length;
  const { page, close } = await stage.open('notifications?status=FAILED');
  let asked = 0;
  await page.route('**/api/v1/notifications/retry', async (route) => {
    if ((route.request().postData() ?? '').includes('dryRun')) return route.continue();
    asked += 1;
    if (asked > 1) return route.continue();
    // Within another second than that in which they were counted.
    await new Promise((resolve) => setTimeout(resolve, 1100));
    await route.fetch();
    await until(() => sink.requests.length === before + 2, { what: 'the job', everyMs: 50 });
    return route.abort();
  });
  await page.getByRole('button', { name: 'Retry all that are found…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('2 failed notifications are sent again').waitFor();
  await dialog.getByRole('button', { name: 'Send them again' }).click();
  await dialog.getByRole('alert').waitFor();
  await dialog.getByText('None of them is left').waitFor();
  expect(await dialog.getByRole('button', { name: 'Send them again' }).isDisabled()).toBe(true);
  expect(asked).toBe(1);
  await close();
});
