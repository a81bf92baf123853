// Waiting until a read model has folded a position: a read that follows a write sees it.

import type { TenantId } from '../domain/ids.ts';
import type { Topic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { Position } from '../ports/event-log.ts';
import { foldedBelow } from '../ports/folded-ahead.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import type { ReadModel } from './read-model.ts';

/** A position of one tenant's event. */
export interface TenantPosition extends Position {
  readonly tenantId: TenantId;
}

/** True once the event is folded, also when the read model doesn't follow its topic; false after `timeoutMs`. */
export async function waitForPosition(
  { reader, clock }: { readonly reader: ReadModelReader; readonly clock: Clock },
  readModel: ReadModel,
  wanted: TenantPosition,
  timeoutMs: number,
): Promise<boolean> {
  return waitUntil({ reader, clock }, readModel.definition.name, timeoutMs, () => isFolded(reader, readModel, wanted));
}

/** Also true when the read model doesn't follow the event's topic. */
export async function isFolded(
  reader: Pick<ReadModelReader, 'positions' | 'ahead'>,
  readModel: ReadModel,
  { tenantId, topic, partition, offset }: TenantPosition,
): Promise<boolean> {
  if (!readModel.topics.includes(topic)) return true;
  const offsets = await positionsOf(reader, readModel.definition.name, { tenantId, partition });
  return (offsets.get(topic) ?? 0) > offset;
}

/** Below which everything of a tenant is folded on a number, by topic: it may be so before its turn. */
export async function positionsOf(
  reader: Pick<ReadModelReader, 'positions' | 'ahead'>,
  readModel: string,
  { tenantId, partition }: { readonly tenantId: TenantId; readonly partition: number },
): Promise<ReadonlyMap<Topic, number>> {
  const [position, ahead] = await Promise.all([
    reader.positions(readModel, partition),
    reader.ahead(readModel, partition),
  ]);
  return foldedBelow(position, ahead, tenantId);
}

/** Asks `isReached` now and after each change of the read model: true once it says so, false after `timeoutMs`. */
export async function waitUntil(
  { reader, clock }: { readonly reader: Pick<ReadModelReader, 'onChange'>; readonly clock: Clock },
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
