// Metadata whose term was another tenant's word while terms were 48 bits of murmur3, which anybody can run backwards: what a tenant sent that blinded another's
// search. The last block of 16 bytes is free, so it is computed from the hash that is wanted.

import type { TenantId } from '../../src/domain/ids.ts';
import { murmur3 } from '../../src/domain/murmur.ts';

/** A key and a value, in ASCII. */
export function metadataForged(by: TenantId, victim: { readonly tenantId: TenantId; readonly word: string }) {
  const [first, second] = murmur3(`${victim.tenantId}\nw\n${victim.word}`);
  const key = 'k'.repeat(16 - ((by.length + 4) % 16));
  const begin = `${by}\nm\n${key}\n`;
  const before = stateAfter(Buffer.from(begin));
  for (let tries = 1; ; tries++) {
    const random = (): number => Math.imul(tries, 0x9e3779b1) ^ Math.imul(salt++, 0x85ebca6b);
    const wanted = [low24(first, random()), low24(second, random()), random(), random()] as const;
    const block = lastBlock(before, begin.length + 16, wanted);
    if (block.every((byte) => byte < 0x80)) return { key, value: block.toString('latin1') };
  }
}

let salt = 1;
type Words = readonly [number, number, number, number];

function low24(wanted: number, free: number): number {
  return (wanted & 0xffffff) | (free << 24);
}

const [c1, c2, c3, c4] = [0x239b961b, 0xab0e9789, 0x38b34ae5, 0xa1e38b93];
/** Of each word of a block: the factors and the turn of its mixing, the turn and the addend of its step. */
const lanes = [
  { a: c1, turn: 15, b: c2, step: 19, add: 0x561ccd1b },
  { a: c2, turn: 16, b: c3, step: 17, add: 0x0bcaa747 },
  { a: c3, turn: 17, b: c4, step: 15, add: 0x96cd1c35 },
  { a: c4, turn: 18, b: c1, step: 13, add: 0x32ac3b17 },
] as const;

/** The last 16 of so many bytes, after which this is the hash. */
function lastBlock(before: readonly number[], length: number, hash: Words): Buffer {
  const ended = unsummed(unsummed(hash).map(unfinished) as unknown as Words).map((h) => h ^ length);
  const block = Buffer.alloc(16);
  lanes.forEach(({ a, turn, b, step, add }, i) => {
    const next = i === 3 ? word(ended, 0) : word(before, i + 1);
    const mixed = rotated((Math.imul(word(ended, i) - add, inverse(5)) - next) | 0, 32 - step) ^ word(before, i);
    block.writeInt32LE(Math.imul(rotated(Math.imul(mixed, inverse(b)), 32 - turn), inverse(a)), i * 4);
  });
  return block;
}

function stateAfter(bytes: Buffer): number[] {
  const h = [0, 0, 0, 0];
  for (let at = 0; at < bytes.length; at += 16) {
    lanes.forEach(({ a, turn, b, step, add }, i) => {
      const mixed = Math.imul(rotated(Math.imul(bytes.readInt32LE(at + i * 4), a), turn), b);
      h[i] = (Math.imul((rotated(word(h, i) ^ mixed, step) + word(h, (i + 1) % 4)) | 0, 5) + add) | 0;
    });
  }
  return h;
}

function unsummed([h1, h2, h3, h4]: Words): Words {
  const [b, c, d] = [(h2 - h1) | 0, (h3 - h1) | 0, (h4 - h1) | 0];
  return [(h1 - b - c - d) | 0, b, c, d];
}

function unfinished(hash: number): number {
  let h = hash ^ (hash >>> 16);
  h = Math.imul(h, inverse(0xc2b2ae35));
  h ^= (h >>> 13) ^ (h >>> 26);
  h = Math.imul(h, inverse(0x85ebca6b));
  return h ^ (h >>> 16);
}

/** Of an odd number, modulo 2^32. */
function inverse(odd: number): number {
  let x = odd;
  for (let i = 0; i < 5; i++) x = Math.imul(x, 2 - Math.imul(odd, x));
  return x;
}

function rotated(x: number, by: number): number {
  return (x << by) | (x >>> (32 - by));
}

function word(of: readonly number[], i: number): number {
  return of[i] ?? 0;
}
