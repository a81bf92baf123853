// Cuts the body of a batch into its items as it arrives: a list in a JSON object, or a line each (NDJSON). It holds one item at a time, whatever the batch's size.

import { isAscii, isUtf8 } from 'node:buffer';

import { DomainError } from '../domain/errors.ts';
import { notUtf8 } from './body.ts';

export const batchLimits = {
  itemsMax: 10_000,
  /** Of NDJSON: each costs as much as cutting a short item does, and is none. */
  blankLinesMax: 10_000,
  bytesMax: 32 * 1024 * 1024,
  /** As much as a request of its own holds. */
  itemBytesMax: 256 * 1024,
} as const;

export type BatchItem =
  | { readonly kind: 'item'; readonly text: string }
  /** This one alone. */
  | { readonly kind: 'bad'; readonly error: DomainError }
  /** This one and all that follows, which isn't looked at. */
  | { readonly kind: 'end'; readonly error: DomainError };

export type BatchFormat = 'json' | 'ndjson';

/** What each chunk brings, to be gone through before the next is asked for: nothing is waited for within one. Nothing comes behind an `end`. */
export async function* itemsOf(
  chunks: AsyncIterable<Buffer>,
  format: BatchFormat,
): AsyncGenerator<Iterable<BatchItem>, void> {
  const cutter = format === 'json' ? createListCutter() : createLineCutter();
  let bytes = 0;
  let count = 0;
  let isOver = false;
  function* counted(items: Iterable<BatchItem>): Generator<BatchItem, void> {
    for (const item of items) {
      isOver = item.kind === 'end' || ++count > batchLimits.itemsMax;
      yield count > batchLimits.itemsMax ? tooMany() : item;
      if (isOver) return;
    }
  }
  for await (const chunk of chunks) {
    bytes += chunk.length;
    yield counted(bytes > batchLimits.bytesMax ? [tooLarge()] : cutter.push(chunk));
    if (isOver) return;
  }
  const last = cutter.end();
  if (last !== null) yield counted([last]);
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
  let blank = 0;
  return {
    *push(bytes) {
      const chunk = createChunk(bytes);
      let from = 0;
      for (let at = chunk.newlineFrom(0); at >= 0; at = chunk.newlineFrom(from)) {
        const line = item.take(chunk, from, at);
        from = at + 1;
        if (line !== null) yield line;
        else if (++blank > batchLimits.blankLinesMax) {
          yield tooManyBlank();
          return;
        }
      }
      item.add(bytes.subarray(from));
    },
    end: () => item.take(nothing, 0, 0),
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

  function* items(bytes: Buffer, start: number): Generator<BatchItem, number> {
    const chunk = createChunk(bytes);
    let from = start;
    while (from < bytes.length) {
      const at = endOfItem(bytes, from);
      if (at === bytes.length) {
        item.add(bytes.subarray(from));
        return at;
      }
      const isLast = bytes[at] === closeList;
      const cut = item.take(chunk, from, at);
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

/** One item, over as many chunks as it has; of one that is too large nothing is kept. */
function createItem() {
  let parts: Buffer[] = [];
  let size = 0;
  return {
    /** It goes on in the next chunk. */
    add(part: Buffer): void {
      size += part.length;
      if (size > batchLimits.itemBytesMax) parts = [];
      else if (part.length > 0) parts.push(part);
    },
    /** It ends here. null: there is nothing but white space. */
    take(chunk: Chunk, from: number, to: number): BatchItem | null {
      if (size + to - from > batchLimits.itemBytesMax) {
        parts = [];
        size = 0;
        return itemTooLarge();
      }
      if (size === 0) return chunk.item(from, to);
      const bytes = Buffer.concat([...parts, chunk.bytes.subarray(from, to)]);
      parts = [];
      size = 0;
      return itemIn(bytes, 0, bytes.length);
    },
  };
}

interface Chunk {
  readonly bytes: Buffer;
  /** Where the next line ends; -1: not in this chunk. */
  newlineFrom(at: number): number;
  /** null: there is nothing but white space. */
  item(from: number, to: number): BatchItem | null;
}

/** What is ASCII as a whole is read as one text and cut as such: a call for each item takes three times as long. */
function createChunk(bytes: Buffer): Chunk {
  if (!isAscii(bytes))
    return {
      bytes,
      newlineFrom: (at) => bytes.indexOf(newline, at),
      item: (from, to) => itemIn(bytes, from, to),
    };
  const whole = bytes.toString('latin1');
  return {
    bytes,
    newlineFrom: (at) => whole.indexOf('\n', at),
    item: (from, to) => itemOf(whole.slice(from, to)),
  };
}

const nothing = createChunk(Buffer.alloc(0));
const whiteSpace = /^[ \n\r\t]*$/;
/** What decoding puts in the place of what is no UTF-8; it may be meant as well. */
const replacement = '\uFFFD';

function itemIn(bytes: Buffer, from: number, to: number): BatchItem | null {
  const text = bytes.toString('utf8', from, to);
  if (text.includes(replacement) && !isUtf8(bytes.subarray(from, to))) return { kind: 'bad', error: notUtf8() };
  return itemOf(text);
}

function itemOf(text: string): BatchItem | null {
  if (text === '' || (isSpace(text.charCodeAt(0)) && whiteSpace.test(text))) return null;
  return { kind: 'item', text };
}

function itemTooLarge(): BatchItem {
  const most = `${batchLimits.itemBytesMax / 1024} KiB`;
  return { kind: 'bad', error: new DomainError('PAYLOAD_TOO_LARGE', `An item holds at most ${most}.`) };
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

function tooManyBlank(): BatchItem {
  const most = batchLimits.blankLinesMax.toLocaleString('en');
  return { kind: 'end', error: new DomainError('PAYLOAD_TOO_LARGE', `A batch has at most ${most} empty lines.`) };
}

function tooMany(): BatchItem {
  const most = batchLimits.itemsMax.toLocaleString('en');
  return { kind: 'end', error: new DomainError('PAYLOAD_TOO_LARGE', `A batch has at most ${most} items.`) };
}
