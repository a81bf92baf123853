// A cache of bounded weight. What wasn't used since it was last passed over goes first (second chance: close to least
// recently used, and a hit costs one flag).

export interface BoundedCache<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
  delete(key: string): void;
  clear(): void;
}

export interface BoundedCacheOptions<V> {
  /** The sum of the weights of what is kept; a single heavier value isn't. */
  readonly weightMax: number;
  /** By default 1: `weightMax` is a number of values. */
  readonly weightOf?: (value: V) => number;
}

interface Slot<V> {
  readonly value: V;
  readonly weight: number;
  wasUsed: boolean;
}

export function createBoundedCache<V>({ weightMax, weightOf = () => 1 }: BoundedCacheOptions<V>): BoundedCache<V> {
  const slots = new Map<string, Slot<V>>();
  let weight = 0;

  const remove = (key: string) => {
    const slot = slots.get(key);
    if (slot === undefined) return;
    slots.delete(key);
    weight -= slot.weight;
  };
  /** Ends: a slot that is passed over has lost its flag and goes when it comes round again. */
  const makeRoom = () => {
    for (const [key, slot] of slots) {
      if (weight <= weightMax) return;
      slots.delete(key);
      if (slot.wasUsed) slots.set(key, { ...slot, wasUsed: false });
      else weight -= slot.weight;
    }
  };
  return {
    get(key) {
      const slot = slots.get(key);
      if (slot === undefined) return undefined;
      slot.wasUsed = true;
      return slot.value;
    },
    set(key, value) {
      remove(key);
      const slot = { value, weight: weightOf(value), wasUsed: false };
      if (slot.weight > weightMax) return;
      weight += slot.weight;
      makeRoom();
      slots.set(key, slot);
    },
    delete: remove,
    clear() {
      slots.clear();
      weight = 0;
    },
  };
}
