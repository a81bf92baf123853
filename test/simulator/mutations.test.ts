// The simulator finds faults: each of those in mutations.ts, put into the source, makes some of its first seeds fail.

import { readFileSync } from 'node:fs';

import { describe, expect, it } from '@jest/globals';

import type { Mutation } from './mutations.ts';
import { mutated, mutations } from './mutations.ts';
import { runSeeds } from './running.ts';

/** Most are found within 100, one takes two thousand, and some are found by a storm (storms.ts) or a crowd (crowds.ts) alone. */
const seedsMax = 5_000;
/** By mutation: a seed that found it, which is tried first. One that doesn't any more costs the time of all before the next that does, which `seeds.ts 1 5000 NAME` names (a storm: `seeds.ts 1000001 5000 NAME`, a crowd from 2000001 on). */
const foundBy = JSON.parse(readFileSync(new URL('found-by.json', import.meta.url), 'utf8')) as Record<string, number>;
/** A hundred times what the longest takes. */
const timeoutMs = 60 * 60 * 1000;

describe('a deliberate fault is found:', () => {
  it.each(mutations.filter(isToBeSeen).map(({ name }) => name))(
    '%s',
    async (name) => {
      const seed = foundBy[name];
      const known = seed === undefined ? null : await runSeeds(seed, 1, { mutation: name });
      const { failed } = known?.failed.length === 1 ? known : await runSeeds(1, seedsMax, { mutation: name });
      expect(failed).toHaveLength(1);
    },
    timeoutMs,
  );

  it('at least nine in ten of all', () => {
    expect(mutations.filter(isToBeSeen).length / mutations.length).toBeGreaterThanOrEqual(0.9);
  });

  it('and no seed is kept of one that there is no more', () => {
    expect(mutations.filter(isToBeSeen).map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(foundBy)));
  });

  it('and each is a change of the source as it is now', () => {
    for (const mutation of mutations) {
      for (const { file } of mutation.edits) {
        const source = readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8');
        expect(mutated(mutation, file, source)).not.toBe(source);
      }
    }
  });
});

function isToBeSeen({ unseen }: Mutation): boolean {
  return unseen === undefined;
}
