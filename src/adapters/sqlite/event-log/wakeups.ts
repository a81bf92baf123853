// Who waits for which partition: woken once it has more events.

export interface Sleeper {
  readonly slots: readonly number[];
  /** Called once, outside the sleepers' lists by then. */
  wake(): void;
}

export interface Wakeups {
  add(sleeper: Sleeper): void;
  remove(sleeper: Sleeper): void;
  /** Wakes those that wait for this slot. */
  moved(slot: number): void;
  /** Whether somebody waits for this slot. */
  isAwaited(slot: number): boolean;
  readonly size: number;
}

/** @param onAdd called after each addition: where moves are told by another thread, it asks to be told */
export function createWakeups(slots: number, onAdd: () => void = () => {}): Wakeups {
  const waiting: Set<Sleeper>[] = Array.from({ length: slots }, () => new Set());
  let size = 0;

  const remove = (sleeper: Sleeper) => {
    let found = false;
    for (const slot of sleeper.slots) found = waiting[slot]?.delete(sleeper) || found;
    if (found) size--;
  };

  return {
    add(sleeper) {
      for (const slot of sleeper.slots) waiting[slot]?.add(sleeper);
      size++;
      onAdd();
    },
    remove,
    moved(slot) {
      const sleepers = waiting[slot];
      if (sleepers === undefined || sleepers.size === 0) return;
      for (const sleeper of sleepers) {
        remove(sleeper);
        sleeper.wake();
      }
    },
    isAwaited: (slot) => (waiting[slot]?.size ?? 0) > 0,
    get size() {
      return size;
    },
  };
}
