// Timers that stand decided while nobody says so. Whoever decides says it until it is in the log, and whoever takes a number over says what stands decided. But
// an owner whose group has gone on without it, and who hasn't heard of that yet, can take a number back in the store, decide, and fall silent: the rightful one
// has nothing to write just then, so it doesn't learn that it has to own the number again. What stands decided at two looks in a row, though all that is in the
// log is folded, is said again.

import type { NotificationId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { TimersDocument } from '../projections/timers/document.ts';

/** Far longer than what was decided takes to be folded. */
const lookEveryMs = 20_000;

export interface LeftDecided {
  /** ms until the next look. */
  waitMs(): number;
  /** What was said may be in the log, and not folded: it isn't looked at now. */
  passBy(): void;
  /** Those of the documents that stand decided now that stood so at the last look. */
  of(documents: readonly TimersDocument[]): readonly TimersDocument[];
}

export function createLeftDecided(clock: Clock): LeftDecided {
  let stood: ReadonlySet<NotificationId> = new Set();
  let lookedAt = clock.monotonic();
  return {
    waitMs: () => Math.max(0, lookedAt + lookEveryMs - clock.monotonic()),
    passBy() {
      lookedAt = clock.monotonic();
    },
    of(documents) {
      const left = documents.filter(({ notificationId }) => stood.has(notificationId));
      stood = new Set(documents.map(({ notificationId }) => notificationId));
      lookedAt = clock.monotonic();
      return left;
    },
  };
}
