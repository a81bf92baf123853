// The rows of the log that are held: pages by cursor, what is newer put before them, statuses as they change. Bodies aren't kept: 100,000 rows are some 50 MB.

import { signal } from '@preact/signals';

import { call } from '../../api.ts';
import type { ApiProblem } from '../../problem.ts';
import { shownProblem } from '../../problem.ts';
import type { Change, Notification } from '../../wire.ts';
import { isOfOneMore } from './of-one-more.ts';

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
  /** What changed since the read that is under way was asked for: its answer may not have it. null: none is. */
  let meanwhile: Map<string, Change> | null = null;

  const hold = (next: readonly Row[]) => {
    places = new Map(next.map(({ id }, place) => [id, place]));
    rows.value = meanwhile?.size ? next.map((row) => after(row, meanwhile?.get(row.id))) : next;
  };
  const inTurn = (read: () => Promise<void>): Promise<void> => {
    isLoading.value = true;
    turn = turn
      .then(() => {
        meanwhile = new Map();
        return read();
      })
      .then(() => void (problem.value = null))
      .catch((failure: unknown) => void (problem.value = shownProblem(failure)))
      .finally(() => {
        meanwhile = null;
        isLoading.value = false;
      });
    return turn;
  };
  const readPage = async (from: string | null) => {
    const { data, pagination } = await call('get', '/notifications', {
      query: { ...query, limit: String(pageSize), ...(from === null ? {} : { cursor: from }) },
    });
    total.value = { count: pagination.total, isExact: pagination.totalIsExact };
    return { read: data.map(rowOf), next: pagination.nextCursor ?? undefined };
  };
  /** Its status isn't the one that is looked for any more: it stays where it is looked at. */
  const hasMovedOn = ({ status }: Row): boolean => query['status'] !== undefined && query['status'] !== status;
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

    /** What was requested since: put before what there is. As far as it is read it is as it is now: what was erased or forgotten goes. */
    newer: () =>
      inTurn(async () => {
        const found: Row[] = [];
        let from: string | null = null;
        for (let page = 0; page < newerPagesMax; page += 1) {
          const { read, next } = await readPage(from);
          found.push(...read);
          const lastHeld = read.findLast(({ id }) => places.has(id));
          if (next === undefined || lastHeld !== undefined) {
            const end = next === undefined || lastHeld === undefined ? Infinity : (places.get(lastHeld.id) ?? 0) + 1;
            if (next === undefined) cursor = next;
            hold([...withThose(found, rows.value.slice(0, end).filter(hasMovedOn)), ...rows.value.slice(end)]);
            return;
          }
          from = next;
        }
        await begin();
      }),

    /** Returns whether there was one of what isn't held. */
    change(changes: readonly Change[]): boolean {
      let next: Row[] | null = null;
      let isNew = false;
      for (const change of changes) {
        const { notificationId } = change;
        meanwhile?.set(notificationId, change);
        const place = places.get(notificationId);
        const row = place === undefined ? undefined : (next ?? rows.value)[place];
        if (place === undefined || row === undefined) {
          isNew ||= isOfOneMore(change, rows.value[0]?.id);
          continue;
        }
        next ??= [...rows.value];
        next[place] = after(row, change);
      }
      // The same rows at the same places.
      if (next !== null) rows.value = next;
      return isNew;
    },
  };
}

/** Newest first, each once. */
function withThose(read: readonly Row[], others: readonly Row[]): readonly Row[] {
  const ids = new Set(read.map(({ id }) => id));
  const kept = others.filter(({ id }) => !ids.has(id));
  return kept.length === 0 ? read : [...read, ...kept].toSorted((a, b) => b.createdAt.localeCompare(a.createdAt));
}

function after(row: Row, change: Change | undefined): Row {
  return change === undefined ? row : { ...row, status: change.status, lastError: change.error ?? row.lastError };
}

function rowOf(record: Notification): Row {
  const { id, channel, recipient, priority, status, lastError, createdAt, attemptCount, subject, body } = record;
  const about = (subject ?? body).slice(0, aboutMax).replaceAll(/\s+/g, ' ');
  return { id, channel, recipient, priority, status, lastError, createdAt, attemptCount, about };
}
