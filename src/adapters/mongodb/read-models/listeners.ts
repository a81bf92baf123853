// Who wants to know when a read model moves. Listeners are called once per turn however often it moved.

export interface Listeners {
  /** Returns the call that ends it. */
  add(readModel: string, listener: () => void): () => void;
  changed(readModel: string): void;
  changedAll(): void;
}

export function createListeners(): Listeners {
  const byModel = new Map<string, Set<() => void>>();
  const due = new Set<string>();

  const callDue = () => {
    const names = [...due];
    due.clear();
    for (const name of names) for (const listener of byModel.get(name) ?? []) listener();
  };
  const changed = (readModel: string) => {
    if (!byModel.has(readModel)) return;
    if (due.size === 0) setImmediate(callDue);
    due.add(readModel);
  };
  return {
    add(readModel, listener) {
      // An object of its own for each call, so that the same function may listen twice.
      const own = () => listener();
      const set = byModel.get(readModel) ?? new Set();
      byModel.set(readModel, set.add(own));
      return () => {
        set.delete(own);
        if (set.size === 0 && byModel.get(readModel) === set) byModel.delete(readModel);
      };
    },
    changed,
    changedAll() {
      for (const name of byModel.keys()) changed(name);
    },
  };
}
