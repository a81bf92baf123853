// Loads that are under way: who asks for the same thing meanwhile waits for the same load. One that was begun before
// a change can be abandoned: it still answers those who wait for it, and nobody who comes later.

export interface SharedLoads {
  /** @param load is told whether it was abandoned, to be asked before its result is kept */
  share<T>(name: string, load: (isAbandoned: () => boolean) => Promise<T>): Promise<T>;
  abandon(name: string): void;
  abandonAll(): void;
}

export function createSharedLoads(): SharedLoads {
  const underWay = new Map<string, { readonly result: Promise<unknown> }>();
  return {
    share<T>(name: string, load: (isAbandoned: () => boolean) => Promise<T>): Promise<T> {
      const known = underWay.get(name);
      // A name stands for one kind of thing, so what it was begun with is what is asked for.
      if (known !== undefined) return known.result as Promise<T>;
      const isAbandoned = () => underWay.get(name) !== entry;
      const result = Promise.resolve()
        .then(() => load(isAbandoned))
        .finally(() => {
          if (underWay.get(name) === entry) underWay.delete(name);
        });
      const entry = { result };
      underWay.set(name, entry);
      return result;
    },
    abandon: (name) => void underWay.delete(name),
    abandonAll() {
      underWay.clear();
    },
  };
}
