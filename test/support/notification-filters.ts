// Combinations of the filters of a list of notifications, by values that the filled read models have.

import type { NotificationFilter, RecordFilter, SearchFilter } from '../../src/projections/notifications/filter.ts';
import { noon } from '../projections/histories.ts';
import * as filled from './filled-read-models.ts';

type Values<K extends keyof RecordFilter> = { readonly [F in K]-?: Required<RecordFilter>[F] };
type OfOutcome = 'provider' | 'messageId' | 'errorClass' | 'errorCode' | 'failedFrom' | 'failedTo';

/** A value for each filter: a new one is missed here, or among the others, by the compiler. */
const recordValues: Values<Exclude<keyof RecordFilter, OfOutcome>> = {
  status: 'DELIVERED',
  // A single one has it, the oldest: a page looks at all rows that it may.
  channel: 'SMS',
  priority: 'HIGH',
  recipient: filled.recipient,
  templateName: filled.template,
  batchId: filled.batch,
  from: noon,
  to: noon + 5000 * filled.minuteMs,
};

/** What the outcome says: only records that failed have all but one of them. */
const outcomeValues: Values<OfOutcome> = {
  provider: filled.provider,
  messageId: filled.messageId,
  errorClass: filled.failureClass,
  errorCode: filled.code,
  failedFrom: noon,
  failedTo: noon + 5000 * filled.minuteMs,
};

const searchValues: { readonly [K in keyof SearchFilter]-?: Required<SearchFilter>[K] } = {
  // Between two lengths that are kept.
  recipientPrefix: filled.recipient.slice(0, 5),
  words: ['hello', 'ada'],
  metadata: { plan: 'gold' },
};

/** Every combination, those with a time on whole minutes and within them. */
export function recordFilters(): NotificationFilter[] {
  const subsets: RecordFilter[] = subsetsOf(recordValues);
  return [
    ...subsets,
    ...subsets.flatMap((filter) => (filter.from === undefined ? [] : [{ ...filter, from: noon + 1 }])),
  ];
}

/** Every combination of them alone, the same beside all others, and each beside each other. */
export function outcomeFilters(): NotificationFilter[] {
  const subsets: RecordFilter[] = subsetsOf(outcomeValues).filter((subset) => Object.keys(subset).length > 0);
  const single = (of: RecordFilter): RecordFilter[] => Object.entries(of).map(([field, value]) => ({ [field]: value }));
  return [
    ...subsets,
    ...subsets.map((subset) => ({ ...recordValues, ...subset })),
    ...single(outcomeValues).flatMap((one) => single(recordValues).map((other) => ({ ...one, ...other }))),
  ];
}

/**
 * Every combination of what is searched, with none of the facts, each alone and all of them: a search asks for the same rows whatever the facts, and checks
 * them on the records.
 */
export function searchFilters(): NotificationFilter[] {
  const searches: SearchFilter[] = subsetsOf(searchValues).filter((subset) => Object.keys(subset).length > 0);
  const values: RecordFilter = { ...recordValues, ...outcomeValues };
  const single: RecordFilter[] = Object.entries(values).map(([field, value]) => ({ [field]: value }));
  return searches.flatMap((search) => [{}, ...single, values].map((of) => ({ ...of, ...search })));
}

function subsetsOf<T extends object>(values: T): Partial<T>[] {
  return Object.entries(values).reduce<Partial<T>[]>(
    (found, [field, value]) => found.flatMap((subset) => [subset, { ...subset, [field]: value as unknown }]),
    [{}],
  );
}
