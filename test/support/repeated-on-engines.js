// Which test files of the run on real engines show there, on other engines, what they have shown without them. CI leaves those out when it has no more time.

/** Of test/e2e: what has tests for real engines alone, or starts a second process there. */
const showMoreOnEngines = [
  'erasure',
  'idempotency',
  'provider-down',
  'provider-rates',
  'random-failures',
  'start',
  'tenant-erasure',
];

export function isRepeatedOnEngines(path) {
  const [, name = ''] = /([^/\\]+)\.test\.ts$/.exec(path) ?? [];
  return !name.endsWith('.engines') && !showMoreOnEngines.includes(name);
}
