// A real Chromium, the system's own (CHROMIUM names another), and pages in it of which everything is noted that they ask for and complain of.

import { existsSync } from 'node:fs';

import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { chromium } from 'playwright-core';

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export function chromiumPath(): string {
  const path = process.env['CHROMIUM'] ?? places.find((place) => existsSync(place));
  if (path === undefined) throw new Error('There is no Chromium: apt-get install chromium, or set CHROMIUM.');
  return path;
}

/** As root, which a container's only user often is, its sandbox can't be made. */
export function chromiumArguments(): string[] {
  return process.getuid?.() === 0 ? ['--no-sandbox'] : [];
}

export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath(), args: chromiumArguments() });
}

export interface WatchedPage {
  readonly page: Page;
  /** Hosts that anything was asked of. */
  readonly hosts: ReadonlySet<string>;
  /** What broke in the page, or was refused by its policy. */
  readonly complaints: readonly string[];
  close(): Promise<void>;
}

export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  // Sooner than the test ends: what was waited for is said then.
  context.setDefaultTimeout(25_000);
  const page = await context.newPage();
  const hosts = new Set<string>();
  const complaints: string[] = [];
  context.on('request', (request) => {
    const { host, protocol } = new URL(request.url());
    if (protocol !== 'data:' && protocol !== 'about:') hosts.add(host);
  });
  page.on('pageerror', (error) => void complaints.push(error.message));
  page.on('console', (message) => {
    // Answers that aren't 2xx are the page's to show: the browser notes each of them.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text());
  });
  return { page, hosts, complaints, close: () => context.close() };
}

/** In the page: pages of a browser without a window all count as seen. */
export function beHidden(isHidden: boolean): void {
  Object.defineProperty(document, 'hidden', { value: isHidden, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}
