// Where read models live: documents in collections, found by declared indexes, written together with the position they follow from.

import { utf8Bytes } from '../domain/template.ts';
import type { Topic } from '../domain/topics.ts';
import type { DocumentShape } from './document-shape.ts';
import { StaleOwnerError } from './event-log.ts';
import type { FoldedAhead } from './folded-ahead.ts';

export type FieldValue = string | number | null;

/** A plain JSON object. Fields that an index or a filter names are its top-level ones: text, number or a list of texts. */
export type Document = object;

/** `texts` is a list of texts: an index has an entry for each of them, so that equality on it asks for documents that hold one. */
export type FieldType = 'text' | 'number' | 'texts';

export interface IndexDefinition {
  /** Equality fields first, then the order fields; the document's id breaks ties after them. */
  readonly fields: readonly string[];
  /** Documents whose value here is null are not in the index (and are never found by it). One with a list is always sparse: the list, and then one
   * number, which is whole and has 42 bits; of the same number documents come in an order of the store's own, each time the same. */
  readonly sparse?: boolean;
}

export interface CollectionDefinition {
  readonly name: string;
  /** Every field that an index or a filter names, and its type. No filter and no order names a list. */
  readonly fields: Readonly<Record<string, FieldType>>;
  readonly indexes: readonly IndexDefinition[];
  /** Of its documents, where most have one: a store may keep them by it. Absent: they are kept as they are. */
  readonly shape?: DocumentShape;
}

/**
 * When a version that is begun gets its indexes. `once filled`: documents come half as fast again without them, and they are made in a fifth of the time by
 * what is there then (`noteCaughtUp`). Until then documents are found by their ids alone.
 */
export type IndexesMade = 'at once' | 'once filled';

/** A read model's collections at one version; a rebuild fills the next version beside it. */
export interface ReadModelDefinition {
  readonly name: string;
  readonly collections: readonly CollectionDefinition[];
  /** The read model whose secret it has, where that is there: the one that it replaces. Absent: a secret of its own. */
  readonly secretOf?: string;
}

export interface Write {
  readonly collection: string;
  readonly id: string;
  /** The whole document; null removes it. */
  readonly document: Document | null;
  /** A hint: the fold has looked and found none with this id. Some stores write such a document at half the cost; a wrong hint changes nothing else. */
  readonly isNew?: boolean;
}

/** A partition number of a read model, taken by one owner: whoever takes it next raises the epoch, and this one's writes fail. */
export interface Ownership {
  readonly readModel: string;
  readonly partition: number;
  readonly epoch: number;
  /** The next offset to fold, per topic; a topic never folded is absent. */
  readonly offsets: ReadonlyMap<Topic, number>;
  /** What is folded of it before its turn; null: nothing. */
  readonly ahead: FoldedAhead | null;
}

/** By which right a number is taken over. */
export interface Claimed {
  /** Of the claim on the number. 0: of no claim, whose work any may take over. */
  readonly generation: number;
  /** A greater generation that the store has and that is over all the same: the group was made anew since. */
  readonly after?: number;
}

/** Thrown by own when the number was taken over by right of a newer generation: nothing was changed. */
export class NewerOwnerError extends StaleOwnerError {
  /** Of the owner. */
  readonly generation: number;

  constructor(readModel: string, partition: number, by: Claimed, generation: number) {
    super(`number ${partition} of ${readModel} is owned in generation ${generation}, not in ${by.generation}`);
    this.name = 'NewerOwnerError';
    this.generation = generation;
  }
}

/** Thrown by own while the version is held for a swap (RebuildableStore): it may be owned again in a moment. */
export class HeldError extends StaleOwnerError {
  constructor(readModel: string) {
    super(`${readModel} is held: its next version comes level and is swapped in`);
    this.name = 'HeldError';
  }
}

/** How much of the documents is wanted. What isn't is not brought into this process. */
export interface Only {
  /**
   * The answer ends before the document with which its documents, as JSON text in UTF-8, would be more than so many bytes; it has one at least. Without
   * meaning beside `fields`.
   */
  readonly bytesMax?: number;
  /** With `bytesMax`: more than that is refused instead. @throws TooManyBytesError where documents are asked for by their ids */
  readonly orRefuse?: true;
  /** These declared fields (no list) instead of whole documents: they stand beside the documents, which aren't read. */
  readonly fields?: readonly string[];
}

/** An equality, one of several values, or a half-open range [from, to), in which null isn't. */
export type FieldFilter = FieldValue | readonly FieldValue[] | FieldRange;

export interface FieldRange {
  readonly from?: FieldValue;
  readonly to?: FieldValue;
}

export function isFieldRange(filter: FieldFilter): filter is FieldRange {
  return typeof filter === 'object' && filter !== null && !Array.isArray(filter);
}

/** The values of a filter that isn't a range. */
export function wantedValues(filter: FieldValue | readonly FieldValue[]): readonly FieldValue[] {
  return typeof filter === 'object' && filter !== null ? filter : [filter];
}

export interface Query extends Only {
  readonly collection: string;
  /** Equality on an index's leading fields. */
  readonly equals: Readonly<Record<string, FieldValue>>;
  /** A half-open range [from, to) on the index's first order field. */
  readonly range?: { readonly field: string; readonly from?: FieldValue; readonly to?: FieldValue };
  /** The index's order fields, all in this direction, then the id in it. */
  readonly order: { readonly fields: readonly string[]; readonly direction: 'ascending' | 'descending' };
  /** Checked on the rows that the index gives. */
  readonly filter?: Readonly<Record<string, FieldFilter>>;
  /** The key of the last row seen: the values of the order fields, then the id. */
  readonly after?: readonly FieldValue[];
  /** So many rows are passed over first, at most rowsSkippedMax: by their index alone, whatever is wanted of the others. Not beside a filter. */
  readonly skip?: number;
  readonly limit: number;
}

/** Documents whose keys in one index lie in one of several ranges: a range of time as a few days, hours and minutes. */
export interface RangesQuery {
  readonly collection: string;
  /** No two of them overlap. Each is of an index of exactly these equality fields, in whatever order, and then the range's. */
  readonly ranges: readonly (Pick<Query, 'equals'> & { readonly range: NonNullable<Query['range']> })[];
  readonly fields?: readonly string[];
}

/** 10,000 take SQLite 1 to 2 ms and MongoDB 5. */
export const rowsSkippedMax = 10_000;

/** What is counted has no order and no end. */
export type CountQuery = Omit<Query, 'after' | 'limit' | 'order' | 'skip' | keyof Only>;

/**
 * A document as JSON text in UTF-8. The largest that the API's limits allow is a record of 3.3 MiB: two bodies of 200 KiB and `data` of 64 KiB whose every
 * character takes six in JSON, and 101 attempts with messages of 1 KiB. MongoDB takes 16 MiB.
 */
export const documentBytesMax = 4 * 1024 * 1024;

/** Thrown by transact, on every adapter: nothing was written. */
export class DocumentTooLargeError extends Error {
  readonly collection: string;
  readonly id: string;
  readonly bytes: number;

  constructor(collection: string, id: string, bytes: number) {
    super(`${collection}/${id} would be ${bytes} bytes: a document has at most ${documentBytesMax}`);
    this.name = 'DocumentTooLargeError';
    [this.collection, this.id, this.bytes] = [collection, id, bytes];
  }
}

/** Thrown by get where all documents were wanted, and they are more than the bytes allowed. */
export class TooManyBytesError extends Error {
  constructor(collection: string, bytesMax: number) {
    super(`the documents of ${collection} are more than ${bytesMax} bytes`);
    this.name = 'TooManyBytesError';
  }
}

/** A document as the stores keep it. @throws DocumentTooLargeError */
export function documentText(collection: string, id: string, document: Document): string {
  const text = JSON.stringify(document);
  if (text.length * 3 > documentBytesMax && utf8Bytes(text) > documentBytesMax)
    throw new DocumentTooLargeError(collection, id, utf8Bytes(text));
  return text;
}

/** How many rows a page passes over. @throws RangeError where that can't be */
export function skippedOf({ skip = 0, filter = {} }: Query): number {
  if (!Number.isInteger(skip) || skip < 0 || skip > rowsSkippedMax)
    throw new RangeError(`a page passes over ${rowsSkippedMax} rows at most`);
  if (skip > 0 && Object.keys(filter).length > 0) throw new RangeError('a page with a filter passes over no rows');
  return skip;
}

export interface Page<D extends Document> {
  readonly documents: readonly (D & { readonly id: string })[];
  /** The key to go on from: of the last document, or of the last row looked at when the page came back short by its filter; null at the end. */
  readonly next: readonly FieldValue[] | null;
}

/** At most so many rows of an index are looked at for a page. */
export const rowsPerPageMax = 2000;

/** Thrown where no declared index or field fits: a bug of the caller, on every adapter. */
export class NoFittingIndexError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'NoFittingIndexError';
  }
}

/** What a query may do. Every call rejects with an Error when the store is away. */
export interface ReadModelReader {
  /** By id, in the order of the ids; ids without a document are absent, and those after the end of `bytesMax`. */
  get<D extends Document>(collection: string, ids: readonly string[], only?: Only): Promise<ReadonlyMap<string, D>>;
  /** @throws NoFittingIndexError */
  find<D extends Document>(query: Query): Promise<Page<D>>;
  /**
   * All documents of some ranges at once, in no order; null where they are more than rowsPerPageMax: each is to be found for itself then, page by page.
   * @throws NoFittingIndexError
   */
  findRanges<D extends Document>(query: RangesQuery): Promise<readonly (D & { readonly id: string })[] | null>;
  /** Rows that match, counted up to `cap`; `exact` is false when there may be more. @throws NoFittingIndexError */
  count(query: CountQuery, cap: number): Promise<{ readonly count: number; readonly exact: boolean }>;
  /** The next offset to fold, per topic, of a read model's partition number. */
  positions(readModel: string, partition: number): Promise<ReadonlyMap<Topic, number>>;
  /** What of that number is folded before its turn; null: nothing. */
  ahead(readModel: string, partition: number): Promise<FoldedAhead | null>;
  /**
   * False from when the read model was made, empty, until `noteCaughtUp`: what it holds is a part of what the log says. One that was made before there was
   * this note, or swapped in by a rebuild, has caught up.
   */
  hasCaughtUp(readModel: string): Promise<boolean>;
  /** False from when the read model was made, its indexes to come `once filled`, until `noteCaughtUp` has made them: whatever needs one rejects. */
  isIndexed(readModel: string): Promise<boolean>;
  /**
   * 32 hexadecimal digits by chance: made with the read model, kept in its store beside it, and the same for a rebuild. For hashes that nobody outside can
   * foresee. @throws Error when the read model isn't prepared
   */
  secret(readModel: string): Promise<string>;
  /** Calls back soon after writes (from whichever process) may have moved the read model; spurious calls are fine. Returns the call that ends it. */
  onChange(readModel: string, listener: () => void): () => void;
  ready(): Promise<boolean>;
}

/**
 * How long a partition number rests after a transaction while events keep coming, in ms: a transaction costs nearly the same for one event and for
 * fifty. After 100 and more, or as many bytes as make it dear by themselves, it doesn't rest, and an event that comes alone is folded at once.
 */
export interface FoldPace {
  /** In one transaction at most. */
  readonly eventsMax: number;
  /** After fewer than five events. */
  readonly fewMs: number;
  /** After more. */
  readonly manyMs: number;
  /** So many transactions of few events are followed by no rest, of all numbers in `manyMs`: while little happens nobody waits. */
  readonly unrestedMax: number;
  /** The store works in its caller's thread: all numbers rest until the same beat of the clock, where it commits them together, and large batches take turns. */
  readonly inThread: boolean;
}

export interface ReadModelStore extends ReadModelReader {
  readonly pace: FoldPace;
  /**
   * Makes the collections and indexes that are missing.
   * @param indexes of a read model that isn't there yet; at once unless said. One that is there goes on as it was made
   */
  prepare(definition: ReadModelDefinition, indexes?: IndexesMade): Promise<void>;
  /**
   * It has reached the end that the log had when it began to be folded. For good; may be said again. Resolves once the indexes are there that were to come
   * then; others may fold meanwhile, but where the store works in its caller's thread that stands still for as long as one index takes.
   * @param signal begins no further index once it has aborted, and nothing is noted then: whoever says it again goes on
   */
  noteCaughtUp(readModel: string, signal?: AbortSignal): Promise<void>;
  /**
   * Removes a read model that nobody uses any more, whatever there is of it, some ms of work at a time: to be called until it says `done`. From the first
   * call on nobody finds it or can own it; one that is prepared under its name begins empty.
   */
  removeSome(readModel: string): Promise<'more' | 'done'>;
  /**
   * Takes a partition number over: raises its epoch and reads its offsets.
   * @throws NewerOwnerError, HeldError; Error when the store is away
   */
  own(readModel: string, partition: number, by: Claimed): Promise<Ownership>;
  /**
   * One transaction: the position first (`offsets`: topics that moved, their new next offset), then the writes. All or nothing.
   * Resolves with the ownership to write with next. @throws StaleOwnerError, DocumentTooLargeError
   * @param ahead what is folded before its turn from now on, null for nothing; absent: as it was
   */
  transact(
    owner: Ownership,
    offsets: ReadonlyMap<Topic, number>,
    writes: readonly Write[],
    ahead?: FoldedAhead | null,
  ): Promise<Ownership>;
  close(): Promise<void>;
}
