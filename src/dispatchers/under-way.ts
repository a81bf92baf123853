// The work of this process that is under way: begun, or said and not durable yet. A number may be lost meanwhile, and regained: its work is read again
// then, and goes on for the place where it was read now instead of being begun a second time.

import type { EventId } from '../domain/ids.ts';
import type { WorkItem } from './work-item.ts';
import { finishItem, moveItem } from './work-item.ts';

export interface UnderWay {
  add(item: WorkItem): void;
  /** Nothing was done: it can be begun again. */
  drop(item: WorkItem): void;
  /** Its outcome is durable. */
  finish(item: WorkItem): void;
  /** Whether work that was read is under way, or was done after its number was lost: then it is not to be begun. */
  adopts(item: WorkItem): boolean;
  /** Resolves once nothing of the number is under way. */
  none(partition: number): Promise<void>;
}

/** Outcomes that came after their number was lost: of 256 in flight and what waits to be appended, over several losses. */
const doneLateMax = 10_000;

export function createUnderWay(): UnderWay {
  const items = new Map<EventId, WorkItem>();
  const doneLate = new Set<EventId>();
  const waiting = new Set<{ readonly partition: number; readonly resolve: () => void }>();

  const has = (partition: number): boolean => {
    for (const { event } of items.values()) if (event.partition === partition) return true;
    return false;
  };

  const drop = (item: WorkItem) => {
    const { eventId, partition } = item.event;
    if (items.get(eventId) === item) items.delete(eventId);
    for (const one of waiting) {
      if (one.partition !== partition || has(partition)) continue;
      waiting.delete(one);
      one.resolve();
    }
  };

  const noteLate = (id: EventId) => {
    for (const oldest of doneLate) {
      if (doneLate.size < doneLateMax) break;
      doneLate.delete(oldest);
    }
    doneLate.add(id);
  };

  return {
    add: (item) => void items.set(item.event.eventId, item),
    drop,
    finish(item) {
      if (item.tracker.isClosed) noteLate(item.event.eventId);
      drop(item);
    },
    adopts(item) {
      const { eventId } = item.event;
      if (doneLate.delete(eventId)) {
        finishItem(item);
        return true;
      }
      const known = items.get(eventId);
      // One that isn't lost is the same event twice in the log.
      if (known === undefined || !known.tracker.isClosed) return false;
      moveItem(known, item);
      return true;
    },
    none(partition) {
      if (!has(partition)) return Promise.resolve();
      return new Promise((resolve) => void waiting.add({ partition, resolve }));
    },
  };
}
