// Copies the keys of the last 24 h: what they name is found in records, too, but not before those are folded anew, and who repeats a request until then would
// have it sent twice.

import type { IdempotencyStore, KeyEntry } from '../ports/idempotency-store.ts';

export interface CopyKeysDependencies {
  /** Some at a time. */
  readonly source: Iterable<readonly KeyEntry[]>;
  readonly target: Pick<IdempotencyStore, 'settle'>;
}

/** Interrupted, it is run again: a key is put in the place of what is there of it. Resolves with how many. @throws Error when one can't be written */
export async function copyKeys({ source, target }: CopyKeysDependencies): Promise<number> {
  let copied = 0;
  for (const entries of source) {
    await Promise.all(entries.map((entry) => target.settle(entry)));
    copied += entries.length;
  }
  return copied;
}
