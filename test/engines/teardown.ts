// Jest's globalTeardown of the tests on real engines: stops what setup.ts started.

export default async function teardown(): Promise<void> {
  const shared = globalThis as Readonly<Record<symbol, (() => Promise<void>) | undefined>>;
  await shared[Symbol.for('herald.stopEngines')]?.();
}
