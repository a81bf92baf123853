// The order of test files: the longest first, so that none begins when all others are done. Jest knows how long they take from its cache alone, which a clean
// clone has not. What only real engines can show comes before what has run without them: that is left where CI has no more time (.ci/note-worker.mjs).

import { readFileSync, statSync } from 'node:fs';
import { relative, sep } from 'node:path';

/** By run and file: seconds, of those that take long. `.ci/run` says at its end which those are. */
const seconds = JSON.parse(readFileSync(new URL('file-seconds.json', import.meta.url), 'utf8'));

export default class LongestFirst {
  sort(tests) {
    const order = new Map(tests.map((test) => [test, [ofEngines(test), secondsOf(test), statSync(test.path).size]]));
    const of = (test) => order.get(test) ?? [0, 0, 0];
    return [...tests].sort((a, b) => of(b)[0] - of(a)[0] || of(b)[1] - of(a)[1] || of(b)[2] - of(a)[2]);
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

function ofEngines({ path }) {
  return path.endsWith('.engines.test.ts') ? 1 : 0;
}

function secondsOf({ path, context: { config } }) {
  const name = relative(config.rootDir, path).split(sep).join('/');
  return seconds[config.displayName?.name]?.[name] ?? 0;
}
