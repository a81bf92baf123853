// A document that is too large for the store never stops a partition number: it is cut, and said; what can't be cut stays as it is stored.

import type { Topic } from '../domain/topics.ts';
import type { FoldedAhead } from '../ports/folded-ahead.ts';
import type { Document, Ownership, ReadModelStore, Write } from '../ports/read-model-store.ts';
import { DocumentTooLargeError } from '../ports/read-model-store.ts';
import type { ReadModel } from './read-model.ts';

export interface CutDocument {
  readonly collection: string;
  readonly id: string;
  readonly bytes: number;
  /** Whether its shortened form is stored; false: it stays as it was. */
  readonly isShortened: boolean;
}

/** Where a transaction leaves its number. */
export interface Moved {
  /** The topics that moved. */
  readonly offsets: ReadonlyMap<Topic, number>;
  /** Absent: as it was. */
  readonly ahead?: FoldedAhead | null;
}

/** The store's transact, and what was written. Each document is cut at most once and then left out, so it ends. @throws as transact, but no DocumentTooLargeError */
export async function transactCutting(
  {
    store,
    readModel,
    onCut,
  }: {
    readonly store: Pick<ReadModelStore, 'transact'>;
    readonly readModel: ReadModel;
    readonly onCut: (cut: CutDocument) => void;
  },
  owner: Ownership,
  { offsets, ahead = owner.ahead }: Moved,
  writes: readonly Write[],
): Promise<{ readonly owner: Ownership; readonly writes: readonly Write[] }> {
  const cuts = new Map<string, CutDocument>();
  let fitting = writes;
  for (;;) {
    try {
      const next = await store.transact(owner, offsets, fitting, ahead);
      for (const cut of cuts.values()) onCut(cut);
      return { owner: next, writes: fitting };
    } catch (error) {
      if (!(error instanceof DocumentTooLargeError)) throw error;
      const { collection, id, bytes } = error;
      const key = `${collection}/${id}`;
      const isShortened = readModel.shortened !== undefined && !cuts.has(key);
      cuts.set(key, { collection, id, bytes: cuts.get(key)?.bytes ?? bytes, isShortened });
      fitting = isShortened ? withShortened(fitting, error, readModel) : fitting.filter((write) => !isOf(write, error));
    }
  }
}

/** The document with every text of it cut to some 100 characters; `data`, which is JSON text, is empty then, and metadata are gone. */
export function withShortTexts<D extends Document>(document: D): D {
  return shortened(document) as D;
}

/** 101 attempts of 8 texts are 0.6 MiB at the most. */
const keptCharactersMax = 100;

function shortened(value: unknown, name = ''): unknown {
  if (typeof value === 'string') {
    if (value.length <= keptCharactersMax) return value;
    return name === 'data' ? '{}' : `${value.slice(0, keptCharactersMax).toWellFormed()}...`;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (name === 'metadata') return {};
  if (Array.isArray(value)) return value.map((one) => shortened(one));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shortened(inner, key)]));
}

function withShortened(writes: readonly Write[], of: DocumentTooLargeError, readModel: ReadModel): readonly Write[] {
  return writes.map((write) => {
    const document = isOf(write, of) && write.document !== null ? readModel.shortened?.(write.document) : undefined;
    return document === undefined ? write : { ...write, document };
  });
}

function isOf(write: Write, { collection, id }: DocumentTooLargeError): boolean {
  return write.collection === collection && write.id === id;
}
