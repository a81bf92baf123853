// Whether appends would work now where they can: nothing fails that has a leader, and a broker answers. Asked by probes, so cheap and bounded in time.
// A partition without a leader is without one for every process: were they all unready, a balancer would take from everybody what a twelfth can't have.

import type { Clock } from '../../ports/clock.ts';
import type { Appender } from './append.ts';
import type { Producing } from './producing.ts';

export interface Readiness {
  ready(): Promise<boolean>;
  /** Not ready from now on. */
  close(): void;
}

/** An answer is good for so long. */
const freshMs = 1_000;
const patienceMs = 2_000;

export function createReadiness({
  producing,
  appender,
  clock,
}: {
  producing: Producing;
  appender: Appender;
  clock: Clock;
}): Readiness {
  let isClosed = false;
  let askedAt = -Infinity;
  let answer: Promise<boolean> = Promise.resolve(false);

  const ask = async (): Promise<boolean> => {
    const patience = new AbortController();
    const late = clock.sleep(patienceMs, patience.signal).then(() => false);
    const asked = producing.refresh().then(
      () => true,
      () => false,
    );
    const isThere = await Promise.race([asked, late]);
    patience.abort();
    return isThere;
  };

  return {
    async ready() {
      if (isClosed || appender.isFailing()) return false;
      if (clock.monotonic() - askedAt >= freshMs) {
        askedAt = clock.monotonic();
        answer = ask();
      }
      return (await answer) && !isClosed && !appender.isFailing();
    },
    close() {
      isClosed = true;
    },
  };
}
