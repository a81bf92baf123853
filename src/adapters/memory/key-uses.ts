// When further API keys were used last: noted in memory, at most once a minute a key, and written together some seconds later.

import type { ApiKeyId, TenantId } from '../../domain/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { KeyUse, SettingsStore } from '../../ports/settings-store.ts';
import { createBoundedCache } from './bounded-cache.ts';

/** A key is noted again after this. */
const noteEveryMs = 60_000;
const writeAfterMs = 10_000;
/** What waits to be written; what comes past it is noted at its next use. */
const waitingMax = 10_000;
/** Keys of which it is known when they were noted; one that was forgotten is noted once more. */
const notedMax = 20_000;

export interface KeyUses {
  /** Costs a look into memory; never waits. */
  note(tenantId: TenantId, id: ApiKeyId): void;
  /** Writes what waits. */
  close(): Promise<void>;
}

export function createKeyUses({
  store,
  clock,
  logger,
}: {
  readonly store: Pick<SettingsStore, 'noteKeyUses'>;
  readonly clock: Clock;
  readonly logger: Logger;
}): KeyUses {
  const notedAt = createBoundedCache<number>({ weightMax: notedMax });
  const closing = new AbortController();
  let waiting: KeyUse[] = [];
  let isPlanned = false;
  let writing: Promise<void> = Promise.resolve();

  /** What can't be written is let go: a time of last use is no promise, and the next use is noted again. */
  const write = async (): Promise<void> => {
    const uses = waiting;
    waiting = [];
    isPlanned = false;
    try {
      await store.noteKeyUses(uses);
    } catch (err) {
      for (const { id } of uses) notedAt.delete(id);
      logger.warn('the last uses of API keys were not written', { err, keys: uses.length });
    }
  };

  return {
    note(tenantId, id) {
      const last = notedAt.get(id);
      if (last !== undefined && clock.monotonic() - last < noteEveryMs) return;
      if (waiting.length >= waitingMax) return;
      notedAt.set(id, clock.monotonic());
      waiting.push({ tenantId, id, at: clock.now() });
      if (isPlanned) return;
      isPlanned = true;
      writing = writing.then(() => clock.sleep(writeAfterMs, closing.signal)).then(write);
    },
    async close() {
      closing.abort();
      await writing;
    },
  };
}
