// How much of a document is asked for: all of its text, or declared fields beside it; and how many documents go into so many bytes.

import { NoFittingIndexError } from '../../../ports/read-model-store.ts';
import type { StoredCollection, StoredDocument } from './stored-collection.ts';

/** The key, and the document or the fields wanted instead. @throws NoFittingIndexError for what isn't declared */
export function projectionOf(
  { collection, fields }: StoredCollection,
  key: readonly string[],
  wanted: readonly string[] | undefined,
): Record<string, 1> {
  const undeclared = wanted?.find((field) => fields[field] === undefined || fields[field] === 'texts');
  if (undeclared !== undefined)
    throw new NoFittingIndexError(`${collection} doesn't declare ${undeclared}, which was asked for`);
  return Object.fromEntries(['_id', ...key, ...(wanted ?? ['json'])].map((field) => [field, 1]));
}

export function documentOf(row: StoredDocument, fields: readonly string[] | undefined): Record<string, unknown> {
  if (fields === undefined) return JSON.parse(row.json) as Record<string, unknown>;
  return Object.fromEntries(fields.map((field) => [field, row[field] ?? null]));
}

/** What the server says of a document, so that only what fits is sent. */
export interface Size {
  readonly bytes: number;
}

export const sizeProjection = { bytes: { $strLenBytes: '$json' } };

/** A document with its size: without its text where that is longer than was asked for. */
export type Measured = Size & Pick<StoredDocument, '_id'> & Partial<Pick<StoredDocument, 'json'>>;

export function isWhole(row: Measured): row is Measured & StoredDocument {
  return row.json !== undefined;
}

/** The key, the size, and the document where that is of so many bytes at most. */
export function sharedProjection(key: readonly string[], bytesMax: number): object {
  const json = { $cond: [{ $lte: [sizeProjection.bytes, bytesMax] }, '$json', '$$REMOVE'] };
  return { ...Object.fromEntries(['_id', ...key].map((field) => [field, 1])), ...sizeProjection, json };
}

/** How many of the documents of these sizes go into so many bytes; one at least. */
export function fittingOf(sizes: readonly number[], bytesMax: number): number {
  let bytes = 0;
  for (const [i, size] of sizes.entries()) {
    bytes += size;
    if (i > 0 && bytes > bytesMax) return i;
  }
  return sizes.length;
}
