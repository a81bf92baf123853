// Counts of statuses between two answers of the API, moved on by the stream of changes. What can't be known of a change is guessed and set right by the next answer.

import type { Change, Status } from '../../wire.ts';

export type Counts = Readonly<Record<Status, number>>;

/** Of so many notifications the status is remembered: some 100 bytes each. */
const knownMax = 20_000;
/** Where a notification most likely came from. */
const before: readonly Status[] = ['PROCESSING', 'QUEUED', 'RETRYING', 'SCHEDULED'];

export function createLiveCounts() {
  const known = new Map<string, Status>();

  const formerOf = ({ notificationId, status }: Change, counts: Counts): Status | null => {
    const remembered = known.get(notificationId);
    if (remembered !== undefined) return remembered;
    if (status === 'QUEUED' || status === 'SCHEDULED') return null;
    return before.find((each) => each !== status && counts[each] > 0) ?? null;
  };

  return {
    /** The counts after these changes. */
    after(counts: Counts, changes: readonly Change[]): Counts {
      const next = { ...counts };
      for (const change of changes) {
        const { notificationId, status } = change;
        const former = formerOf(change, next);
        if (former === status) continue;
        if (former !== null) next[former] = Math.max(0, next[former] - 1);
        next[status] += 1;
        known.delete(notificationId);
        known.set(notificationId, status);
        for (const oldest of known.keys()) {
          if (known.size <= knownMax) break;
          known.delete(oldest);
        }
      }
      return next;
    },
  };
}
