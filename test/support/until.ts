// Waiting for a condition: a test never sleeps to be right.

/** Of a wait so far, at most so much is added by when it asks next; and so much at most. */
const laterPart = 1 / 20;
const laterMaxMs = 100;

/** Bounds are those of a machine with nothing else to do, and what CI has may take three times as long. */
const patience = process.env['CI'] === 'true' ? 3 : 1;

/**
 * Resolves with the first truthy answer of `condition`, asked every `everyMs`; fails naming what it waited for.
 *
 * Without `everyMs` a condition that has to be fetched is asked more rarely the longer it takes: asked every 5 ms, most of what a service on real engines
 * did was to answer its test.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  options: { readonly timeoutMs?: number; readonly everyMs?: number; readonly what?: string } = {},
): Promise<Exclude<T, false | null | undefined>> {
  const { timeoutMs = 20_000, everyMs = 5, what = 'the condition' } = options;
  const patienceMs = timeoutMs * patience;
  const from = performance.now();
  for (;;) {
    const asked = condition();
    const answer = await asked;
    if (answer) return answer as Exclude<T, false | null | undefined>;
    const waitedMs = performance.now() - from;
    if (waitedMs > patienceMs) throw new Error(`waited ${patienceMs} ms in vain for ${what}`);
    const isCostly = asked instanceof Promise && options.everyMs === undefined;
    const laterMs = isCostly ? Math.min(waitedMs * laterPart, laterMaxMs) : 0;
    await new Promise((resolve) => setTimeout(resolve, Math.max(everyMs, laterMs)));
  }
}
