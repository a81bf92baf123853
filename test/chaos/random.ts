// Chance that can be had again: the same seed gives the same numbers.

export interface Random {
  /** In [0, 1). */
  next(): number;
  /** A whole number in [least, most]. */
  between(least: number, most: number): number;
  of<T>(items: readonly T[]): T;
  /** One after another in a random order, then all of them again in another: nothing is left out for long. */
  deck<T>(items: readonly T[]): () => T;
}

export function createRandom(seed: number): Random {
  // mulberry32: 32 bits of state, which is all that choosing needs.
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  const of = <T>(items: readonly T[]): T => {
    const item = items[between(0, items.length - 1)];
    if (item === undefined) throw new Error('there is nothing to choose from');
    return item;
  };
  return {
    next,
    between,
    of,
    deck<T>(items: readonly T[]) {
      let left: T[] = [];
      return () => {
        if (left.length === 0) left = [...items];
        const item = of(left);
        left.splice(left.indexOf(item), 1);
        return item;
      };
    },
  };
}
