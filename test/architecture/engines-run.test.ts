// The run on real engines repeats each end-to-end test that can run there, and none that would start the embedded engines a second time.

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { expect, it } from '@jest/globals';

/** Programs without types. */
const config: string = '../../jest.engines.config.js';
const repeated: string = '../support/repeated-on-engines.js';
const folder = fileURLToPath(new URL('../e2e/', import.meta.url));

it('leaves out the end-to-end tests that start nothing but embedded engines, and those alone', async () => {
  const { default: engines } = (await import(config)) as { default: { testPathIgnorePatterns: readonly string[] } };
  const all = readdirSync(folder).filter((name) => name.endsWith('.test.ts') && !name.endsWith('.engines.test.ts'));
  const isLeftOut = (name: string) =>
    engines.testPathIgnorePatterns.some((path) => new RegExp(path).test(folder + name));
  expect(all.filter(isLeftOut)).toEqual(all.filter((name) => isEmbeddedAlone(readFileSync(folder + name, 'utf8'))));
  expect(all.filter(isLeftOut).length).toBeGreaterThan(0);
});

it('never leaves out for want of time what only real engines show: tests for them alone, and second processes', async () => {
  const { isRepeatedOnEngines } = (await import(repeated)) as { isRepeatedOnEngines(path: string): boolean };
  const all = readdirSync(folder).filter((name) => name.endsWith('.test.ts') && !name.endsWith('.engines.test.ts'));
  const showsMore = (text: string) =>
    text.includes('realOnly(') || /engineSet === 'embedded' \? 1 : 2|engineSet === 'real'\) services\.push/.test(text);
  expect(all.filter((name) => !isRepeatedOnEngines(folder + name))).toEqual(
    all.filter((name) => showsMore(readFileSync(folder + name, 'utf8'))),
  );
  expect(isRepeatedOnEngines(`${folder}cluster/roles.engines.test.ts`)).toBe(false);
  expect(isRepeatedOnEngines(`${folder}delivery.test.ts`)).toBe(true);
});

/** Its folders are made for the embedded engines by name, or are copies of such ones (test/support/installations.ts). */
function isEmbeddedAlone(text: string): boolean {
  const isEmbedded = text.includes("makeDataDir('embedded')") || text.includes('createInstallations(');
  return isEmbedded && !text.includes('makeDataDir()');
}
