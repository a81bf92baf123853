// Asks brokers again, for a while, what they didn't answer: one that was killed, a topic that was just made and has no leader yet.

import type { Clock } from '../../ports/clock.ts';
import { CopyRefusedError } from '../../ports/event-log-copy.ts';
import type { Logger } from '../../ports/logger.ts';
import { answeredError } from './kafka-errors.ts';
import type { LogCluster } from './log-cluster.ts';
import { StartRefusal } from './wait-until-up.ts';

export interface PatienceDependencies {
  readonly cluster: LogCluster;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A broker that was killed is replaced within 10 s and may be back after 12; all of them may be restarted in three minutes. */
export const patienceMs = 180_000;
export const backOffMs = 50;
export const backOffMaxMs = 1_000;

/** @param ask safe to repeat. @throws StartRefusal when the brokers stay away */
export async function patiently<T>(
  { cluster, clock, logger }: PatienceDependencies,
  ask: () => Promise<T>,
): Promise<T> {
  const giveUpAt = clock.monotonic() + patienceMs;
  for (let tries = 0; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      const isFinal = error instanceof CopyRefusedError || error instanceof StartRefusal;
      if (isFinal) throw error;
      if (clock.monotonic() > giveUpAt) throw gaveUp(error);
      logger.warn('the brokers did not answer: asking again', { reason: answeredError(error) ?? String(error) });
    }
    await clock.sleep(Math.min(backOffMs * 2 ** tries, backOffMaxMs));
    await cluster.refresh().catch(() => {});
  }
}

export function gaveUp(cause: unknown): StartRefusal {
  const reason = answeredError(cause) ?? (cause instanceof Error ? cause.message : String(cause));
  return new StartRefusal(
    `The brokers have not done what was asked for ${patienceMs / 60_000} minutes (${reason}). Run it again: it goes on where it stopped.`,
    cause,
  );
}
