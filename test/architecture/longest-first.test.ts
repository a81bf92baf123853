// What is known of how long test files take is about files that there are, and decides which begin first.

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { expect, it } from '@jest/globals';

const root = new URL('../../', import.meta.url);
/** Programs without types. */
const sequencer: string = '../support/longest-first.js';
const repeated: string = '../support/repeated-on-engines.js';
const seconds = JSON.parse(readFileSync(new URL('test/support/file-seconds.json', root), 'utf8')) as Record<
  string,
  Record<string, number>
>;

it('the files of which it is known how long they take are there', () => {
  const files = Object.values(seconds).flatMap((of) => Object.keys(of));
  expect(files.filter((file) => !existsSync(new URL(file, root)))).toEqual([]);
  expect(Object.keys(seconds).toSorted()).toEqual(['embedded', 'engines', 'tools']);
});

it('the longest begin first, and of those of which nothing is known the largest', async () => {
  const { default: LongestFirst } = (await import(sequencer)) as {
    default: new () => { sort(tests: readonly object[]): { readonly path: string }[] };
  };
  const config = { rootDir: fileURLToPath(root), displayName: { name: 'tools', color: 'white' } };
  const known = Object.keys(seconds['tools'] ?? {});
  const ofSize = ['test/e2e/terminal.test.ts', 'test/architecture/longest-first.test.ts'];
  const paths = [...ofSize, ...known].toReversed().map((file) => fileURLToPath(new URL(file, root)));
  const sorted = new LongestFirst().sort(paths.map((path) => ({ path, context: { config } })));
  const byLength = known.toSorted((a, b) => (seconds['tools']?.[b] ?? 0) - (seconds['tools']?.[a] ?? 0));
  expect(sorted.map(({ path }) => path)).toEqual(
    [...byLength, ...ofSize].map((file) => fileURLToPath(new URL(file, root))),
  );
});

it('on engines, what only they can show begins before what has run without them, and of that the shortest', async () => {
  const { default: LongestFirst } = (await import(sequencer)) as {
    default: new () => { sort(tests: readonly object[]): { readonly path: string }[] };
  };
  const config = { rootDir: fileURLToPath(root), displayName: { name: 'engines', color: 'white' } };
  const { isRepeatedOnEngines } = (await import(repeated)) as { isRepeatedOnEngines(path: string): boolean };
  const known = seconds['engines'] ?? {};
  const lengths = (isOwn: boolean) =>
    Object.keys(known)
      .filter((file) => isRepeatedOnEngines(file) !== isOwn)
      .map((file) => known[file] ?? 0)
      .toSorted((a, b) => (isOwn ? b - a : a - b));
  const paths = Object.keys(known).map((file) => fileURLToPath(new URL(file, root)));
  const sorted = new LongestFirst().sort(paths.map((path) => ({ path, context: { config } })));
  const sortedLengths = sorted.map(({ path }) => known[path.slice(fileURLToPath(root).length)]);
  expect(sortedLengths).toEqual([...lengths(true), ...lengths(false)]);
  expect(lengths(true).length * lengths(false).length).toBeGreaterThan(0);
});
