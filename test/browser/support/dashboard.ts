// A service and a browser that is signed in to its dashboard.

import type { Browser } from 'playwright-core';

import type { DataDir, Environment, Herald } from '../../support/herald.ts';
import { makeDataDir, startHerald } from '../../support/herald.ts';
import { launchChromium } from './chromium.ts';

export interface Stage {
  readonly herald: Herald;
  readonly dataDir: DataDir;
  readonly browser: Browser;
  /** The link of the banner. */
  readonly link: string;
  end(): Promise<void>;
}

export async function setStage(environment: Environment = {}): Promise<Stage> {
  const dataDir = await makeDataDir();
  const browser = await launchChromium();
  const herald = await startHerald(dataDir, { RATE_LIMIT: '100000/10s', ...environment });
  return {
    herald,
    dataDir,
    browser,
    link: /http\S+\/dashboard#token=\S+/.exec(herald.banner)?.[0] ?? '',
    async end() {
      await browser.close();
      await herald.stop();
      await dataDir.remove();
    },
  };
}
