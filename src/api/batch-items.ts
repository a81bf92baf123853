// Cuts the body of a batch into its items as it arrives: a list in a JSON object, or a line each (NDJSON). It holds one item at a time, whatever the batch's size.

import { DomainError } from '../domain/errors.ts';

export const batchLimits = {
  itemsMax: 10_000,
  bytesMax: 32 * 1024 * 1024,
  /** As much as a request of its own holds. */
  itemBytesMax: 256 * 1024,
} as const;

export type BatchItem =
  | { readonly kind: 'item'; readonly bytes: Buffer }
  /** This one alone. */
  | { readonly kind: 'bad'; readonly error: DomainError }
  /** This one and all that follows, which isn't looked at. */
  | { readonly kind: 'end'; readonly error: DomainError };

export type BatchFormat = 'json' | 'ndjson';

/** Ends with the body, or behind an `end`. */
export async function* itemsOf(chunks: AsyncIterable<Buffer>, format: BatchFormat): AsyncGenerator<BatchItem, void> {
  const cutter = format === 'json' ? createListCutter() : createLineCutter();
  let bytes = 0;
  let count = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    for (const item of bytes > batchLimits.bytesMax ? [tooLarge()] : cutter.push(chunk)) {
      if (++count > batchLimits.itemsMax) {
        yield tooMany();
        return;
      }
      yield item;
      if (item.kind === 'end') return;
    }
  }
  const last = cutter.end();
  if (last !== null) yield last;
}

interface Cutter {
  push(chunk: Buffer): Iterable<BatchItem>;
  /** What the body's end leaves. */
  end(): BatchItem | null;
}

const [newline, quote, backslash, comma] = [0x0a, 0x22, 0x5c, 0x2c];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === newline || byte === 0x0d || byte === 0x09;
}

function createLineCutter(): Cutter {
  const item = createItem();
  return {
    *push(chunk) {
      let from = 0;
      for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
        item.add(chunk.subarray(from, at));
        from = at + 1;
        const line = item.take();
        if (line !== null) yield line;
      }
      item.add(chunk.subarray(from));
    },
    end: () => item.take(),
  };
}

/** `{"notifications":[` is so long at most, white space included. */
const headBytesMax = 1024;
const head = /^\s*\{\s*"notifications"\s*:\s*\[/;

function createListCutter(): Cutter {
  const item = createItem();
  let state: 'head' | 'items' | 'tail' | 'done' = 'head';
  let begun: Buffer = Buffer.alloc(0);
  let depth = 0;
  let isInText = false;
  let isEscaped = false;
  let count = 0;

  /** Where the item ends that `at` is in: at the comma or bracket behind it, or at the chunk's end. */
  const endOfItem = (chunk: Buffer, from: number): number => {
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at];
      if (isInText) {
        if (isEscaped) isEscaped = false;
        else if (byte === backslash) isEscaped = true;
        else if (byte === quote) isInText = false;
      } else if (byte === quote) isInText = true;
      else if (byte === openList || byte === openObject) depth++;
      else if (depth > 0 && (byte === closeList || byte === closeObject)) depth--;
      else if (depth === 0 && (byte === comma || byte === closeList)) return at;
    }
    return chunk.length;
  };

  function* items(chunk: Buffer, start: number): Generator<BatchItem, number> {
    let from = start;
    while (from < chunk.length) {
      const at = endOfItem(chunk, from);
      item.add(chunk.subarray(from, at));
      if (at === chunk.length) return at;
      const isLast = chunk[at] === closeList;
      const cut = item.take();
      if (cut !== null) yield cut;
      // `[]` has none; a comma promises one on either side.
      else if (!isLast || count > 0)
        yield { kind: 'bad', error: new DomainError('BAD_REQUEST', 'There is no item between the commas.') };
      count++;
      from = at + 1;
      if (!isLast) continue;
      state = 'tail';
      return from;
    }
    return from;
  }

  return {
    *push(chunk) {
      let rest = chunk;
      if (state === 'head') {
        begun = Buffer.concat([begun, rest.subarray(0, headBytesMax + 1)]);
        const length = head.exec(begun.toString('latin1'))?.[0].length ?? 0;
        if (length === 0) {
          if (begun.length <= headBytesMax) return;
          state = 'done';
          yield notAList();
          return;
        }
        rest = rest.subarray(length - (begun.length - Math.min(rest.length, headBytesMax + 1)));
        begun = Buffer.alloc(0);
        state = 'items';
      }
      if (state === 'items') rest = rest.subarray(yield* items(rest, 0));
      for (const byte of rest) {
        if (isSpace(byte)) continue;
        if (state === 'tail' && byte === closeObject) state = 'done';
        else {
          yield {
            kind: 'end',
            error: new DomainError(
              'BAD_REQUEST',
              'Behind the list of notifications the object ends: nothing else belongs there.',
            ),
          };
          return;
        }
      }
    },
    end() {
      if (state === 'done') return null;
      if (state === 'head') return notAList();
      return {
        kind: 'end',
        error: new DomainError('BAD_REQUEST', 'The body is not valid JSON: it ends in the midst of the list.'),
      };
    },
  };
}

/** The bytes of one item, over as many chunks as it has; of one that is too large nothing is kept. */
function createItem() {
  let parts: Buffer[] = [];
  let size = 0;
  return {
    add(part: Buffer): void {
      size += part.length;
      if (size > batchLimits.itemBytesMax) parts = [];
      else if (part.length > 0) parts.push(part);
    },
    /** null: there is nothing but white space. */
    take(): BatchItem | null {
      const [first] = parts;
      const isTooLarge = size > batchLimits.itemBytesMax;
      const bytes = parts.length === 1 && first !== undefined ? first : Buffer.concat(parts);
      parts = [];
      size = 0;
      if (isTooLarge) {
        const most = `${batchLimits.itemBytesMax / 1024} KiB`;
        return { kind: 'bad', error: new DomainError('PAYLOAD_TOO_LARGE', `An item holds at most ${most}.`) };
      }
      return bytes.every(isSpace) ? null : { kind: 'item', bytes };
    },
  };
}

function notAList(): BatchItem {
  const sentence = 'The body is to be {"notifications":[...]} and nothing else, or NDJSON as application/x-ndjson.';
  return { kind: 'end', error: new DomainError('BAD_REQUEST', sentence) };
}

function tooLarge(): BatchItem {
  return { kind: 'end', error: batchTooLarge() };
}

export function batchTooLarge(): DomainError {
  const most = `${batchLimits.bytesMax / 1024 / 1024} MiB`;
  return new DomainError('PAYLOAD_TOO_LARGE', `A batch holds at most ${most}.`);
}

function tooMany(): BatchItem {
  const most = batchLimits.itemsMax.toLocaleString('en');
  return { kind: 'end', error: new DomainError('PAYLOAD_TOO_LARGE', `A batch has at most ${most} items.`) };
}
