// Whether this process surely still has its numbers. One that slept (stopped, or its machine paused) may have been taken for dead meanwhile, and what it
// would begin be begun by another already: it waits until its group has answered.

import type { Channel } from '../domain/events.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';

export interface Standing {
  isSure(): boolean;
  /** Resolves once it is. */
  sure(): Promise<void>;
}

const askEveryMs = 100;

export function createStanding(by: {
  channel: Channel;
  clock: Clock;
  logger: Logger;
  /** By what the group has said last. */
  isCurrent: () => boolean;
}): Standing {
  const { channel, clock, logger, isCurrent } = by;
  let waiting: Promise<void> | null = null;

  async function wait(): Promise<void> {
    logger.warn('the group has not answered for too long; nothing is begun until it does', { channel });
    while (!isCurrent()) await clock.sleep(askEveryMs);
    waiting = null;
    logger.info('the group has answered', { channel });
  }

  return {
    isSure: isCurrent,
    async sure() {
      if (isCurrent()) return;
      await (waiting ??= wait());
    },
  };
}
