// The filters of an address as POST /notifications/retry takes them.

import type { Body } from '../../wire.ts';

export type FailedFilter = Body<'/notifications/retry', 'post'>['filter'];

const metadataPrefix = 'metadata.';

/** @param query as the list's own: names are the API's, `metadata.<key>` for pairs */
export function failedFilterOf(query: URLSearchParams): FailedFilter {
  const fields: Record<string, string> = {};
  const metadata: Record<string, string> = {};
  for (const [name, value] of query) {
    if (name.startsWith(metadataPrefix)) metadata[name.slice(metadataPrefix.length)] = value;
    else fields[name] = value;
  }
  return { ...fields, ...(Object.keys(metadata).length === 0 ? {} : { metadata }), status: 'FAILED' };
}
