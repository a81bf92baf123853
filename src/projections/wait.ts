// Waiting until a read model has folded a position: a read that follows a write sees it.

import type { Clock } from '../ports/clock.ts';
import type { Position } from '../ports/event-log.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import type { ReadModel } from './read-model.ts';

/** True once the position is folded, also when the read model doesn't follow its topic; false after `timeoutMs`. */
export async function waitForPosition(
  { reader, clock }: { readonly reader: ReadModelReader; readonly clock: Clock },
  readModel: ReadModel,
  position: Position,
  timeoutMs: number,
): Promise<boolean> {
  const { name } = readModel.definition;
  if (!readModel.topics.includes(position.topic)) return true;
  return waitUntil({ reader, clock }, name, timeoutMs, async () => {
    const offsets = await reader.positions(name, position.partition);
    return (offsets.get(position.topic) ?? 0) > position.offset;
  });
}

/** Asks `isReached` now and after each change of the read model: true once it says so, false after `timeoutMs`. */
export async function waitUntil(
  { reader, clock }: { readonly reader: ReadModelReader; readonly clock: Clock },
  readModel: string,
  timeoutMs: number,
  isReached: () => Promise<boolean>,
): Promise<boolean> {
  const deadline = clock.monotonic() + timeoutMs;
  let isChanged = false;
  let wake = new AbortController();
  const unsubscribe = reader.onChange(readModel, () => {
    isChanged = true;
    wake.abort();
  });
  try {
    for (;;) {
      isChanged = false;
      wake = new AbortController();
      if (await isReached()) return true;
      const leftMs = deadline - clock.monotonic();
      if (leftMs <= 0) return false;
      // A change during the question has aborted the sleep already.
      if (!isChanged) await clock.sleep(leftMs, wake.signal);
    }
  } finally {
    unsubscribe();
  }
}
