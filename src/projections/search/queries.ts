// Records by what the read model of searches knows: the rows of the rarest term, newest first, and of those the records that fulfil all the rest.
//
//   the least of the counts ──> rows of one term ──all terms?──> fields of the records ──all filters?──> the records of the page
//
// A page looks at rowsPerPageMax rows at most and then comes back short, as every list does.

import type { TenantId } from '../../domain/ids.ts';
import type { Page, Query, ReadModelReader } from '../../ports/read-model-store.ts';
import { rowsPerPageMax } from '../../ports/read-model-store.ts';
import type { ListedNotification, NotificationDocument } from '../notifications/document.ts';
import { isListed, notificationsCollection } from '../notifications/document.ts';
import type { ListPlace, NotificationFilter, NotificationList, SearchFilter } from '../notifications/filter.ts';
import { countedTotalMax } from '../notifications/filter.ts';
import type { FactField } from '../notifications/record-facts.ts';
import { factFields, factsOf, failedWindowOf } from '../notifications/record-facts.ts';
import { pageBytesMax } from '../page-bytes.ts';
import type { SearchableDocument } from './index.ts';
import { keysOfTenant, searchableCollection } from './index.ts';
import type { TermKeys } from './terms.ts';
import { hasPrefix, isKeptBeginning, metadataTerm, recipientTerm, wordTerm } from './terms.ts';

export function isSearch({ recipientPrefix, words, metadata }: SearchFilter): boolean {
  return recipientPrefix !== undefined || words !== undefined || metadata !== undefined;
}

export async function searchNotifications(
  reader: ReadModelReader,
  tenantId: TenantId,
  filter: NotificationFilter,
  place: ListPlace,
): Promise<NotificationList> {
  const terms = termsOf(await keysOfTenant(reader, tenantId), filter);
  const query = rowsQuery(await rarest(reader, terms, filter), filter);
  const skipped = place.after === undefined ? ((place.page ?? 1) - 1) * place.limit : 0;
  const wanted = skipped + place.limit;
  const found: Candidate[] = [];
  let after = place.after ?? null;
  let looked = 0;
  // One more than is wanted tells whether there is another page.
  let rows = isOneTerm(filter) ? wanted + 1 : rowsPerRecord * (wanted + 1);
  do {
    const limit = Math.min(rows, rowsPerLookMax, rowsPerPageMax - looked);
    const page: Page<SearchableDocument> = await reader.find({ ...query, limit, ...(after === null ? {} : { after }) });
    const candidates = page.documents.filter((row) => mayMatch(row, terms, filter));
    for (let at = 0; at < candidates.length && found.length <= wanted;) {
      const some = candidates.slice(at, at + Math.max(recordsPerLookMin, wanted + 1 - found.length));
      at += some.length;
      found.push(...(await matching(reader, tenantId, some, filter)));
    }
    looked += page.documents.length;
    after = page.next;
    rows *= 4;
  } while (after !== null && looked < rowsPerPageMax && found.length <= wanted);

  const shown = found.slice(skipped, wanted);
  const records = await recordsOf(reader, shown);
  const last = records.at(-1);
  const isCut = found.length > wanted || records.length < shown.length;
  const next = isCut && last !== undefined ? [last.listedAt, last.id] : after;
  const isWhole = next === null && place.after === undefined;
  const total = isWhole ? { count: found.length, exact: true } : await totalOf(reader, query, filter, found.length);
  return { records, total: total.count, totalIsExact: total.exact, next };
}

const rowsPerLookMax = 500;
/** Where not every row of the term is wanted: a first guess. */
const rowsPerRecord = 12;
const recordsPerLookMin = 50;
/** Of a term that more rows have it matters no more how many. */
const countedRowsMax = 200;
/** The others are looked at on the rows. */
const countedTermsMax = 8;

function termsOf(keys: TermKeys, { recipientPrefix, words = [], metadata = {} }: SearchFilter): string[] {
  return [
    ...(recipientPrefix === undefined ? [] : [recipientTerm(keys, recipientPrefix)]),
    ...Object.entries(metadata).map(([key, value]) => metadataTerm(keys, key, value)),
    ...words.map((word) => wordTerm(keys, word)),
  ];
}

type RowsQuery = Omit<Query, 'after' | 'limit'>;

function rowsQuery(term: string, { from, to }: NotificationFilter): RowsQuery {
  return {
    collection: searchableCollection.name,
    equals: { terms: term },
    range: { field: 'listedAt', from: from ?? 0, ...(to === undefined ? {} : { to }) },
    order: { fields: ['listedAt'], direction: 'descending' },
  };
}

async function rarest(reader: ReadModelReader, terms: readonly string[], filter: NotificationFilter): Promise<string> {
  const [only = ''] = terms;
  if (terms.length < 2) return only;
  const counts = await Promise.all(
    terms.slice(0, countedTermsMax).map(async (term) => {
      const { order: _, ...counted } = rowsQuery(term, filter);
      return { term, count: (await reader.count(counted, countedRowsMax)).count };
    }),
  );
  return counts.reduce((least, of) => (of.count < least.count ? of : least)).term;
}

/** What decides of a record whether it is on the page; a body is read for those alone that are. */
type Candidate = Pick<NotificationDocument, 'tenantId' | 'listedAt' | 'recipient' | 'failedAt' | FactField> & {
  readonly id: string;
};

/** In the order of the rows. One that the records don't have yet is left out: the models are folded side by side. */
async function matching(
  reader: ReadModelReader,
  tenantId: TenantId,
  rows: readonly { readonly id: string }[],
  filter: NotificationFilter,
): Promise<Candidate[]> {
  if (rows.length === 0) return [];
  const ids = rows.map(({ id }) => id);
  const fields = ['tenantId', 'listedAt', 'recipient', 'failedAt', ...factFields];
  const records = await reader.get<Omit<Candidate, 'id'>>(notificationsCollection.name, ids, { fields });
  return [...records]
    .map(([id, record]) => ({ ...record, id }))
    .filter((of) => of.tenantId === tenantId && of.listedAt !== null && matches(of, filter));
}

/** As many as a page has bytes for, one at least. */
async function recordsOf(reader: ReadModelReader, shown: readonly Candidate[]): Promise<ListedNotification[]> {
  const ids = shown.map(({ id }) => id);
  const only = { bytesMax: pageBytesMax };
  const records = await reader.get<NotificationDocument>(notificationsCollection.name, ids, only);
  return [...records.values()].filter(isListed);
}

/** What the row itself tells. */
function mayMatch(row: SearchableDocument, terms: readonly string[], { recipientPrefix }: SearchFilter): boolean {
  if (!terms.every((term) => row.terms.includes(term))) return false;
  return recipientPrefix === undefined || hasPrefix(row.recipient, recipientPrefix.slice(0, row.recipient.length));
}

/** Words and metadata are known from the terms; the time from the rows. */
function matches(record: Candidate, filter: NotificationFilter): boolean {
  const { recipientPrefix, failedFrom = -Infinity, failedTo = Infinity } = filter;
  if (recipientPrefix !== undefined && !hasPrefix(record.recipient, recipientPrefix)) return false;
  if (failedWindowOf(filter) !== null) {
    const { failedAt } = record;
    if (failedAt === null || failedAt < failedFrom || failedAt >= failedTo) return false;
  }
  const facts = factsOf(filter);
  return factFields.every((field) => facts[field] === undefined || facts[field] === record[field]);
}

/** One term says it all: each of its rows is a record that is asked for. */
function isOneTerm(filter: NotificationFilter): boolean {
  const { recipientPrefix, words = [], metadata = {} } = filter;
  const terms = words.length + Object.keys(metadata).length + (recipientPrefix === undefined ? 0 : 1);
  const isWhole = recipientPrefix === undefined || isKeptBeginning(recipientPrefix);
  return terms === 1 && isWhole && Object.keys(factsOf(filter)).length === 0 && failedWindowOf(filter) === null;
}

/** Where one term says it all, its rows are counted; else at least what this page has seen. */
async function totalOf(
  reader: ReadModelReader,
  query: RowsQuery,
  filter: NotificationFilter,
  found: number,
): Promise<{ readonly count: number; readonly exact: boolean }> {
  if (!isOneTerm(filter)) return { count: found, exact: false };
  const { order: _, ...counted } = query;
  return reader.count(counted, countedTotalMax);
}
