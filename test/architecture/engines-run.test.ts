// The run on real engines repeats each end-to-end test that can run there, and none that would start the embedded engines a second time.

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { expect, it } from '@jest/globals';

/** A program without types. */
const config: string = '../../jest.engines.config.js';
const folder = fileURLToPath(new URL('../e2e/', import.meta.url));

it('leaves out the end-to-end tests that start nothing but embedded engines, and those alone', async () => {
  const { default: engines } = (await import(config)) as { default: { testPathIgnorePatterns: readonly string[] } };
  const all = readdirSync(folder).filter((name) => name.endsWith('.test.ts') && !name.endsWith('.engines.test.ts'));
  const isLeftOut = (name: string) =>
    engines.testPathIgnorePatterns.some((path) => new RegExp(path).test(folder + name));
  expect(all.filter(isLeftOut)).toEqual(all.filter((name) => isEmbeddedAlone(readFileSync(folder + name, 'utf8'))));
  expect(all.filter(isLeftOut).length).toBeGreaterThan(0);
});

/** Its folders are made for the embedded engines by name, or are copies of such ones (test/support/installations.ts). */
function isEmbeddedAlone(text: string): boolean {
  const isEmbedded = text.includes("makeDataDir('embedded')") || text.includes('createInstallations(');
  return isEmbedded && !text.includes('makeDataDir()');
}
