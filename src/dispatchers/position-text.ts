// A partition's position as it is committed: the offset of the least unfinished event, and a text of what is finished beyond it.
//
//   <bitmap>                   of the window, from the offset on: nobody lags
//   <bitmap>.<numbers>         the window's mark (as far beyond the offset), then of each lagging tenant its hash, and what of it is unfinished
//   <bitmap>..<numbers>        the same in runs, where each offset by itself is too much: so much waits, and some in the middle of it is finished
//
// Numbers are 7 bits a byte, the least first, each offset as the distance to the one before it. A text that isn't one of these says nothing (so does the third
// form to versions that don't know it): then what is finished beyond the offset is done again.

import { murmur3 } from '../domain/murmur.ts';
import type { CommittedPosition } from '../ports/event-log.ts';
import type { LaggardState, Run, TenantKey } from './laggard.ts';
import { firstOf, singleRun } from './laggard.ts';

/** 64 bits of hash: no two tenants of a number have the same. */
export function tenantKey(tenantId: string): TenantKey {
  const [high, low] = murmur3(tenantId);
  return `${high}:${low}`;
}

export interface PartitionState {
  /** Of the window: its mark, with its bitmap. */
  readonly window: CommittedPosition;
  readonly laggards: readonly (NamedState & { readonly joined?: () => LaggardState })[];
}

type NamedState = LaggardState & { readonly key: TenantKey };

/** One has 8 bytes of hash and three numbers of at most 4: 64 x 20 bytes, and room for the distances of some 250 events under way. */
export const laggardsMax = 64;
const laggardBytesMin = 20;
/** 2,047 characters of the 4,096; the bitmap has 2,048, and a point is between them. */
const laggardBytesMax = 1_535;

const textPattern = /^([A-Za-z0-9_-]*)\.(\.?)([A-Za-z0-9_-]+)$/;

/** The numbers of one run, the first counted from where the one before it ended. */
type NumbersOfRun = (run: Run, before: number) => readonly number[];

const single: NumbersOfRun = ({ from }, before) => [from - before];
const fromTo: NumbersOfRun = ({ from, to }, before) => [from - before, to - from];

export function encodePosition({ window, laggards }: PartitionState): CommittedPosition {
  if (laggards.length === 0) return window;
  const offset = laggards.reduce((least, laggard) => Math.min(least, firstOf(laggard)), window.offset);
  const mark = window.offset - offset;
  const each = laggards.every(hasSinglesOnly) ? bytesOf(laggards, offset, mark, single) : null;
  if (each?.isCut === false) return { offset, metadata: `${window.metadata}.${textOf(each.bytes)}` };
  const joined = laggards.map(({ key, ...state }) => ({ key, ...(state.joined?.() ?? state) }));
  return { offset, metadata: `${window.metadata}..${textOf(bytesOf(joined, offset, mark, fromTo).bytes)}` };
}

function hasSinglesOnly({ unfinished }: LaggardState): boolean {
  return unfinished.every(({ from, to }) => to - from === 1);
}

function textOf(bytes: readonly number[]): string {
  return Buffer.from(bytes).toString('base64url');
}

/** Of a bitmap that another byte can be put behind. */
const bitmapLengthMax = 2_040;

/**
 * The same position in another text, which says to whoever looks at commits that this number's work is looked after, though nothing of it is done: a byte
 * without a bit stands for nothing, in former versions too.
 */
export function pulsed({ offset, metadata }: CommittedPosition): CommittedPosition {
  const [bitmap = '', ...laggards] = metadata.split('.');
  if (bitmap.length > bitmapLengthMax) return { offset, metadata };
  const longer = Buffer.concat([Buffer.from(bitmap, 'base64url'), Buffer.alloc(1)]).toString('base64url');
  return { offset, metadata: [longer, ...laggards].join('.') };
}

export function decodePosition(position: CommittedPosition): PartitionState {
  const [, bitmap = '', second = '', text = ''] = textPattern.exec(position.metadata) ?? [];
  if (text === '') return { window: position, laggards: [] };
  const { offset } = position;
  const numbers = numbersOf(Buffer.from(text, 'base64url'));
  const runFrom = second === '' ? singleFrom : fromToFrom;
  try {
    const window = { offset: offset + numbers.next(), metadata: bitmap };
    const laggards: NamedState[] = [];
    while (numbers.hasMore()) laggards.push(laggardFrom(numbers, offset, runFrom));
    return { window, laggards };
  } catch (err) {
    if (err instanceof CutError) return { window: { offset, metadata: '' }, laggards: [] };
    throw err;
  }
}

function bytesOf(
  laggards: readonly NamedState[],
  offset: number,
  mark: number,
  numbersOfRun: NumbersOfRun,
): { readonly bytes: readonly number[]; readonly isCut: boolean } {
  const bytes = numberBytes(mark);
  let isCut = false;
  for (const [i, laggard] of laggards.entries()) {
    const left = laggardBytesMax - bytes.length - (laggards.length - i) * laggardBytesMin;
    const own = laggardBytes(laggard, offset, Math.max(0, left), numbersOfRun);
    bytes.push(...own.bytes);
    isCut ||= own.isCut;
  }
  return { bytes, isCut };
}

/** What is too long is cut: from there on everything of the tenant counts as unfinished. */
function laggardBytes(
  { key, unfinished, resume }: NamedState,
  offset: number,
  listBytesMax: number,
  numbersOfRun: NumbersOfRun,
): { readonly bytes: readonly number[]; readonly isCut: boolean } {
  const words = Buffer.alloc(8);
  for (const [i, word] of key.split(':').entries()) words.writeUInt32BE(Number(word), i * 4);
  const list: number[] = [];
  let listed = 0;
  let before = offset;
  for (const run of unfinished) {
    const numbers = numbersOfRun(run, before);
    const bytes = numbers.flatMap(numberBytes);
    if (list.length + bytes.length > listBytesMax) break;
    list.push(...bytes);
    listed++;
    before = numbers.reduce((sum, number) => sum + number, before);
  }
  const end = unfinished[listed]?.from ?? resume;
  const bytes = [...words, ...numberBytes(listed), ...list, ...numberBytes(end - before)];
  return { bytes, isCut: listed < unfinished.length };
}

type RunFrom = (numbers: Numbers, before: number) => { readonly run: Run; readonly end: number };

const singleFrom: RunFrom = (numbers, before) => {
  const from = before + numbers.next();
  return { run: singleRun(from), end: from };
};

const fromToFrom: RunFrom = (numbers, before) => {
  const from = before + numbers.next();
  const to = from + numbers.next();
  return { run: { from, to }, end: to };
};

function laggardFrom(numbers: Numbers, offset: number, runFrom: RunFrom): NamedState {
  const key = `${numbers.word()}:${numbers.word()}`;
  const unfinished: Run[] = [];
  let before = offset;
  for (let left = numbers.next(); left > 0; left--) {
    const { run, end } = runFrom(numbers, before);
    unfinished.push(run);
    before = end;
  }
  return { key, unfinished, resume: before + numbers.next() };
}

function numberBytes(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  bytes.push(rest);
  return bytes;
}

interface Numbers {
  hasMore(): boolean;
  /** @throws CutError when there is none */
  next(): number;
  /** @throws CutError when there is none */
  word(): number;
}

class CutError extends Error {}

function numbersOf(bytes: Buffer): Numbers {
  let at = 0;

  const byte = (): number => {
    const value = bytes[at++];
    if (value === undefined) throw new CutError('the text of a position is cut');
    return value;
  };

  return {
    hasMore: () => at < bytes.length,
    next() {
      let value = 0;
      for (let scale = 1; ; scale *= 128) {
        const seven = byte();
        value += (seven % 128) * scale;
        if (seven < 128) return value;
      }
    },
    word: () => ((byte() * 256 + byte()) * 256 + byte()) * 256 + byte(),
  };
}
