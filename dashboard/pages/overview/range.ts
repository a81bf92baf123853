// The range that the overview is about: a name, or two times. It stands in the address.

import { linkTo, route, setQuery } from '../../router.ts';

export const namedRanges = [
  { name: 'today', label: 'Today (UTC)' },
  { name: '24h', label: '24 hours' },
  { name: '7d', label: '7 days' },
  { name: '30d', label: '30 days' },
  { name: 'all', label: 'All' },
] as const;
export type NamedRange = (typeof namedRanges)[number]['name'];

export type Range =
  | { readonly kind: 'named'; readonly name: NamedRange }
  | { readonly kind: 'between'; readonly from: string; readonly to: string };

export function rangeOf(query: URLSearchParams): Range {
  const [from, to] = [query.get('from'), query.get('to')];
  if (from !== null && to !== null) return { kind: 'between', from, to };
  const name = namedRanges.find((each) => each.name === query.get('range'))?.name ?? '24h';
  return { kind: 'named', name };
}

/** As GET /dashboard/stats takes it. */
export function statsQuery(range: Range): { range: NamedRange } | { from: string; to: string } {
  return range.kind === 'named' ? { range: range.name } : { from: range.from, to: range.to };
}

const dayMs = 86_400_000;
const spansMs: Readonly<Record<Exclude<NamedRange, 'today' | 'all'>, number>> = {
  '24h': dayMs,
  '7d': 7 * dayMs,
  '30d': 30 * dayMs,
};

/** As lists and failures take it: two times. `all` begins with the epoch. */
export function timesOf(range: Range, now: number): { readonly from: string; readonly to?: string } {
  if (range.kind === 'between') return { from: range.from, to: range.to };
  if (range.name === 'all') return { from: new Date(0).toISOString() };
  const from = range.name === 'today' ? now - (now % dayMs) : now - spansMs[range.name];
  return { from: new Date(from).toISOString() };
}

/** Whether what happens now belongs to it. */
export function includesNow(range: Range, now: number): boolean {
  return range.kind === 'named' || Date.parse(range.to) > now;
}

/** Of the same channel. */
export function showBetween(fromMs: number, toMs: number): void {
  const times = { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
  setQuery({ ...channelIn(route.value.query), ...times }, { replace: false });
}

/** The last 24 hours of the same channel. */
export function linkToNow(): string {
  return linkTo('', null, channelIn(route.value.query));
}

function channelIn(query: URLSearchParams): Readonly<Record<string, string>> {
  const channel = query.get('channel');
  return channel === null ? {} : { channel };
}
