// What a filter says of a record's declared fields: the same for the lists that an index gives and for those that a search does.

import { comparedAddress } from '../../domain/email-address.ts';
import type { FieldRange } from '../../ports/read-model-store.ts';
import { comparedCode } from './failure-causes.ts';
import type { RecordFilter } from './filter.ts';

export const factFields = [
  'messageId',
  'batchId',
  'comparedRecipient',
  'errorCode',
  'templateName',
  'errorClass',
  'status',
  'channel',
  'priority',
  'provider',
] as const;
export type FactField = (typeof factFields)[number];
export type Facts = Readonly<Partial<Record<FactField, string>>>;

/** The fields that are asked for, and their values. */
export function factsOf(filter: RecordFilter): Facts {
  const { recipient, errorCode, ...others } = filter;
  const asked: Partial<Record<FactField, string | undefined>> = {
    ...others,
    comparedRecipient: recipient === undefined ? undefined : comparedAddress(recipient),
    errorCode: errorCode === undefined ? undefined : (comparedCode(errorCode) ?? undefined),
  };
  return Object.fromEntries(
    factFields.flatMap((field) => (asked[field] === undefined ? [] : [[field, asked[field]] as const])),
  );
}

/** When it failed; null: it doesn't matter whether it has. */
export function failedWindowOf({ failedFrom, failedTo }: RecordFilter): FieldRange | null {
  if (failedFrom === undefined && failedTo === undefined) return null;
  return { from: failedFrom ?? 0, ...(failedTo === undefined ? {} : { to: failedTo }) };
}

/** When it was requested. */
export function requestedWindowOf({ from, to }: RecordFilter): FieldRange {
  return { from: from ?? 0, ...(to === undefined ? {} : { to }) };
}
