// A batch of small events may touch documents with large bodies: it is folded in pieces whose documents fit into so many bytes.

import type { Document, Only, ReadModelStore } from '../ports/read-model-store.ts';
import { TooManyBytesError } from '../ports/read-model-store.ts';
import type { FoldReader } from './read-model.ts';

/**
 * Documents read at a time for one number: 400 records of a short text, 2 with bodies of 200 KiB. 12 numbers x 4 read models x 512 KiB are 24 MiB as text; decoded
 * and written again three times that, if all had as much at the same moment.
 */
const documentsBytesMax = 512 * 1024;
/** So few are folded whatever their documents are, where asking for their size is a query more: there they hold no thread meanwhile. */
const fewElsewhere = 4;

/**
 * The longest beginning of the entries that can be folded at once, and what `fold` made of it; halved until its documents fit.
 * @throws what `fold` throws, but no TooManyBytesError
 */
export async function foldPiece<E, R>(
  entries: readonly E[],
  reader: FoldReader & Pick<ReadModelStore, 'pace'>,
  fold: (piece: readonly E[], reader: FoldReader) => Promise<R>,
): Promise<{ readonly piece: readonly E[]; readonly result: R }> {
  const few = reader.pace.inThread ? 1 : fewElsewhere;
  let piece = entries;
  while (piece.length > few) {
    try {
      return { piece, result: await fold(piece, bounded(reader)) };
    } catch (error) {
      if (!(error instanceof TooManyBytesError)) throw error;
      piece = piece.slice(0, Math.ceil(piece.length / 2));
    }
  }
  return { piece, result: await fold(piece, reader) };
}

function bounded(reader: FoldReader): FoldReader {
  return {
    ...reader,
    get: <D extends Document>(collection: string, ids: readonly string[], only: Only = {}) =>
      reader.get<D>(collection, ids, { bytesMax: documentsBytesMax, orRefuse: true, ...only }),
  };
}
