// Records as the dashboard and a tenant ask for them: one by id, and lists by keyset, newest first.

import type { NotificationId, TenantId } from '../../domain/ids.ts';
import type { Status } from '../../domain/notification.ts';
import type { FieldValue, Page, Query, ReadModelReader } from '../../ports/read-model-store.ts';
import { rowsSkippedMax } from '../../ports/read-model-store.ts';
import { pageBytesMax } from '../page-bytes.ts';
import { isSearch, searchNotifications } from '../search/queries.ts';
import type { ListedNotification, NotificationDocument } from './document.ts';
import { isListed, notificationsCollection } from './document.ts';
import { countFailures } from './failures.ts';
import type { ListPlace, NotificationFilter, NotificationList, RecordFilter } from './filter.ts';
import { checkedTotalMax, countedTotalMax } from './filter.ts';
import type { FactField, Facts } from './record-facts.ts';
import { factsOf, failedWindowOf, requestedWindowOf } from './record-facts.ts';
import { countRecords } from './statistics.ts';
import { onMinutes } from './statistics-range.ts';

/** `page=` works down to this row; further on by keyset alone. */
export const pageRowsMax = rowsSkippedMax;

/** null when the tenant has no such notification: another tenant's reads the same. */
export async function getNotification(
  reader: ReadModelReader,
  tenantId: TenantId,
  id: string,
): Promise<ListedNotification | null> {
  const found = await reader.get<NotificationDocument>(notificationsCollection.name, [id]);
  const document = found.get(id);
  return document !== undefined && document.tenantId === tenantId && isListed(document) ? document : null;
}

/** Of which of them there is a document, whosever it is: without reading it. */
export function whichNotifications(
  reader: ReadModelReader,
  ids: readonly NotificationId[],
): Promise<ReadonlyMap<NotificationId, object>> {
  const found = reader.get(notificationsCollection.name, ids, { fields: ['tenantId'] });
  return found as Promise<ReadonlyMap<NotificationId, object>>;
}

/** Of those of which there is a document, whosever it is: without reading it. */
export async function statusesOf(
  reader: ReadModelReader,
  ids: readonly NotificationId[],
): Promise<ReadonlyMap<NotificationId, Status>> {
  const found = await reader.get<Pick<NotificationDocument, 'status'>>(notificationsCollection.name, ids, {
    fields: ['status'],
  });
  return new Map([...found].map(([id, { status }]) => [id as NotificationId, status]));
}

/** The whole documents: of few at a time. */
export async function recordsOf(
  reader: ReadModelReader,
  ids: readonly NotificationId[],
): Promise<ReadonlyMap<NotificationId, NotificationDocument>> {
  const found = await reader.get<NotificationDocument>(notificationsCollection.name, ids);
  return found as ReadonlyMap<NotificationId, NotificationDocument>;
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
    totalOf(reader, tenantId, filter),
  ]);
  return {
    records: page.documents.filter(isListed),
    ...total,
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

/** Where such a list goes on behind this record. */
export function placeKeyOf(filter: NotificationFilter, record: ListedNotification): readonly FieldValue[] {
  return [isSearch(filter) ? record.listedAt : record[wayOf(filter).order], record.id];
}

/** A page by number of what is filtered skips this many rows at a time, and gives up (a short page) after so many looks. */
const skippedRowsPerLook = 500;
const looksMax = 40;

type ListQuery = Omit<Query, 'after' | 'limit' | 'skip'>;

/** Which index a list goes by. */
interface Way {
  /** Behind the tenant. */
  readonly leads: readonly FactField[];
  readonly order: 'listedAt' | 'failedAt';
}

/** The most selective facts lead an index; the others are checked on its rows. What failed in a time is found by that, unless a fact has fewer rows. */
function wayOf(filter: RecordFilter): Way {
  const facts = factsOf(filter);
  const first = givenOf(fewest, facts);
  if (first !== undefined) return { leads: first, order: 'listedAt' };
  if (failedWindowOf(filter) !== null) return { leads: [], order: 'failedAt' };
  return { leads: givenOf(leading, facts) ?? [], order: 'listedAt' };
}

type Leads = readonly (readonly FactField[])[];

/** The first of them of which all are asked for. */
function givenOf(of: Leads, facts: Facts): readonly FactField[] | undefined {
  return of.find((fields) => fields.every((field) => facts[field] !== undefined));
}

const fewest: Leads = [['messageId'], ['batchId'], ['comparedRecipient']];
/** What failed is asked for by its channel, too: no cell counts it where it may still be sent again, and to look at 1,000 rows for it takes 10 ms. */
const leading: Leads = [
  ['errorCode', 'channel'],
  ['errorCode'],
  ['templateName'],
  ['errorClass', 'channel'],
  ['errorClass'],
  ['status'],
];

function queryOf(tenantId: TenantId, filter: RecordFilter): ListQuery {
  const { leads, order } = wayOf(filter);
  const facts = factsOf(filter);
  const requested = requestedWindowOf(filter);
  const failed = failedWindowOf(filter);
  const isByFailure = order === 'failedAt';
  const checked = {
    ...Object.fromEntries(Object.entries(facts).filter(([field]) => !leads.some((lead) => lead === field))),
    ...(isByFailure || failed === null ? {} : { failedAt: failed }),
    ...(isByFailure && (filter.from !== undefined || filter.to !== undefined) ? { listedAt: requested } : {}),
  };
  return {
    collection: notificationsCollection.name,
    equals: { tenantId, ...Object.fromEntries(leads.map((lead) => [lead, facts[lead] ?? null])) },
    range: { field: order, ...(isByFailure && failed !== null ? failed : requested) },
    order: { fields: [order], direction: 'descending' },
    ...(Object.keys(checked).length === 0 ? {} : { filter: checked }),
  };
}

async function pageAfter(
  reader: ReadModelReader,
  query: ListQuery,
  place: ListPlace,
  rowsBefore: number,
): Promise<Page<NotificationDocument>> {
  const { limit } = place;
  if (query.filter === undefined && rowsBefore > 0)
    return reader.find({ ...query, limit, bytesMax: pageBytesMax, skip: rowsBefore });
  let after = place.after;
  let left = rowsBefore;
  for (let looks = 0; left > 0; looks++) {
    const rows = Math.min(left, skippedRowsPerLook);
    const page = await reader.find({ ...query, limit: rows, fields: [], ...(after === undefined ? {} : { after }) });
    if (page.next === null || looks === looksMax) return { documents: [], next: page.next };
    left -= page.documents.length;
    after = page.next;
  }
  return reader.find({ ...query, limit, bytesMax: pageBytesMax, ...(after === undefined ? {} : { after }) });
}

type Total = Pick<NotificationList, 'total' | 'totalIsExact'>;

async function totalOf(reader: ReadModelReader, tenantId: TenantId, filter: RecordFilter): Promise<Total> {
  const counted = countedInCells(filter);
  if (counted === null) return countedRows(reader, tenantId, filter);
  const [from, to] = counted === 'requested' ? (['from', 'to'] as const) : (['failedFrom', 'failedTo'] as const);
  const { whole, edges } = onMinutes(filter[from], filter[to]);
  if (whole === null) return countedRows(reader, tenantId, filter);
  const [cells, ...parts] = await Promise.all([
    counted === 'requested'
      ? countRecords(reader, tenantId, { ...filter, ...whole })
      : countFailures(reader, tenantId, whole, filter),
    ...edges.map((edge) => countedRows(reader, tenantId, { ...filter, [from]: edge.from, [to]: edge.to })),
  ]);
  return {
    total: parts.reduce((sum, { total }) => sum + total, cells),
    totalIsExact: parts.every(({ totalIsExact }) => totalIsExact),
  };
}

async function countedRows(reader: ReadModelReader, tenantId: TenantId, filter: RecordFilter): Promise<Total> {
  const { order: _, ...rows } = queryOf(tenantId, filter);
  const isBatch = filter.batchId !== undefined && rows.filter === undefined;
  const { count, exact } = await reader.count(rows, isBatch ? countedTotalMax : checkedTotalMax);
  return { total: count, totalIsExact: exact };
}

/** Which counts of the statistics give the total of whole minutes, if any do. */
function countedInCells(filter: RecordFilter): 'requested' | 'failed' | null {
  const { status, channel: _c, provider: _p, from, to, failedFrom, failedTo, ...rest } = filter;
  const { priority, ...ofRequest } = rest;
  const isOfFailures = failedFrom !== undefined || failedTo !== undefined;
  if (!isOfFailures && Object.keys(ofRequest).length === 0) return 'requested';
  const { errorClass: _e, errorCode: _o, ...ofFailure } = ofRequest;
  const isAnyTime = from === undefined && to === undefined && priority === undefined;
  if (!isAnyTime || Object.keys(ofFailure).length > 0) return null;
  return status === 'FAILED' || (status === undefined && isOfFailures) ? 'failed' : null;
}
