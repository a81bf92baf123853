// Combinations of the filters of a list of notifications, by values that the filled read models have.

import type { NotificationFilter, RecordFilter, SearchFilter } from '../../src/projections/notifications/filter.ts';
import { noon } from '../projections/histories.ts';
import * as filled from './filled-read-models.ts';

/** A value for each filter: a new one is missed here by the compiler. */
const recordValues: { readonly [K in keyof RecordFilter]-?: Required<RecordFilter>[K] } = {
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

/**
 * Every combination of what is searched, with none of the facts, each alone and all of them: a search asks for the same rows whatever the facts, and checks
 * them on the records.
 */
export function searchFilters(): NotificationFilter[] {
  const searches: SearchFilter[] = subsetsOf(searchValues).filter((subset) => Object.keys(subset).length > 0);
  const single: RecordFilter[] = Object.entries(recordValues).map(([field, value]) => ({ [field]: value }));
  return searches.flatMap((search) => [{}, ...single, recordValues].map((of) => ({ ...of, ...search })));
}

function subsetsOf<T extends object>(values: T): Partial<T>[] {
  return Object.entries(values).reduce<Partial<T>[]>(
    (found, [field, value]) => found.flatMap((subset) => [subset, { ...subset, [field]: value as unknown }]),
    [{}],
  );
}
