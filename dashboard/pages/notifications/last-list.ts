// The list that was looked at last: whoever comes back from one of its notifications finds it as it was.

import { linkTo } from '../../router.ts';
import type { Rows } from './rows.ts';
import { createRows } from './rows.ts';

let last: { readonly key: string; readonly rows: Rows } | null = null;

/** @param key the filters, as they stand in the address */
export function rowsOf(key: string): Rows {
  if (last?.key !== key) last = { key, rows: createRows(filtersOf(key)) };
  return last.rows;
}

/** What it shows may be gone: it is read anew. */
export function forgetLastList(): void {
  last = null;
}

export function lastListLink(): string {
  return linkTo('notifications', null, filtersOf(last?.key ?? ''));
}

function filtersOf(key: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(key));
}
