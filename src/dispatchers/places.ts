// So many at once; whoever comes when all places are taken waits for one, in the order in which they came.

export type Places = <T>(run: () => Promise<T>) => Promise<T>;

export function createPlaces(placesMax: number): Places {
  const waiting: (() => void)[] = [];
  let free = placesMax;

  return async (run) => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => void waiting.push(resolve));
    try {
      return await run();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}
