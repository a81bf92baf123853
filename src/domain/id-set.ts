// A set of ids in 23 bytes each at most, where a Set of texts takes 100: what is kept is 96 bits of what each hashes to, in one table.

import { murmur3 } from './murmur.ts';

/** Ids are ours and not a caller's choice: that one of 1,000,000,000 is taken for one of 10,000,000 in the set has a chance of 1 in 10^13 (10^16 pairs, 2^96 values). */
export interface IdSet {
  add(id: string): void;
  has(id: string): boolean;
  readonly size: number;
  /** What its table takes. */
  readonly bytes: number;
}

const wordsPerId = 3;
const firstSlots = 64;
/** Four of five slots are taken at most, half of them after it has grown: 15 to 23 bytes an id. */
const loadMax = 0.8;
const growth = 1.5;

export function createIdSet(): IdSet {
  let table = new Uint32Array(firstSlots * wordsPerId);
  let size = 0;

  /** Where it stands, or is to stand: the first slot from its own on that is its or empty. */
  const placeOf = (words: Words, into: Uint32Array): number => {
    const slots = into.length / wordsPerId;
    for (let slot = words[0] % slots; ; slot = slot + 1 === slots ? 0 : slot + 1) {
      const at = slot * wordsPerId;
      if (into[at + 2] === 0) return at;
      if (into[at] === words[0] && into[at + 1] === words[1] && into[at + 2] === words[2]) return at;
    }
  };

  const grow = (): void => {
    const next = new Uint32Array(Math.ceil((table.length / wordsPerId) * growth) * wordsPerId);
    for (let at = 0; at < table.length; at += wordsPerId) {
      const words = table.subarray(at, at + wordsPerId);
      if (words[2] !== 0) next.set(words, placeOf(words as unknown as Words, next));
    }
    table = next;
  };

  return {
    add(id) {
      const words = wordsOf(id);
      const at = placeOf(words, table);
      if (table[at + 2] !== 0) return;
      table.set(words, at);
      size++;
      if (size > (table.length / wordsPerId) * loadMax) grow();
    },
    has: (id) => size > 0 && table[placeOf(wordsOf(id), table) + 2] !== 0,
    get size() {
      return size;
    },
    get bytes() {
      return table.byteLength;
    },
  };
}

type Words = readonly [number, number, number];

/** The last one is never 0: that is an empty slot. */
function wordsOf(id: string): Words {
  const [a, b, c] = murmur3(id);
  return [a, b, c === 0 ? 1 : c];
}
