// A cache bounded by bytes, in two generations: what isn't asked for while one generation fills up is forgotten.
// A hit costs one look-up; moving every hit to the end of one Map (a strict LRU) costs 4 us with thousands of entries.

export interface Cache<V> {
  get(key: string): V | undefined;
  /** `bytes` is what the entry holds besides its key. An entry larger than an eighth of the cache isn't kept. */
  set(key: string, value: V, bytes: number): void;
  /** Bytes held, at most the cache's limit. */
  readonly bytes: number;
}

interface Entry<V> {
  readonly value: V;
  readonly bytes: number;
}

export function createCache<V>({ bytesMax }: { readonly bytesMax: number }): Cache<V> {
  let young = new Map<string, Entry<V>>();
  let old = new Map<string, Entry<V>>();
  let youngBytes = 0;
  let oldBytes = 0;

  function put(key: string, entry: Entry<V>): void {
    if (youngBytes + entry.bytes > bytesMax / 2) {
      old = young;
      oldBytes = youngBytes;
      young = new Map();
      youngBytes = 0;
    }
    youngBytes += entry.bytes - (young.get(key)?.bytes ?? 0);
    young.set(key, entry);
  }

  return {
    get(key) {
      const known = young.get(key);
      if (known !== undefined) return known.value;
      const aged = old.get(key);
      if (aged === undefined) return undefined;
      put(key, aged);
      return aged.value;
    },
    set(key, value, bytes) {
      const entry = { value, bytes: bytes + key.length * 2 };
      if (entry.bytes <= bytesMax / 8) put(key, entry);
    },
    get bytes() {
      return youngBytes + oldBytes;
    },
  };
}
