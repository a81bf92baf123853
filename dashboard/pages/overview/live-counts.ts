// Counts of statuses, exact at every answer of the API and moved on by the stream of changes: the answer says how far it knows the stream, so that a change
// is counted by one of them, never by both. What can't be known of a change (where it came from) is guessed and set right by the next answer.

import type { Told } from '../../place.ts';
import { isIn, numbersOf } from '../../place.ts';
import type { Status } from '../../wire.ts';

export type Counts = Readonly<Record<Status, number>>;

/** Of so many notifications the status is remembered: some 100 bytes each. */
const knownMax = 20_000;
/** Changes that the next answer may not have yet, some 150 bytes each: 500 a second come to 2,500 between two answers. */
const heldMax = 20_000;
/** Where a notification most likely came from. */
const before: readonly Status[] = ['PROCESSING', 'QUEUED', 'RETRYING', 'SCHEDULED'];

interface Held {
  readonly told: Told;
  /** null: it is a new one; `unknown`: it is to be guessed. */
  readonly former: Status | null | 'unknown';
}

export interface LiveCounts {
  /** @param position of the answer's header; null: it can't be told what is in it, and what is counted already stays */
  answered(counts: Counts, position: string | null): Counts;
  /** null: there was no answer yet. */
  changed(changes: readonly Told[]): Counts | null;
}

export function createLiveCounts(): LiveCounts {
  const known = new Map<string, Status>();
  let held: Held[] = [];
  let position: readonly number[] | null = null;
  let counts: Counts | null = null;

  const isCounted = ({ place }: Told): boolean => position !== null && place !== null && isIn(position, place);

  const heldOf = (told: Told): Held => {
    const { notificationId, status } = told;
    const isNew = status === 'QUEUED' || status === 'SCHEDULED';
    const former = known.get(notificationId) ?? (isNew ? null : 'unknown');
    known.delete(notificationId);
    known.set(notificationId, status);
    for (const oldest of known.keys()) {
      if (known.size <= knownMax) break;
      known.delete(oldest);
    }
    return { told, former };
  };

  return {
    answered(answer, at) {
      if (at === null && counts !== null) return counts;
      position = at === null ? null : numbersOf(at);
      // What came before the first answer and can't be placed is most likely in it.
      held = at === null ? [] : held.filter(({ told }) => told.place !== null && !isCounted(told));
      counts = afterAll(answer, held);
      return counts;
    },
    changed(changes) {
      const fresh = changes.map(heldOf).filter(({ told }) => !isCounted(told));
      held = [...held, ...fresh].slice(-heldMax);
      counts = counts === null ? null : afterAll(counts, fresh);
      return counts;
    },
  };
}

function afterAll(counts: Counts, changes: readonly Held[]): Counts {
  const next = { ...counts };
  for (const { told, former } of changes) {
    const { status } = told;
    const from = former === 'unknown' ? (before.find((each) => each !== status && next[each] > 0) ?? null) : former;
    if (from === status) continue;
    if (from !== null) next[from] = Math.max(0, next[from] - 1);
    next[status] += 1;
  }
  return next;
}
