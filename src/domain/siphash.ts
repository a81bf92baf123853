// SipHash-2-4 (Aumasson and Bernstein, 2012): a hash that nobody can foresee, collide or invert without its key, and that costs little for short texts.
// Over the UTF-16 units of a text, each as two bytes, the lower first. Its words of 64 bits are pairs of 32: JavaScript has no others that are fast.

/** Four words of 32 bits, the lowest first. */
export type SipKey = readonly [number, number, number, number];

/** 64 bits as two words, signed: those above 2^31 would be a piece of memory each. */
export interface SipHash {
  readonly high: number;
  readonly low: number;
}

/** Of 32 hexadecimal digits. @throws Error for any other text */
export function sipKeyOf(secret: string): SipKey {
  if (!/^[0-9a-f]{32}$/.test(secret)) throw new Error('a key has 32 hexadecimal digits');
  const word = (at: number): number => Number.parseInt(secret.slice(at * 8, at * 8 + 8), 16) | 0;
  return [word(0), word(1), word(2), word(3)];
}

/** A key for what the text names alone: who knows it knows neither the one that it is made from nor another. */
export function derivedKey(key: SipKey, text: string): SipKey {
  const first = sipHash(key, `1${text}`);
  const second = sipHash(key, `2${text}`);
  return [first.low, first.high, second.low, second.high];
}

export function sipHash(key: SipKey, text: string): SipHash {
  // Word by word: lists that are taken apart cost as much as three rounds.
  const k0 = key[0];
  const k1 = key[1];
  const k2 = key[2];
  const k3 = key[3];
  let a = k0 ^ 0x70736575;
  let aHigh = k1 ^ 0x736f6d65;
  let b = k2 ^ 0x6e646f6d;
  let bHigh = k3 ^ 0x646f7261;
  let c = k0 ^ 0x6e657261;
  let cHigh = k1 ^ 0x6c796765;
  let d = k2 ^ 0x79746573;
  let dHigh = k3 ^ 0x74656462;
  const blocks = text.length >> 2;
  // The whole blocks, what is left of the text, and the end, in which nothing is taken in.
  for (let at = 0; at <= blocks + 1; at++) {
    const isEnd = at > blocks;
    const low = isEnd ? 0 : unit(text, at * 4) | (unit(text, at * 4 + 1) << 16);
    const high = isEnd ? 0 : unit(text, at * 4 + 2) | (at < blocks ? unit(text, at * 4 + 3) << 16 : text.length << 25);
    if (isEnd) c ^= 0xff;
    d ^= low;
    dHigh ^= high;
    for (let round = isEnd ? 4 : 2; round > 0; round--) {
      a = (a + b) | 0;
      aHigh = (aHigh + bHigh + carry(a, b)) | 0;
      c = (c + d) | 0;
      cHigh = (cHigh + dHigh + carry(c, d)) | 0;
      let other = bHigh;
      bHigh = ((bHigh << 13) | (b >>> 19)) ^ aHigh;
      b = ((b << 13) | (other >>> 19)) ^ a;
      other = dHigh;
      dHigh = ((dHigh << 16) | (d >>> 16)) ^ cHigh;
      d = ((d << 16) | (other >>> 16)) ^ c;
      // Turned by 32: the halves of `a` change places, and those of `c` at the round's end.
      other = a;
      a = (aHigh + d) | 0;
      aHigh = (other + dHigh + carry(a, d)) | 0;
      c = (c + b) | 0;
      cHigh = (cHigh + bHigh + carry(c, b)) | 0;
      other = bHigh;
      bHigh = ((bHigh << 17) | (b >>> 15)) ^ cHigh;
      b = ((b << 17) | (other >>> 15)) ^ c;
      other = dHigh;
      dHigh = ((dHigh << 21) | (d >>> 11)) ^ aHigh;
      d = ((d << 21) | (other >>> 11)) ^ a;
      other = c;
      c = cHigh;
      cHigh = other;
    }
    a ^= low;
    aHigh ^= high;
  }
  return { high: aHigh ^ bHigh ^ cHigh ^ dHigh, low: a ^ b ^ c ^ d };
}

/** 0 behind the text's end. */
function unit(text: string, at: number): number {
  return at < text.length ? text.charCodeAt(at) : 0;
}

/** Of the sum of two lower words, one of which is given. */
function carry(sum: number, addend: number): number {
  return sum >>> 0 < addend >>> 0 ? 1 : 0;
}
