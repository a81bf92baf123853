// Waiting for a condition: a test never sleeps to be right.

/** Resolves with the first truthy answer of `condition`, asked every `everyMs`; fails naming what it waited for. */
export async function until<T>(
  condition: () => T | Promise<T>,
  options: { readonly timeoutMs?: number; readonly everyMs?: number; readonly what?: string } = {},
): Promise<Exclude<T, false | null | undefined>> {
  const { timeoutMs = 20_000, everyMs = 5, what = 'the condition' } = options;
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await condition();
    if (answer) return answer as Exclude<T, false | null | undefined>;
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
