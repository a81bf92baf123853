// Looks every so often which tenants' settings have changed, and knows how long ago the last look succeeded.

import type { TenantId } from '../../domain/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { SettingsStore } from '../../ports/settings-store.ts';

export interface SettingsWatchOptions {
  readonly store: Pick<SettingsStore, 'changesSince'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pollMs: number;
  /** At least one tenant. */
  changed(tenantIds: readonly TenantId[]): void;
}

export interface SettingsWatch {
  /** The first look, then one every `pollMs`. Rejects when the store is away. */
  start(): Promise<void>;
  close(): Promise<void>;
  /** ms since the last look that succeeded; infinite before the first. */
  ageMs(): number;
}

export function watchSettings({ store, clock, logger, pollMs, changed }: SettingsWatchOptions): SettingsWatch {
  const closing = new AbortController();
  let revision = 0;
  let lastLookAt = Number.NEGATIVE_INFINITY;
  let polling: Promise<void> = Promise.resolve();

  /** A store tells of a bounded number of tenants at once: the last look of a round tells of none. */
  const look = async (): Promise<void> => {
    for (;;) {
      const changes = await store.changesSince(revision);
      revision = changes.revision;
      lastLookAt = clock.monotonic();
      if (changes.tenantIds.length === 0) return;
      changed(changes.tenantIds);
    }
  };
  const poll = async (): Promise<void> => {
    let isAway = false;
    for (;;) {
      await clock.sleep(pollMs, closing.signal);
      if (closing.signal.aborted) return;
      try {
        await look();
        if (isAway) logger.info('the settings are back');
        isAway = false;
      } catch (err) {
        if (!isAway) logger.warn('the settings cannot be reached: what is known is served', { err });
        isAway = true;
      }
    }
  };

  return {
    async start() {
      await look();
      polling = poll();
    },
    async close() {
      closing.abort();
      await polling;
    },
    ageMs: () => clock.monotonic() - lastLookAt,
  };
}
