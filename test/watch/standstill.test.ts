// What stands still and what doesn't: rules by example, a look every 5 s.

import { describe, expect, it } from '@jest/globals';

import type { Sighting } from '../../src/watch/standstill.ts';
import { createStandstill } from '../../src/watch/standstill.ts';

const lookMs = 5_000;

const seen = (more: Partial<Sighting> = {}): Sighting => ({
  group: 'dispatcher-email',
  partition: 3,
  part: 'high',
  end: 10,
  position: 4,
  countsEvents: true,
  marks: [0],
  isUnderWay: false,
  after: [],
  ...more,
});

/** The first look at which something stands still, and what; null when nothing ever does. */
function lookedAt(looks: readonly (readonly Sighting[])[]) {
  const standstill = createStandstill(30_000);
  for (const [look, sightings] of looks.entries()) {
    const standing = standstill.look(lookMs, sightings);
    if (standing.length > 0) return { look, standing };
  }
  return null;
}

const looks = (count: number, of: (look: number) => readonly Sighting[]) =>
  Array.from({ length: count }, (_, i) => of(i));

describe('a part of a number', () => {
  it('that is behind and in which nothing moves stands still after 30 s, and says how far behind it is', () => {
    expect(lookedAt(looks(10, () => [seen()]))).toEqual({
      look: 6,
      standing: [{ group: 'dispatcher-email', partition: 3, part: 'high', stillMs: 30_000, behind: 6 }],
    });
  });

  it('moves again with its position, and is forgotten when it is seen no more', () => {
    const standstill = createStandstill(30_000);
    for (let i = 0; i < 8; i++) standstill.look(lookMs, [seen()]);
    expect(standstill.look(lookMs, [seen({ position: 5 })])).toEqual([]);
    for (let i = 0; i < 8; i++) standstill.look(lookMs, [seen({ position: 5 })]);
    expect(standstill.look(lookMs, [])).toEqual([]);
    expect(standstill.look(lookMs, [seen({ position: 5 })])).toEqual([]);
  });

  it.each([
    ['whose position moves, however slowly', (look: number) => seen({ position: 4 + Math.floor(look / 5) })],
    ['whose mark moves though its position does not', (look: number) => seen({ marks: [Math.floor(look / 5)] })],
    ['with something under way', () => seen({ isUnderWay: true })],
    ['that has nothing to do', () => seen({ position: 10 })],
    ['that keeps up while more comes', (look: number) => seen({ end: look + 1, position: look })],
    ['whose log begins anew below its position', () => seen({ end: 2 })],
  ])('%s does not stand still', (_, of) => {
    expect(lookedAt(looks(30, (look) => [of(look)]))).toBeNull();
  });

  it.each([
    ['whose log can not be asked', { end: null, position: 10 }],
    ['whose position can not be asked', { position: null }],
    ['of which nothing can be asked', { end: null, position: null, marks: [null] }],
  ])('%s stands still: nobody knows that it moves', (_, more) => {
    expect(lookedAt(looks(10, (look) => [look === 0 ? seen() : seen(more)]))?.look).toBeGreaterThanOrEqual(6);
  });

  it('that can be asked now and then only does not move by that', () => {
    const never = seen({ position: null, marks: [null] });
    expect(lookedAt(looks(12, (look) => [look % 2 === 0 ? seen() : never]))?.look).toBe(6);
  });

  it('may wait for another part of its number that is behind and moves, and for no other', () => {
    const moving = (look: number) => seen({ position: look, end: 100 });
    const waiting = seen({ part: 'bulk', after: ['high'] });
    expect(lookedAt(looks(30, (look) => [moving(look), waiting]))).toBeNull();
    const elsewhere = (look: number) => seen({ partition: 4, position: look, end: 100 });
    expect(lookedAt(looks(30, (look) => [elsewhere(look), waiting]))?.standing).toMatchObject([{ part: 'bulk' }]);
    // What comes first waits for nobody: a high lane stands still beside a bulk lane that moves.
    const bulk = (look: number) => seen({ part: 'bulk', position: look, end: 100, after: ['high'] });
    expect(lookedAt(looks(30, (look) => [seen(), bulk(look)]))?.standing).toMatchObject([{ part: 'high' }]);
  });

  it('is not excused by one that only keeps up with what trickles in', () => {
    const keepsUp = (look: number) => seen({ part: 'work', end: look + 1, position: look, after: ['deliveries'] });
    const stuck = seen({ part: 'deliveries', after: ['work'] });
    expect(lookedAt(looks(30, (look) => [keepsUp(look), stuck]))?.standing).toMatchObject([{ part: 'deliveries' }]);
  });
});
