// By which clock the former owner of a number set its timers. One that was ahead left delays that end hours from now by the clock here, and nobody has seen
// them set: the events that set the last of them say how far ahead it was.

import { deliveriesTopic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import { backOff } from '../projections/partition-fold.ts';

/** Events that are looked at, the latest of the number: each may hold a request of 260 KiB. */
const lookedAtMax = 100;

/** When the latest of them was, UTC ms by the clock of whoever said it; null: there is none that sets a timer, or the number was lost. Asks until the log answers. */
export async function lastSetAt(deps: {
  readonly log: Pick<EventLog, 'ends' | 'read'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly partition: number;
  readonly signal: AbortSignal;
}): Promise<number | null> {
  const { clock, logger, partition, signal } = deps;
  for (let failures = 1; !signal.aborted; failures++) {
    try {
      return await latestIn(deps);
    } catch (err) {
      logger.warn('the timers of a number wait for the log', { partition, failures, err });
      await backOff(clock, failures, signal);
    }
  }
  return null;
}

async function latestIn({
  log,
  partition,
}: {
  readonly log: Pick<EventLog, 'ends' | 'read'>;
  readonly partition: number;
}): Promise<number | null> {
  const to = (await log.ends(deliveriesTopic, [partition]))[partition] ?? 0;
  const range = { topic: deliveriesTopic, partition, from: Math.max(0, to - lookedAtMax), to, aheadBytes: 1 };
  let latest: number | null = null;
  for await (const { head } of log.read(range)) {
    if (head?.type !== 'AttemptFailed' && head?.type !== 'DeliveryDeferred') continue;
    latest = Math.max(latest ?? 0, head.occurredAt);
  }
  return latest;
}
