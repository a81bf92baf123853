// The two hashes that a log keeps forever: Kafka's murmur2-32 (partitions) and murmur3-128 x86 (event ids). Pure arithmetic.

const encoder = new TextEncoder();
/** Hashed texts are ids, mostly: encoded into one place instead of an array each. UTF-8 takes at most 3 bytes for a UTF-16 unit. */
const scratch = new Uint8Array(1024);
let encoded = scratch;

/** The bytes stand in `encoded`, as many as it says: until the next call. */
function utf8(text: string): number {
  encoded = scratch;
  if (putDownAscii(text)) return text.length;
  if (text.length * 3 <= scratch.length) return encoder.encodeInto(text, scratch).written;
  encoded = encoder.encode(text);
  return encoded.length;
}

/** Ids, mostly: letter by letter they take half of what a call of the encoder does. */
const asciiMax = 64;

/** Whether the text is short and ASCII: then it stands in `scratch` from `at` on. */
function putDownAscii(text: string, at = 0): boolean {
  if (text.length > asciiMax) return false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0x7f) return false;
    scratch[at + i] = code;
  }
  return true;
}

/** The same of two texts with a line feed between them: one that is put together takes as long as hashing it. */
function utf8OfLines(first: string, second: string): number {
  if (!putDownAscii(first) || !putDownAscii(second, first.length + 1)) return utf8(`${first}\n${second}`);
  scratch[first.length] = 0x0a;
  encoded = scratch;
  return first.length + 1 + second.length;
}

/**
 * Kafka's murmur2 over the UTF-8 bytes of the text (org.apache.kafka.common.utils.Utils.murmur2, seed 0x9747b28c),
 * as an unsigned 31-bit number (Kafka's toPositive).
 */
export function murmur2(text: string): number {
  const length = utf8(text);
  const bytes = encoded;
  const m = 0x5bd1e995;
  let h = 0x9747b28c ^ length;
  const words = length >> 2;
  for (let i = 0; i < words; i++) {
    let k = Math.imul(word(bytes, i * 4), m);
    k = Math.imul(k ^ (k >>> 24), m);
    h = Math.imul(h, m) ^ k;
  }
  const rest = length & 3;
  const at = words * 4;
  if (rest >= 3) h ^= byte(bytes, at + 2) << 16;
  if (rest >= 2) h ^= byte(bytes, at + 1) << 8;
  if (rest >= 1) h = Math.imul(h ^ byte(bytes, at), m);
  h = Math.imul(h ^ (h >>> 13), m);
  return (h ^ (h >>> 15)) & 0x7fffffff;
}

/** MurmurHash3_x86_128 (Austin Appleby, public domain) over the UTF-8 bytes of the text, seed 0, as four unsigned 32-bit words. */
export function murmur3(text: string): readonly [number, number, number, number] {
  const [a = 0, b = 0, c = 0, d = 0] = murmur3Words(text);
  return [a, b, c, d];
}

const words3 = new Uint32Array(4);

/** The same, until the next call: numbers of 32 bits in a list of their own are 100 bytes of memory. */
export function murmur3Words(text: string): Uint32Array {
  return wordsOf(utf8(text));
}

/** The same of two texts with a line feed between them. */
export function murmur3WordsOfLines(first: string, second: string): Uint32Array {
  return wordsOf(utf8OfLines(first, second));
}

function wordsOf(length: number): Uint32Array {
  const bytes = encoded;
  const c1 = 0x239b961b;
  const c2 = 0xab0e9789;
  const c3 = 0x38b34ae5;
  const c4 = 0xa1e38b93;
  let h1 = 0;
  let h2 = 0;
  let h3 = 0;
  let h4 = 0;
  const blocks = length >> 4;
  for (let i = 0; i < blocks; i++) {
    const at = i * 16;
    h1 ^= mix(word(bytes, at), c1, 15, c2);
    h1 = (Math.imul((rotl(h1, 19) + h2) | 0, 5) + 0x561ccd1b) | 0;
    h2 ^= mix(word(bytes, at + 4), c2, 16, c3);
    h2 = (Math.imul((rotl(h2, 17) + h3) | 0, 5) + 0x0bcaa747) | 0;
    h3 ^= mix(word(bytes, at + 8), c3, 17, c4);
    h3 = (Math.imul((rotl(h3, 15) + h4) | 0, 5) + 0x96cd1c35) | 0;
    h4 ^= mix(word(bytes, at + 12), c4, 18, c1);
    h4 = (Math.imul((rotl(h4, 13) + h1) | 0, 5) + 0x32ac3b17) | 0;
  }
  const at = blocks * 16;
  // The tail: bytes past the last whole block, absent ones count as zero, which mixes to zero.
  if (bytes === scratch) scratch.fill(0, length, at + 16);
  h4 ^= mix(word(bytes, at + 12), c4, 18, c1);
  h3 ^= mix(word(bytes, at + 8), c3, 17, c4);
  h2 ^= mix(word(bytes, at + 4), c2, 16, c3);
  h1 ^= mix(word(bytes, at), c1, 15, c2);

  h1 ^= length;
  h2 ^= length;
  h3 ^= length;
  h4 ^= length;
  h1 = (h1 + h2 + h3 + h4) | 0;
  h2 = (h2 + h1) | 0;
  h3 = (h3 + h1) | 0;
  h4 = (h4 + h1) | 0;
  h1 = finish(h1);
  h2 = finish(h2);
  h3 = finish(h3);
  h4 = finish(h4);
  h1 = (h1 + h2 + h3 + h4) | 0;
  words3[0] = h1;
  words3[1] = h2 + h1;
  words3[2] = h3 + h1;
  words3[3] = h4 + h1;
  return words3;
}

function mix(k: number, a: number, r: number, b: number): number {
  return Math.imul(rotl(Math.imul(k, a), r), b);
}

function finish(h: number): number {
  let x = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return x ^ (x >>> 16);
}

function rotl(x: number, by: number): number {
  return (x << by) | (x >>> (32 - by));
}

function byte(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0;
}

function word(bytes: Uint8Array, at: number): number {
  return byte(bytes, at) | (byte(bytes, at + 1) << 8) | (byte(bytes, at + 2) << 16) | (byte(bytes, at + 3) << 24);
}
