// The settings of a Herald under test, opened beside its processes: what lies in the store, and a hand in it.

import { createClock } from '../../src/adapters/node/clock.ts';
import { readConfig } from '../../src/main/config.ts';
import { openSettings } from '../../src/main/engines.ts';
import type { SettingsStore } from '../../src/ports/settings-store.ts';
import type { Environment } from './data-dir.ts';

const logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Whichever engines the environment names. */
export async function withSettings<T>(
  environment: Environment,
  use: (settings: SettingsStore) => Promise<T>,
): Promise<T> {
  const { signal } = new AbortController();
  const { settings, close } = await openSettings({
    config: readConfig(environment),
    clock: createClock(),
    logger,
    signal,
  });
  try {
    return await use(settings);
  } finally {
    await close();
  }
}
