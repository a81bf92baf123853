// A first-in, first-out queue with constant cost at both ends.

export interface Fifo<T> {
  readonly size: number;
  push(item: T): void;
  /** Before everything else: for what was taken too early. */
  putBack(item: T): void;
  shift(): T | undefined;
  /** Removes what the predicate names, in one pass. */
  removeWhere(predicate: (item: T) => boolean): void;
}

/** Places freed at the front are given back once there are so many of them and they are half of all. */
const compactAt = 64;

export function createFifo<T>(): Fifo<T> {
  let items: (T | undefined)[] = [];
  let first = 0;

  return {
    get size() {
      return items.length - first;
    },
    push(item) {
      items.push(item);
    },
    putBack(item) {
      if (first > 0) items[--first] = item;
      else items.unshift(item);
    },
    shift() {
      if (first === items.length) return undefined;
      const item = items[first];
      items[first++] = undefined;
      if (first >= compactAt && first * 2 >= items.length) {
        items = items.slice(first);
        first = 0;
      }
      return item;
    },
    removeWhere(predicate) {
      items = items.slice(first).filter((item) => !predicate(item as T));
      first = 0;
    },
  };
}
