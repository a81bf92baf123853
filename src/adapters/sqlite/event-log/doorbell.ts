// Wakes the readers of a connected thread: the writing thread sends a message only when this one says that it sleeps, and at most 500 a second.

import type { Ends } from './ends.ts';
import type { SharedEventLog } from './shared.ts';
import { createWakeups, type Wakeups } from './wakeups.ts';

export interface Doorbell {
  readonly wakeups: Wakeups;
  /** The message came. */
  rung(): void;
  close(): void;
}

/** After a message the next one isn't asked for sooner: under load readers are woken together. */
const restMs = 2;
/** In case a message is lost: there is no way known to lose one. */
const safetyMs = 1000;

export function createDoorbell({
  asleep,
  slots,
  ends,
}: {
  asleep: SharedEventLog['asleep'];
  slots: number;
  ends: Ends;
}): Doorbell {
  const flag = new Int32Array(asleep);
  const seen = Float64Array.from({ length: slots }, (_, slot) => ends.get(slot));
  let resting: NodeJS.Timeout | null = null;

  const look = () => {
    for (let slot = 0; slot < slots; slot++) {
      const end = ends.get(slot);
      if (end === seen[slot]) continue;
      seen[slot] = end;
      wakeups.moved(slot);
    }
  };

  /** First the flag, then the look: what moves after the look finds the flag. */
  const listen = () => {
    if (wakeups.size === 0) return;
    Atomics.store(flag, 0, 1);
    look();
  };

  const wakeups = createWakeups(slots, () => {
    if (resting === null) Atomics.store(flag, 0, 1);
  });
  const safety = setInterval(listen, safetyMs);
  safety.unref();

  return {
    wakeups,
    rung() {
      look();
      resting ??= setTimeout(() => {
        resting = null;
        listen();
      }, restMs);
    },
    close() {
      clearInterval(safety);
      if (resting !== null) clearTimeout(resting);
    },
  };
}
