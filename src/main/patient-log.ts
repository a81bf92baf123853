// A log whose reading outlasts errors that pass: what can't be read is asked for again, with growing delay and a line each time, for some minutes.

import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import type { ReadableLog } from '../projections/rebuild-pass.ts';
import { StartError } from './start-error.ts';

interface Dependencies {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Without anything read for so long: brokers are restarted, leaders elected and disks exchanged in less. */
const patienceMs = 5 * 60_000;
const backOffFirstMs = 100;
const backOffMaxMs = 5_000;

/** @throws StartError, by each of its calls, once nothing could be read for five minutes */
export function patientLog(log: Pick<EventLog, 'partitioning' | 'ends' | 'read'>, deps: Dependencies): ReadableLog {
  return {
    partitioning: log.partitioning,

    ends: (topic) => patiently(deps, () => log.ends(topic)),

    async *read(range) {
      const outage = createOutage(deps);
      let { from } = range;
      for (;;) {
        try {
          for await (const entry of log.read({ ...range, from })) {
            outage.isOver();
            from = entry.offset + 1;
            yield entry;
          }
          return;
        } catch (error) {
          await outage.failed(error);
        }
      }
    },
  };
}

/** @param ask something of the log that may be asked again. @throws StartError once it was asked in vain for five minutes */
export async function patiently<T>(deps: Dependencies, ask: () => Promise<T>): Promise<T> {
  const outage = createOutage(deps);
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      await outage.failed(error);
    }
  }
}

function createOutage({ clock, logger }: Dependencies) {
  let since: number | null = null;
  let failures = 0;
  return {
    isOver() {
      since = null;
      failures = 0;
    },
    /** Resolves when it is time for another try. @throws StartError when there were enough */
    async failed(error: unknown): Promise<void> {
      since ??= clock.monotonic();
      const reason = error instanceof Error ? error.message : String(error);
      if (clock.monotonic() - since >= patienceMs)
        throw new StartError(
          `The event log could not be read for ${patienceMs / 60_000} minutes (${reason}). Nothing was changed: run it again when it can be.`,
        );
      logger.warn('the event log can not be read: trying again', { reason });
      await clock.sleep(Math.min(backOffFirstMs * 2 ** failures++, backOffMaxMs));
    },
  };
}
