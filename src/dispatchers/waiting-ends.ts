// What ends while it waits for its turn, its tenant's rate or its provider: it has expired, or a person wants it stopped.

import { isExpired } from '../domain/delivery-request.ts';
import type { NotificationId } from '../domain/ids.ts';
import type { Cancels } from '../ports/cancels.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import { expired, newAttempt } from './attempt.ts';
import type { AttemptReport } from './attempt-report.ts';
import type { Endings } from './endings.ts';
import type { Lanes } from './lanes.ts';
import { noProviderName } from './means.ts';
import type { OutcomeEvent, OutcomeEvents } from './outcome-events.ts';
import type { Standing } from './standing.ts';
import type { UnderWay } from './under-way.ts';
import type { WorkItem } from './work-item.ts';

export interface WaitingEndsDependencies {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly logger: Pick<Logger, 'debug'>;
  readonly lanes: Pick<Lanes<WorkItem>, 'removeWhere'>;
  readonly underWay: Pick<UnderWay, 'add'>;
  readonly outcomeEvents: Pick<OutcomeEvents, 'ended' | 'cancelled'>;
  readonly standing: Standing;
  readonly report: AttemptReport;
  readonly say: Endings['say'];
  /** Absent: nobody can ask for one. */
  readonly cancels?: Cancels;
}

export interface WaitingEnds {
  /** What was read too late ends at once. */
  expire(item: WorkItem): void;
  /** Looks through all that waits, once in a while: what waits for its tenant's provider or rate doesn't wait for its turn to end. */
  look(now: number): void;
}

/** What waits is looked through so often: a pass over all that is read ahead, under a ms; and, where something is due, a read of an index for each number. */
const lookEveryMs = 1_000;

export function createWaitingEnds(by: WaitingEndsDependencies): WaitingEnds {
  const { clock, logger, lanes, underWay, outcomeEvents, standing, report, say, cancels } = by;
  let lookedAt = -Infinity;
  let isAsking = false;

  function end(item: WorkItem, event: OutcomeEvent): void {
    underWay.add(item);
    void say(event, item);
  }

  function expire(item: WorkItem): void {
    const event = outcomeEvents.ended(newAttempt(item, clock), noProviderName, expired(item));
    report(event);
    end(item, event);
  }

  function removed(isMeant: (item: WorkItem) => boolean): WorkItem[] {
    const items: WorkItem[] = [];
    lanes.removeWhere((item) => isMeant(item) && items.push(item) > 0);
    return items;
  }

  /** Only what a timer has made due can have been cancelled by then: for what waits in a timer the scheduler decides. */
  function dueByNumber(): ReadonlyMap<number, readonly NotificationId[]> {
    const numbers = new Map<number, NotificationId[]>();
    lanes.removeWhere(({ event }) => {
      if (event.type !== 'DeliveryDue') return false;
      const waiting = numbers.get(event.partition);
      if (waiting === undefined) numbers.set(event.partition, [event.notificationId]);
      else waiting.push(event.notificationId);
      return false;
    });
    return numbers;
  }

  async function endCancelled({ asked }: Cancels): Promise<void> {
    for (const [partition, waiting] of dueByNumber()) {
      const stopped = new Set((await asked(partition, waiting)).map(keyOf));
      // It may have begun meanwhile, or be another's: what still waits here nobody else begins.
      if (stopped.size === 0 || !standing.isSure()) continue;
      for (const item of removed(({ event }) => event.type === 'DeliveryDue' && stopped.has(keyOf(event))))
        end(item, outcomeEvents.cancelled(item));
    }
  }

  return {
    expire,
    look(now) {
      if (now - lookedAt < lookEveryMs || !standing.isSure()) return;
      lookedAt = now;
      const at = clock.now();
      for (const item of removed(({ event }) => isExpired(event, at))) expire(item);
      if (cancels === undefined || isAsking) return;
      isAsking = true;
      endCancelled(cancels)
        // The store is away, which readiness says: the next look may find it.
        .catch((err: unknown) => logger.debug('cancels of what waits can not be had', { err }))
        .finally(() => (isAsking = false));
    },
  };
}

const keyOf = ({ notificationId, round }: { readonly notificationId: string; readonly round: number }): string =>
  `${notificationId} ${round}`;
