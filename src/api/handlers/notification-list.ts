// What the list of notifications is asked for: the query, and what it means.

import { z } from 'zod';

import { badField } from '../../domain/errors.ts';
import { channels, failureClasses, priorities } from '../../domain/events.ts';
import type { BatchId } from '../../domain/ids.ts';
import { statuses } from '../../domain/notification.ts';
import type { ListPlace, NotificationFilter, NotificationList } from '../../projections/notifications/filter.ts';
import { notificationsReadModel } from '../../projections/notifications/index.ts';
import { pageRowsMax } from '../../projections/notifications/queries.ts';
import type { ReadModel } from '../../projections/read-model.ts';
import { searchReadModel } from '../../projections/search/index.ts';
import { isSearch } from '../../projections/search/queries.ts';
import { wordsOf } from '../../projections/search/terms.ts';
import { wireForms } from '../docs/wire-forms.ts';
import { given, pageLimit, time } from './schemas.ts';

const text = z.string().min(1).max(2048).optional();
const searchTextMax = 200;
const wordsMax = 8;

/** `metadata.<key>`, or `metadata[<key>]` as generated clients write it. */
const metadataNames = /^metadata(?:\.(.+)|\[(.+)\])$/s;

const filterFields = {
  status: z.enum(statuses).optional(),
  channel: z.enum(channels).optional(),
  priority: z.enum(priorities).optional(),
  recipient: text.describe('The whole recipient; upper and lower case of a mail address are the same.'),
  recipientPrefix: text.describe('How the recipient begins; upper and lower case are the same. Found a moment later.'),
  q: z
    .string()
    .max(searchTextMax)
    .describe(`Whole words, ${wordsMax} at most, that all stand in subject or body. Found a moment later.`)
    .optional(),
  template: text.describe('A template’s name.'),
  batchId: text,
  from: time.describe('Requested then or later.').optional(),
  to: time.describe('Requested before.').optional(),
  provider: text.describe('Of the last attempt that has ended.'),
  errorClass: z.enum(failureClasses).describe('Of the last attempt that has ended.').optional(),
  errorCode: text.describe(
    'Of the last attempt that has ended: an HTTP status, an SMTP code, a code of the provider’s.',
  ),
  failedFrom: time.describe('Came to be FAILED then or later, and still is: the newest failure first.').optional(),
  failedTo: time.describe('Came to be FAILED before, and still is.').optional(),
  messageId: text.describe('The provider’s own id of the message.'),
};

export const listQuery = withMetadata({
  ...filterFields,
  limit: pageLimit(20),
  cursor: z.string().describe('The `nextCursor` of a page with the same filters.').optional(),
  page: z
    .string()
    .regex(/^[1-9]\d{0,5}$/, 'must be a whole number from 1')
    .transform(Number)
    .register(wireForms, { type: 'integer', minimum: 1, maximum: pageRowsMax })
    .optional(),
});

export type ListQuery = z.output<typeof listQuery>;

/** The filters alone. */
export const filterQuery = withMetadata(filterFields);

export type FilterQuery = z.output<typeof filterQuery>;

/** The same filters, in a body. */
export const failedFilter = z
  .strictObject({
    ...filterFields,
    status: z.literal('FAILED').optional(),
    metadata: z.record(z.string(), z.string()).describe('The pairs that the request had.').optional(),
  })
  .meta({ id: 'FailedFilter', description: 'As the parameters of the list; FAILED ones alone.' });

export function filterOfFailed({ metadata = {}, ...fields }: z.output<typeof failedFilter>): NotificationFilter {
  const pairs = Object.entries(metadata).map(([key, value]) => [`metadata.${key}`, value] as const);
  return { ...filterOf({ ...fields, ...Object.fromEntries(pairs) }), status: 'FAILED' };
}

/** @throws DomainError BAD_REQUEST */
export function filterOf(query: FilterQuery): NotificationFilter {
  const { q, template, batchId } = query;
  const metadata = metadataAsked(query);
  return {
    ...given(query, asTheyAre),
    ...(q === undefined ? {} : { words: wordsAsked(q) }),
    ...(metadata.size === 0 ? {} : { metadata: Object.fromEntries(metadata) }),
    ...(template === undefined ? {} : { templateName: template }),
    ...(batchId === undefined ? {} : { batchId: batchId as BatchId }),
  };
}

/** Beside these fields `metadata.<key>=<value>` or `metadata[<key>]=<value>`, as many as there are. */
function withMetadata<Shape extends z.ZodRawShape>(shape: Shape) {
  return z
    .object(shape)
    .catchall(z.unknown())
    .superRefine((query, context) => {
      const keys = Object.keys(query).filter((key) => !Object.hasOwn(shape, key) && metadataKeyOf(key) === null);
      if (keys.length > 0) context.addIssue({ code: 'unrecognized_keys', keys, input: query });
    });
}

/** Which have to be whole for it. */
export function readModelsOf(query: FilterQuery): readonly ReadModel[] {
  return isSearch(filterOf(query)) ? [notificationsReadModel, searchReadModel] : [notificationsReadModel];
}

/** Filters of the query that are those of the records. */
const asTheyAre = [
  'status',
  'channel',
  'priority',
  'recipient',
  'recipientPrefix',
  'from',
  'to',
  'provider',
  'errorClass',
  'errorCode',
  'failedFrom',
  'failedTo',
  'messageId',
] as const;

/** @throws DomainError BAD_REQUEST */
export function placeOf({ limit, page, cursor }: ListQuery, after: ListPlace['after'] | null): ListPlace {
  if (page !== undefined && cursor !== undefined) throw badField('page', 'must not be given together with a cursor');
  if (page !== undefined && page * limit > pageRowsMax)
    throw badField('page', `goes down to row ${pageRowsMax}; go on by cursor`);
  return {
    limit,
    ...(after === null || after === undefined ? {} : { after }),
    ...(page === undefined ? {} : { page }),
  };
}

export function paginationOf(
  { limit, page, cursor }: ListQuery,
  { total, totalIsExact }: NotificationList,
  nextCursor: string | null,
) {
  const shownPage = cursor === undefined ? (page ?? 1) : null;
  return { limit, total, totalIsExact, nextCursor, page: shownPage, totalPages: Math.ceil(total / limit) };
}

function metadataAsked(query: object): ReadonlyMap<string, string> {
  const asked = new Map<string, string>();
  for (const [name, value] of Object.entries(query)) {
    const key = metadataKeyOf(name);
    if (key === null) continue;
    if (asked.has(key)) throw badField(`metadata.${key}`, 'is given more than once');
    asked.set(key, String(value));
  }
  return asked;
}

function metadataKeyOf(name: string): string | null {
  const match = metadataNames.exec(name);
  return match === null ? null : (match[1] ?? match[2] ?? null);
}

function wordsAsked(q: string): string[] {
  const words = wordsOf(q, wordsMax + 1);
  if (words.length === 0) throw badField('q', 'must hold a word: letters or digits');
  if (words.length > wordsMax) throw badField('q', `must have at most ${wordsMax} words`);
  return words;
}
