// A first-in, first-out queue with constant cost at both ends.

export interface Fifo<T> {
  readonly size: number;
  push(item: T): void;
  /** Before everything that isn't older: for what was taken too early. Costs a step for each older item. */
  putBack(item: T): void;
  shift(): T | undefined;
  /** The first one, which stays. */
  peek(): T | undefined;
  /** Removes what the predicate names, in one pass. */
  removeWhere(predicate: (item: T) => boolean): void;
}

/** Places freed at the front are given back once there are so many of them and they are half of all. */
const compactAt = 64;

/** @param isOlder whether `a` was pushed before `b`; without it what is put back goes before everything else */
export function createFifo<T>(isOlder: (a: T, b: T) => boolean = () => false): Fifo<T> {
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
      if (first > 0) first--;
      else items.unshift(undefined);
      let place = first;
      for (let next = items[place + 1]; next !== undefined && isOlder(next, item); next = items[place + 1]) {
        items[place++] = next;
      }
      items[place] = item;
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
    peek: () => items[first],
    removeWhere(predicate) {
      items = items.slice(first).filter((item) => !predicate(item as T));
      first = 0;
    },
  };
}
