// So many at once; whoever comes when all places are taken waits for one, in the order in which they came, but for who asks to stand anywhere.

/** Where to wait: behind all, or anywhere among them. */
export type Waiting = 'last' | 'anywhere';

export type Places = <T>(run: () => Promise<T>, waiting?: Waiting) => Promise<T>;

/** @param random in [0, 1) */
export function createPlaces(placesMax: number, random: () => number): Places {
  const line: (() => void)[] = [];
  let free = placesMax;

  function wait(waiting: Waiting): Promise<void> {
    const at = waiting === 'last' ? line.length : Math.floor(random() * (line.length + 1));
    return new Promise((resolve) => void line.splice(at, 0, resolve));
  }

  return async (run, waiting = 'last') => {
    if (free > 0) free--;
    else await wait(waiting);
    try {
      return await run();
    } finally {
      const next = line.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}
