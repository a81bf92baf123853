// Something done again and again, with a pause, until it is told to stop.

/** Returns the call that ends it, which resolves once the last one is over. */
export function repeatedly(everyMs: number, run: () => Promise<void>): () => Promise<void> {
  const over = new AbortController();
  const loop = (async () => {
    while (!over.signal.aborted) {
      await run();
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  })();
  return () => {
    over.abort();
    return loop;
  };
}
