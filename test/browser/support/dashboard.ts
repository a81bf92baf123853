// A service and a browser that is signed in to its dashboard.

import type { Browser, BrowserContextOptions } from 'playwright-core';

import type { DataDir, Environment, Herald } from '../../support/herald.ts';
import { makeDataDir, startHerald } from '../../support/herald.ts';
import type { WatchedPage } from './chromium.ts';
import { launchChromium, openPage } from './chromium.ts';

export interface Stage {
  readonly herald: Herald;
  readonly dataDir: DataDir;
  readonly browser: Browser;
  /** The link of the banner. */
  readonly link: string;
  /** Signed in, at a page of the dashboard: `notifications?status=FAILED`. */
  open(at: string, options?: BrowserContextOptions): Promise<WatchedPage>;
  /** Ends the service, unless a test has. */
  end(options?: { readonly isStopped: boolean }): Promise<void>;
}

export async function setStage(environment: Environment = {}): Promise<Stage> {
  const dataDir = await makeDataDir();
  const browser = await launchChromium();
  const herald = await startHerald(dataDir, { RATE_LIMIT: '100000/10s', ...environment });
  const link = /http\S+\/dashboard#token=\S+/.exec(herald.banner)?.[0] ?? '';
  return {
    herald,
    dataDir,
    browser,
    link,
    async open(at, options) {
      const watched = await openPage(browser, options);
      await watched.page.goto(link);
      await watched.page.getByRole('heading', { level: 1 }).waitFor();
      await goTo(watched, at);
      return watched;
    },
    async end({ isStopped } = { isStopped: false }) {
      await browser.close();
      if (!isStopped) await herald.stop();
      await dataDir.remove();
    },
  };
}

/** Another page of the dashboard, by its address. */
export async function goTo({ page }: Pick<WatchedPage, 'page'>, at: string): Promise<void> {
  await page.evaluate((hash) => void (location.hash = hash), `#/${at}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
}
