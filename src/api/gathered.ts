// Questions that come in one turn of the event loop are asked together: the keys of a batch by the hundred, where each would take a connection of its own.

/** @param ask of all keys at once; answers those of which there is something */
export function gathered<K, V>(ask: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>): (key: K) => Promise<V | null> {
  let waiting: K[] = [];
  let answer: Promise<ReadonlyMap<K, V>> | null = null;

  const askNow = (): Promise<ReadonlyMap<K, V>> =>
    new Promise((resolve) => void setImmediate(resolve)).then(() => {
      const keys = waiting;
      waiting = [];
      answer = null;
      return ask(keys);
    });

  return async (key) => {
    waiting.push(key);
    answer ??= askNow();
    return (await answer).get(key) ?? null;
  };
}
