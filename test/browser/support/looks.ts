// What is looked at on every page: that it has come to rest, and what axe has against it.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

import { until } from '../../support/until.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Whatever it asked for is shown. */
export async function settled(page: Page): Promise<void> {
  await page.locator('.loading').first().waitFor({ state: 'detached' });
  await until(async () => !(await page.locator('main').innerText()).includes('Loading…'), { everyMs: 50 });
}

/** Each rule that is broken, and by what. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(`${axe};0`);
  return page.evaluate(async () => {
    const { axe: run } = globalThis as unknown as { axe: { run(at: Document, options: object): Promise<AxeResults> } };
    const found = await run.run(document, { resultTypes: ['violations'] });
    return found.violations.map(
      ({ id, nodes }) => `${id}: ${[...new Set(nodes.map(({ html }) => html.slice(0, 100)))].join(', ')}`,
    );
  });
}
