// A look through a range of the log for who has how much in it: what its pages hold is read of those alone who are asked for.

import type { EventType } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Topic } from '../domain/topics.ts';
import type { LogEntry } from './event-log.ts';

export interface SurveyedRange {
  readonly topic: Topic;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
  /** Absent: all. */
  readonly types?: ReadonlySet<EventType> | undefined;
}

/** Some hundred events that follow one another. */
export interface SurveyedPage {
  /** Below it the range is looked through. */
  readonly to: number;
  /** One for each tenant, in no order. What doesn't decode is nobody's. */
  readonly shares: readonly TenantShare[];
  /** What these have in the page, ascending, without what is erased. While the next page isn't asked for. @throws Error when a schema isn't known */
  entriesOf(tenants: ReadonlySet<TenantId>): Iterable<LogEntry>;
}

/** What one tenant has in a page: one event at least. */
export interface TenantShare {
  readonly tenantId: TenantId;
  readonly events: number;
  readonly bytes: number;
  /** The offset of the last of them. */
  readonly last: number;
}

/** What is in memory of it, in events and bytes. */
const pageMax = { events: 512, bytes: 256 * 1024 } as const;

/**
 * For a log that has no quicker way than to read all of it.
 * @param entries of the range, ascending
 */
export async function* surveyed(
  entries: AsyncIterable<LogEntry>,
  { types }: Pick<SurveyedRange, 'types'>,
): AsyncGenerator<SurveyedPage> {
  let page: LogEntry[] = [];
  let bytes = 0;
  for await (const entry of entries) {
    page.push(entry);
    bytes += entry.size;
    if (page.length < pageMax.events && bytes < pageMax.bytes) continue;
    yield pageOf(page, types);
    page = [];
    bytes = 0;
  }
  if (page.length > 0) yield pageOf(page, types);
}

/** @param entries that follow one another, one at least */
export function pageOf(entries: readonly LogEntry[], types: SurveyedRange['types']): SurveyedPage {
  const wanted = entries.filter(({ head }) => head !== null && types?.has(head.type) !== false);
  const shares = addedUp(
    wanted.flatMap(({ head, offset, size }) =>
      head === null ? [] : [{ tenantId: head.tenantId, events: 1, bytes: size, last: offset }],
    ),
  );
  return {
    to: (entries.at(-1)?.offset ?? 0) + 1,
    shares,
    entriesOf: (tenants) => wanted.filter(({ head }) => head !== null && tenants.has(head.tenantId)),
  };
}

/** One for each tenant. */
export function addedUp(shares: readonly TenantShare[]): readonly TenantShare[] {
  const sums = new Map<TenantId, TenantShare>();
  for (const { tenantId, events, bytes, last } of shares) {
    const sum = sums.get(tenantId) ?? { events: 0, bytes: 0, last: 0 };
    sums.set(tenantId, {
      tenantId,
      events: sum.events + events,
      bytes: sum.bytes + bytes,
      last: Math.max(sum.last, last),
    });
  }
  return [...sums.values()];
}
