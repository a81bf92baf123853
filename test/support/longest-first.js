// The order of test files: the longest first, so that none begins when all others are done. Jest knows how long they take from its cache alone, which a clean
// clone has not. On real engines, what only they can show comes first; what has run without them is left where CI has no more time (.ci/note-worker.mjs), so the
// shortest of it begin first.

import { readFileSync, statSync } from 'node:fs';
import { relative, sep } from 'node:path';

import { isRepeatedOnEngines } from './repeated-on-engines.js';

/** By run and file: seconds, of those that take long. `.ci/run` says at its end which those are. */
const seconds = JSON.parse(readFileSync(new URL('file-seconds.json', import.meta.url), 'utf8'));

export default class LongestFirst {
  sort(tests) {
    const order = new Map(tests.map((test) => [test, [secondsOf(test), statSync(test.path).size]]));
    const byLength = [...tests].sort((a, b) => {
      const [[aSeconds, aBytes], [bSeconds, bBytes]] = [order.get(a), order.get(b)];
      return bSeconds - aSeconds || bBytes - aBytes;
    });
    const [own, repeated] = [false, true].map((is) => byLength.filter((test) => isRepeated(test) === is));
    return [...own, ...repeated.toReversed()];
  }

  /** Each part has some of the longest. */
  shard(tests, { shardIndex, shardCount }) {
    return this.sort(tests).filter((_, i) => i % shardCount === shardIndex - 1);
  }

  /** What failed last is not kept. */
  allFailedTests(tests) {
    return tests;
  }

  cacheResults() {}
}

function isRepeated({ path, context: { config } }) {
  return config.displayName?.name === 'engines' && isRepeatedOnEngines(path);
}

function secondsOf({ path, context: { config } }) {
  const name = relative(config.rootDir, path).split(sep).join('/');
  return seconds[config.displayName?.name]?.[name] ?? 0;
}
