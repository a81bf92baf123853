// What others' reading would wait for, where no more tenants may lag: it goes to the scheduler, until it is its tenant's turn.

import type { Clock } from '../ports/clock.ts';
import type { Endings } from './endings.ts';
import type { OutcomeEvents } from './outcome-events.ts';
import type { Standing } from './standing.ts';
import type { UnderWay } from './under-way.ts';
import type { WorkItem } from './work-item.ts';

/** Of what is in no lane, and of nobody's else. */
export type PutOff = (item: WorkItem) => void;

export function createPutOff(by: {
  readonly clock: Pick<Clock, 'now'>;
  readonly underWay: Pick<UnderWay, 'add' | 'drop'>;
  readonly outcomeEvents: Pick<OutcomeEvents, 'deferred' | 'cancelled'>;
  readonly standing: Standing;
  readonly say: Endings['say'];
  /** Nothing goes to it any more. */
  readonly isForgotten: (item: WorkItem) => boolean;
}): PutOff {
  const { clock, underWay, outcomeEvents, standing, say, isForgotten } = by;

  function sayIt(item: WorkItem, dueAt: number): void {
    // Whoever has its number now sends it: with a turn of ours it would be sent once more.
    if (item.tracker.isClosed) return underWay.drop(item);
    const event = isForgotten(item) ? outcomeEvents.cancelled(item) : outcomeEvents.deferred(item, dueAt, 'window');
    void say(event, item);
  }

  return (item) => {
    const { tracker, offset, bytes } = item;
    underWay.add(item);
    const inMs = tracker.leaveUntilTurn({ tenantId: item.event.tenantId, offset, bytes });
    const dueAt = Math.round(clock.now() + inMs);
    if (standing.isSure()) sayIt(item, dueAt);
    else void standing.sure().then(() => sayIt(item, dueAt));
  };
}
