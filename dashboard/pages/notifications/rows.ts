// The rows of the log that are held: pages by cursor, what is newer put before them, statuses as they change. Bodies aren't kept: 100,000 rows are some 50 MB.

import { signal } from '@preact/signals';

import { call } from '../../api.ts';
import type { ApiProblem } from '../../problem.ts';
import { shownProblem } from '../../problem.ts';
import type { Change, Notification } from '../../wire.ts';

export type Row = Pick<
  Notification,
  'id' | 'channel' | 'recipient' | 'priority' | 'status' | 'lastError' | 'createdAt' | 'attemptCount'
> & {
  /** The subject or, without one, how the body begins. */
  readonly about: string;
};

export interface Total {
  readonly count: number;
  readonly isExact: boolean;
}

export type Rows = ReturnType<typeof createRows>;

const pageSize = 100;
/** Of what is newer so many pages are read at once; where there is more the list begins anew. */
const newerPagesMax = 5;
const aboutMax = 120;

/** @param query as it stands in the address: the API's own filters */
export function createRows(query: Readonly<Record<string, string>>) {
  const rows = signal<readonly Row[]>([]);
  const total = signal<Total | null>(null);
  const problem = signal<ApiProblem | null>(null);
  const isLoading = signal(false);
  /** null: nothing has been read yet; undefined: that was all. */
  let cursor: string | null | undefined = null;
  let places = new Map<string, number>();
  /** One read at a time: two would put the same rows in twice. */
  let turn: Promise<void> = Promise.resolve();

  const hold = (next: readonly Row[]) => {
    places = new Map(next.map(({ id }, place) => [id, place]));
    rows.value = next;
  };
  const inTurn = (read: () => Promise<void>): Promise<void> => {
    isLoading.value = true;
    turn = turn
      .then(read)
      .then(() => void (problem.value = null))
      .catch((failure: unknown) => void (problem.value = shownProblem(failure)))
      .finally(() => (isLoading.value = false));
    return turn;
  };
  const readPage = async (after: string | null) => {
    const { data, pagination } = await call('get', '/notifications', {
      query: { ...query, limit: String(pageSize), ...(after === null ? {} : { cursor: after }) },
    });
    total.value = { count: pagination.total, isExact: pagination.totalIsExact };
    return { read: data.map(rowOf), next: pagination.nextCursor ?? undefined };
  };
  const begin = async () => {
    const { read, next } = await readPage(null);
    cursor = next;
    hold(read);
  };

  return {
    rows,
    total,
    problem,
    isLoading,
    /** How far it was scrolled, for whoever comes back to it. */
    scrolledTo: 0,

    hasMore: () => cursor !== undefined,

    reload: () => inTurn(begin),

    more: () =>
      inTurn(async () => {
        if (cursor === undefined) return;
        if (cursor === null) return begin();
        const { read, next } = await readPage(cursor);
        cursor = next;
        hold([...rows.value, ...read.filter(({ id }) => !places.has(id))]);
      }),

    /** What was requested since: put before what there is. */
    newer: () =>
      inTurn(async () => {
        const found: Row[] = [];
        let after: string | null = null;
        for (let page = 0; page < newerPagesMax; page += 1) {
          const { read, next } = await readPage(after);
          const fresh = read.filter(({ id }) => !places.has(id));
          found.push(...fresh);
          if (fresh.length < read.length || next === undefined) {
            if (found.length > 0) hold([...found, ...rows.value]);
            return;
          }
          after = next;
        }
        await begin();
      }),

    /** Returns whether there was one of what isn't held. */
    change(changes: readonly Change[]): boolean {
      let next: Row[] | null = null;
      let isNew = false;
      for (const { notificationId, status, error } of changes) {
        const place = places.get(notificationId);
        const row = place === undefined ? undefined : (next ?? rows.value)[place];
        if (place === undefined || row === undefined) {
          isNew ||= status === 'QUEUED' || status === 'SCHEDULED';
          continue;
        }
        next ??= [...rows.value];
        next[place] = { ...row, status, lastError: error ?? row.lastError };
      }
      // The same rows at the same places.
      if (next !== null) rows.value = next;
      return isNew;
    },
  };
}

function rowOf(record: Notification): Row {
  const { id, channel, recipient, priority, status, lastError, createdAt, attemptCount, subject, body } = record;
  const about = (subject ?? body).slice(0, aboutMax).replaceAll(/\s+/g, ' ');
  return { id, channel, recipient, priority, status, lastError, createdAt, attemptCount, about };
}
