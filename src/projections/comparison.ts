// Two sets of documents held against each other, both read in the order of their ids: which of them differ, in which fields, how often. Memory is two pages,
// however many documents there are.

import { statuses } from '../domain/notification.ts';
import type { DocumentScan, StoredText } from '../ports/document-scan.ts';

export interface CollectionDifference {
  /** How many there are on each side. */
  readonly documents: { readonly before: number; readonly after: number };
  readonly changed: number;
  readonly onlyBefore: number;
  readonly onlyAfter: number;
  /** Of those that are on both sides and differ: in how many of them each top-level field does. */
  readonly fields: ReadonlyMap<string, number>;
  /** The first few by their ids. */
  readonly examples: readonly DifferenceExample[];
}

/** Nothing in it tells a text: bodies, subjects and recipients are somebody's. */
export interface DifferenceExample {
  /** Without the recipient that it may hold. */
  readonly id: string;
  readonly kind: 'changed' | 'onlyBefore' | 'onlyAfter';
  /** Of what changed: the fields, and what is said of their values. */
  readonly fields: readonly { readonly field: string; readonly before: string; readonly after: string }[];
}

/** One side: where it is scanned, and what the collection is called there. */
export interface ComparedSide {
  readonly store: DocumentScan;
  readonly collection: string;
}

/** Of one side 4 MiB of text at most, and one document that may have as much. */
const page = { limit: 500, bytesMax: 4 * 1024 * 1024 };
const examplesMax = 5;
const exampleFieldsMax = 10;
/** Fields are the ones that folds write; what a document of another kind brings is counted together. */
const fieldsMax = 100;
const furtherFields = '(further fields)';

export interface Comparing {
  /** Told how many documents were read since it was told last. */
  onCompared?(documents: number): void;
  /** Told of each document that differs, by its id. */
  onDifferent?(id: string): void;
  /** Of ids; absent: all of them. */
  readonly documentsMax?: number;
}

/** @throws Error when a store is away */
export async function compareCollections(
  before: ComparedSide,
  after: ComparedSide,
  { onCompared = () => undefined, onDifferent = () => undefined, documentsMax = Infinity }: Comparing = {},
): Promise<CollectionDifference> {
  const found = createFindings(onDifferent);
  const left = documentsOf(before, onCompared);
  const right = documentsOf(after, onCompared);
  let [a, b] = [await next(left), await next(right)];
  for (let compared = 0; (a !== null || b !== null) && compared < documentsMax; compared++) {
    const order = orderOf(a, b);
    found.note(order <= 0 ? a : null, order >= 0 ? b : null);
    if (order <= 0) a = await next(left);
    if (order >= 0) b = await next(right);
  }
  return found.all();
}

export function isDifferent({ changed, onlyBefore, onlyAfter }: CollectionDifference): boolean {
  return changed + onlyBefore + onlyAfter > 0;
}

/** Negative: the first comes first; 0: they are of one id. What has ended comes last. */
function orderOf(a: StoredText | null, b: StoredText | null): number {
  if (a === null || b === null) return (a === null ? 1 : 0) - (b === null ? 1 : 0);
  return compareUtf8(a.id, b.id);
}

/** As the bytes of UTF-8 compare: by code points, where the code units of JavaScript have surrogates before U+E000. */
function compareUtf8(a: string, b: string): number {
  if (a === b) return 0;
  let at = 0;
  while (a.charCodeAt(at) === b.charCodeAt(at)) at++;
  return (a.codePointAt(at) ?? -1) - (b.codePointAt(at) ?? -1);
}

async function* documentsOf(
  { store, collection }: ComparedSide,
  onRead: (documents: number) => void,
): AsyncGenerator<StoredText, void> {
  let after: string | null = null;
  for (;;) {
    const found: readonly StoredText[] = await store.scan(collection, { after, ...page });
    const last = found.at(-1);
    if (last === undefined) return;
    onRead(found.length);
    yield* found;
    after = last.id;
  }
}

async function next(documents: AsyncGenerator<StoredText, void>): Promise<StoredText | null> {
  const { value } = await documents.next();
  return value ?? null;
}

type Fields = Readonly<Record<string, unknown>>;

function createFindings(onDifferent: (id: string) => void) {
  const documents = { before: 0, after: 0 };
  const counts = { changed: 0, onlyBefore: 0, onlyAfter: 0 };
  const fields = new Map<string, number>();
  const examples: DifferenceExample[] = [];

  const noteExample = (example: () => DifferenceExample): void => {
    if (examples.length < examplesMax) examples.push(example());
  };
  const noteOnly = (kind: 'onlyBefore' | 'onlyAfter', { id, text }: StoredText): void => {
    counts[kind]++;
    onDifferent(id);
    noteExample(() => ({ id: shownId(id, parsed(text)), kind, fields: [] }));
  };
  const noteChanged = (id: string, before: Fields, after: Fields): void => {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    const differing = names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
    // The same fields in another order.
    if (differing.length === 0) return;
    counts.changed++;
    onDifferent(id);
    for (const field of differing) {
      const name = fields.has(field) || fields.size < fieldsMax ? field : furtherFields;
      fields.set(name, (fields.get(name) ?? 0) + 1);
    }
    noteExample(() => ({
      id: shownId(id, after),
      kind: 'changed',
      fields: differing
        .slice(0, exampleFieldsMax)
        .map((field) => ({ field, before: shownValue(before[field]), after: shownValue(after[field]) })),
    }));
  };

  return {
    note(before: StoredText | null, after: StoredText | null): void {
      if (before !== null) documents.before++;
      if (after !== null) documents.after++;
      if (before === null && after !== null) noteOnly('onlyAfter', after);
      if (before !== null && after === null) noteOnly('onlyBefore', before);
      if (before !== null && after !== null && before.text !== after.text)
        noteChanged(before.id, parsed(before.text), parsed(after.text));
    },
    all: (): CollectionDifference => ({ documents, ...counts, fields, examples }),
  };
}

function parsed(text: string): Fields {
  return JSON.parse(text) as Fields;
}

function shownId(id: string, { recipient }: Fields): string {
  return typeof recipient === 'string' && recipient !== '' ? id.replace(recipient, '••••••') : id;
}

/** Numbers, booleans and statuses as they are; of everything else how much of it there is. */
function shownValue(value: unknown): string {
  if (value === undefined) return 'absent';
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value !== 'string') return 'an object';
  return statuses.some((status) => status === value) ? value : `a text of ${value.length} characters`;
}
