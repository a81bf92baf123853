// A partition's position as it is committed: the offset of the least unfinished event, and a text of what is finished beyond it.
//
//   <bitmap>                   of the window, from the offset on: nobody lags
//   <bitmap>.<numbers>         the window's mark (as far beyond the offset), then of each lagging tenant its hash, and what of it is unfinished
//
// Numbers are 7 bits a byte, the least first, each offset as the distance to the one before it. A text that isn't one of these says nothing: then what is
// finished beyond the offset is done again.

import { murmur3 } from '../domain/murmur.ts';
import type { CommittedPosition } from '../ports/event-log.ts';
import type { LaggardState, TenantKey } from './laggard.ts';
import { firstOf } from './laggard.ts';

/** 64 bits of hash: no two tenants of a number have the same. */
export function tenantKey(tenantId: string): TenantKey {
  const [high, low] = murmur3(tenantId);
  return `${high}:${low}`;
}

export interface PartitionState {
  /** Of the window: its mark, with its bitmap. */
  readonly window: CommittedPosition;
  readonly laggards: readonly (LaggardState & { readonly key: TenantKey })[];
}

/** One has 8 bytes of hash and three numbers of at most 4: 64 x 20 bytes, and room for the distances of some 250 events under way. */
export const laggardsMax = 64;
const laggardBytesMin = 20;
/** 2,047 characters of the 4,096; the bitmap has 2,048, and a point is between them. */
const laggardBytesMax = 1_535;

const textPattern = /^([A-Za-z0-9_-]*)\.([A-Za-z0-9_-]+)$/;

export function encodePosition({ window, laggards }: PartitionState): CommittedPosition {
  if (laggards.length === 0) return window;
  const offset = laggards.reduce((least, laggard) => Math.min(least, firstOf(laggard)), window.offset);
  const bytes = numberBytes(window.offset - offset);
  for (const [i, laggard] of laggards.entries()) {
    const left = laggardBytesMax - bytes.length - (laggards.length - i) * laggardBytesMin;
    bytes.push(...laggardBytes(laggard, offset, Math.max(0, left)));
  }
  return { offset, metadata: `${window.metadata}.${Buffer.from(bytes).toString('base64url')}` };
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
  const [, bitmap = '', text = ''] = textPattern.exec(position.metadata) ?? [];
  if (text === '') return { window: position, laggards: [] };
  const { offset } = position;
  const numbers = numbersOf(Buffer.from(text, 'base64url'));
  try {
    const window = { offset: offset + numbers.next(), metadata: bitmap };
    const laggards: (LaggardState & { key: TenantKey })[] = [];
    while (numbers.hasMore()) laggards.push(laggardFrom(numbers, offset));
    return { window, laggards };
  } catch (err) {
    if (err instanceof CutError) return { window: { offset, metadata: '' }, laggards: [] };
    throw err;
  }
}

/** What is too long is cut: from there on everything of the tenant counts as unfinished. */
function laggardBytes(laggard: LaggardState & { key: TenantKey }, offset: number, listBytesMax: number): number[] {
  const { key, unfinished, resume } = laggard;
  const words = Buffer.alloc(8);
  for (const [i, word] of key.split(':').entries()) words.writeUInt32BE(Number(word), i * 4);
  const list: number[] = [];
  let listed = 0;
  let before = offset;
  let end = resume;
  for (const one of unfinished) {
    const distance = numberBytes(one - before);
    if (list.length + distance.length > listBytesMax) {
      end = one;
      break;
    }
    list.push(...distance);
    listed++;
    before = one;
  }
  return [...words, ...numberBytes(listed), ...list, ...numberBytes(end - before)];
}

function laggardFrom(numbers: Numbers, offset: number): LaggardState & { key: TenantKey } {
  const key = `${numbers.word()}:${numbers.word()}`;
  const unfinished: number[] = [];
  let before = offset;
  for (let left = numbers.next(); left > 0; left--) unfinished.push((before += numbers.next()));
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
