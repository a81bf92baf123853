// Records as the dashboard and a tenant ask for them: one by id, and lists by keyset, newest first.

import type { TenantId } from '../../domain/ids.ts';
import type { Status } from '../../domain/notification.ts';
import type { FieldValue, Page, Query, ReadModelReader } from '../../ports/read-model-store.ts';
import { pageBytesMax } from '../page-bytes.ts';
import { isSearch, searchNotifications } from '../search/queries.ts';
import type { ListedNotification, NotificationDocument } from './document.ts';
import { isListed } from './document.ts';
import type { ListPlace, NotificationFilter, NotificationList, RecordFilter } from './filter.ts';
import { countedTotalMax } from './filter.ts';
import { countRecords } from './statistics.ts';

/** `page=` works down to this row; further on by keyset alone. */
export const pageRowsMax = 10_000;

/** null when the tenant has no such notification: another tenant's reads the same. */
export async function getNotification(
  reader: ReadModelReader,
  tenantId: TenantId,
  id: string,
): Promise<ListedNotification | null> {
  const found = await reader.get<NotificationDocument>('notifications', [id]);
  const document = found.get(id);
  return document !== undefined && document.tenantId === tenantId && isListed(document) ? document : null;
}

export async function listNotifications(
  reader: ReadModelReader,
  tenantId: TenantId,
  filter: NotificationFilter,
  place: ListPlace,
): Promise<NotificationList> {
  if (isSearch(filter)) return searchNotifications(reader, tenantId, filter, place);
  const query = queryOf(tenantId, filter);
  const rowsBefore = place.after === undefined ? ((place.page ?? 1) - 1) * place.limit : 0;
  const [page, total] = await Promise.all([
    pageAfter(reader, query, place, rowsBefore),
    totalOf(reader, tenantId, filter, query),
  ]);
  return {
    records: page.documents.filter(isListed),
    total: total.count,
    totalIsExact: total.exact,
    next: page.next,
  };
}

/** Those of a list that have one of these statuses, without a total; several aren't for searches. */
export async function pageOfStatuses(
  reader: ReadModelReader,
  tenantId: TenantId,
  filter: NotificationFilter,
  statuses: readonly Status[],
  place: Omit<ListPlace, 'page'>,
): Promise<Pick<NotificationList, 'records' | 'next'>> {
  const [status, ...others] = statuses;
  const ofOne = status === undefined || others.length > 0 ? filter : { ...filter, status };
  if (isSearch(ofOne)) return searchNotifications(reader, tenantId, ofOne, place);
  const query = queryOf(tenantId, ofOne);
  const asked = ofOne === filter ? { ...query, filter: { ...query.filter, status: statuses } } : query;
  const { documents, next } = await reader.find<NotificationDocument>({
    ...asked,
    limit: place.limit,
    bytesMax: pageBytesMax,
    ...(place.after === undefined ? {} : { after: place.after }),
  });
  return { records: documents.filter(isListed), next };
}

/** Where the list goes on behind this record. */
export function placeKeyOf({ listedAt, id }: ListedNotification): readonly FieldValue[] {
  return [listedAt, id];
}

/** The most selective filter leads an index; the others are checked on its rows. */
const leading = ['batchId', 'recipient', 'templateName', 'status'] as const;
const checked = ['status', 'channel', 'priority', 'recipient', 'templateName'] as const;
/** A page by number skips this many rows at a time, and gives up (a short page) after so many looks. */
const skippedRowsPerLook = 500;
const looksMax = 40;

type ListQuery = Omit<Query, 'after' | 'limit'>;

function queryOf(tenantId: TenantId, filter: RecordFilter): ListQuery {
  const lead = leading.find((field) => filter[field] !== undefined);
  const rest = checked.flatMap((field) => {
    const value = filter[field];
    return field === lead || value === undefined ? [] : [[field, value] as const];
  });
  const leadValue = lead === undefined ? undefined : filter[lead];
  return {
    collection: 'notifications',
    equals: lead === undefined || leadValue === undefined ? { tenantId } : { tenantId, [lead]: leadValue },
    range: { field: 'listedAt', from: filter.from ?? 0, ...(filter.to === undefined ? {} : { to: filter.to }) },
    order: { fields: ['listedAt'], direction: 'descending' },
    ...(rest.length === 0 ? {} : { filter: Object.fromEntries(rest) }),
  };
}

async function pageAfter(
  reader: ReadModelReader,
  query: ListQuery,
  place: ListPlace,
  rowsBefore: number,
): Promise<Page<NotificationDocument>> {
  let after = place.after;
  let left = rowsBefore;
  for (let looks = 0; left > 0; looks++) {
    const limit = Math.min(left, skippedRowsPerLook);
    const page = await reader.find({ ...query, limit, fields: [], ...(after === undefined ? {} : { after }) });
    if (page.next === null || looks === looksMax) return { documents: [], next: page.next };
    left -= page.documents.length;
    after = page.next;
  }
  const { limit } = place;
  return reader.find({ ...query, limit, bytesMax: pageBytesMax, ...(after === undefined ? {} : { after }) });
}

async function totalOf(
  reader: ReadModelReader,
  tenantId: TenantId,
  filter: RecordFilter,
  query: ListQuery,
): Promise<{ readonly count: number; readonly exact: boolean }> {
  const byRecord = filter.recipient ?? filter.templateName ?? filter.batchId;
  if (byRecord === undefined && onMinute(filter.from) && onMinute(filter.to)) {
    return { count: await countRecords(reader, tenantId, filter), exact: true };
  }
  const { order: _, ...counted } = query;
  return reader.count(counted, countedTotalMax);
}

function onMinute(timeMs: number | undefined): boolean {
  return timeMs === undefined || timeMs % 60_000 === 0;
}
