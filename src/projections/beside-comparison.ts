// A read model that was filled beside another held against that one, while both are folded: in steps that leave the thread to others, a million documents of
// each collection at most, the first ones by their ids.
//
//   scanned side by side ──> those that differ: one may be ahead ──looked at again, a second later, some times──> left ──> looked at once more when level

import type { BesideComparison } from '../ports/read-model-rebuild.ts';
import type { NotificationId, TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { DocumentScan } from '../ports/document-scan.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Document, ReadModelReader } from '../ports/read-model-store.ts';
import type { CollectionDifference, ComparedSide } from './comparison.ts';
import { compareCollections } from './comparison.ts';

type Side = DocumentScan & Pick<ReadModelReader, 'get'>;

/** Who is told of erasures reads less than what was folded before, until that is erased as well: such documents aren't held against each other. */
type Erasing = Pick<EventLog, 'isErased' | 'isTenantErased'>;

export interface BesideSides {
  readonly log: Erasing;
  readonly before: Side;
  readonly after: Side;
  /** What is compared: its name before and after. */
  readonly collections: readonly { readonly before: string; readonly after: string }[];
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Of each collection: 2,000 pages of both sides, in a minute or two by half of the thread's quiet time. */
const documentsMax = 1_000_000;
/** A page takes some 10 ms of the thread; then the others have three times as long. */
const restsPerPage = 3;
const restMinMs = 1;
/** A cell of the statistics changes with every event of its tenant. */
const looks = 5;
const lookEveryMs = 1000;
/** Ids that differ or are on their way; of more there is something to be said already. */
const doubtfulMax = 1000;
/** Of those left when both are held: 5 at a time, of 4 MiB each at the worst. */
const heldMax = 200;
const atOnce = 5;

/** What differs so far, and what is to be looked at again when both stand at the same offsets. */
export interface BesideFindings {
  readonly compared: number;
  /** At equal offsets. @returns what differs then */
  settle(after: Pick<ReadModelReader, 'get'>): Promise<BesideComparison>;
  /** What differs now, whether or not one is ahead. */
  now(): Promise<BesideComparison>;
}

interface Doubtful {
  readonly before: string;
  readonly after: string;
  readonly id: string;
}

/** @param wanted `each` where nothing is to differ: which ones do is found out; `some`: what differs is told by a sample */
export async function compareBeside(sides: BesideSides, wanted: 'each' | 'some'): Promise<BesideFindings> {
  const { log, before, after, clock, signal, collections } = sides;
  const found: Found[] = [];
  let doubtful: Doubtful[] = [];
  let compared = 0;
  for (const names of collections) {
    if (signal.aborted || doubtful.length >= doubtfulMax) break;
    const sideOf = (store: DocumentScan, collection: string): ComparedSide => ({
      store: { ...store, scan: rested(clock, signal, store) },
      collection,
    });
    const difference = await compareCollections(sideOf(before, names.before), sideOf(after, names.after), {
      documentsMax: wanted === 'each' ? documentsMax : someDocuments,
      onDifferent(id) {
        if (doubtful.length < doubtfulMax) doubtful.push({ ...names, id });
      },
    });
    compared += Math.max(difference.documents.before, difference.documents.after);
    found.push({ collection: names.after, difference });
  }
  const looksMax = wanted === 'each' ? looks : 0;
  for (let look = 0; look < looksMax && doubtful.length > 0 && !signal.aborted; look++) {
    await clock.sleep(lookEveryMs, signal);
    doubtful = (await differing(log, { before, after }, doubtful)).map(({ doubt }) => doubt);
  }
  return {
    compared,
    async settle(held) {
      const left = await differing(log, { before, after: held }, doubtful.slice(0, heldMax));
      return toldOf(clock, Math.max(0, compared - Math.max(0, doubtful.length - heldMax)), left);
    },
    now: async () => sampleOf(clock, compared, found),
  };
}

const someDocuments = 2000;

interface Found {
  readonly collection: string;
  readonly difference: CollectionDifference;
}

/** The same scan; each page is followed by a rest. */
function rested(clock: Clock, signal: AbortSignal, store: DocumentScan): DocumentScan['scan'] {
  return async (...asked) => {
    const startedAt = clock.monotonic();
    const page = await store.scan(...asked);
    await clock.sleep(Math.max(restMinMs, restsPerPage * (clock.monotonic() - startedAt)), signal);
    return page;
  };
}

interface Differing {
  readonly doubt: Doubtful;
  readonly fields: readonly string[];
}

async function differing(
  log: Erasing,
  { before, after }: { readonly before: Pick<ReadModelReader, 'get'>; readonly after: Pick<ReadModelReader, 'get'> },
  doubtful: readonly Doubtful[],
): Promise<Differing[]> {
  const left: Differing[] = [];
  const collections = new Map(doubtful.map((doubt) => [doubt.after, doubt.before]));
  for (const [ofAfter, ofBefore] of collections) {
    const ofCollection = doubtful.filter((doubt) => doubt.after === ofAfter);
    for (let at = 0; at < ofCollection.length; at += atOnce) {
      const some = ofCollection.slice(at, at + atOnce);
      const ids = some.map(({ id }) => id);
      const [a, b] = [await before.get<Document>(ofBefore, ids), await after.get<Document>(ofAfter, ids)];
      for (const doubt of some) {
        const sides = [a.get(doubt.id), b.get(doubt.id)] as const;
        const fields = fieldsOf(...sides);
        if (fields.length > 0 && !sides.some((side) => isErased(log, doubt.id, side))) left.push({ doubt, fields });
      }
    }
  }
  return left;
}

type Fields = Readonly<Record<string, unknown>>;

/** Of records their ids are the notifications'. */
function isErased(log: Erasing, id: string, document: Document | undefined): boolean {
  const { tenantId } = (document ?? {}) as { readonly tenantId?: TenantId };
  return log.isErased(id as NotificationId) || (tenantId !== undefined && log.isTenantErased(tenantId));
}

/** In which they differ; `(missing)` and `(surplus)`: one of the two isn't there. */
function fieldsOf(before: Document | undefined, after: Document | undefined): readonly string[] {
  if (before === undefined) return after === undefined ? [] : ['(surplus)'];
  if (after === undefined) return ['(missing)'];
  const [a, b] = [before as Fields, after as Fields];
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter(
    (field) => JSON.stringify(a[field]) !== JSON.stringify(b[field]),
  );
}

const examplesMax = 5;

/** An id may hold a recipient: the collection and the fields alone. */
function toldOf(clock: Clock, compared: number, left: readonly Differing[]): BesideComparison {
  const fields = new Map<string, number>();
  for (const { doubt, fields: names } of left) for (const name of names) count(fields, `${doubt.after}.${name}`, 1);
  const examples = left.slice(0, examplesMax).map(({ doubt, fields: names }) => `${doubt.after}: ${names.join(', ')}`);
  return { at: clock.now(), compared, differing: left.length, fields: [...fields], examples };
}

function sampleOf(clock: Clock, compared: number, found: readonly Found[]): BesideComparison {
  const fields = new Map<string, number>();
  const examples: string[] = [];
  let differing = 0;
  for (const { collection, difference } of found) {
    const { changed, onlyBefore, onlyAfter } = difference;
    differing += changed + onlyBefore + onlyAfter;
    if (onlyBefore > 0) count(fields, `${collection}.(missing)`, onlyBefore);
    if (onlyAfter > 0) count(fields, `${collection}.(surplus)`, onlyAfter);
    for (const [field, documents] of difference.fields) count(fields, `${collection}.${field}`, documents);
    for (const example of difference.examples)
      examples.push(
        `${collection}/${example.id}: ${example.fields.map((of) => `${of.field}: ${of.before}, now ${of.after}`).join('; ')}`,
      );
  }
  return { at: clock.now(), compared, differing, fields: [...fields], examples: examples.slice(0, examplesMax) };
}

function count(counts: Map<string, number>, key: string, by: number): void {
  counts.set(key, (counts.get(key) ?? 0) + by);
}
