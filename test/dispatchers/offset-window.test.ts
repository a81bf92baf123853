// Offsets read in order and finished in any: the mark, the bitmap, and what a restart hands out again.

import { describe, expect, it } from '@jest/globals';

import { bitmapBitsMax, decodeFinished, encodeFinished } from '../../src/dispatchers/finished-bitmap.ts';
import { createOffsetWindow } from '../../src/dispatchers/offset-window.ts';
import fc from '../support/properties.ts';

const metadataMax = 4096;
const atZero = { offset: 0, metadata: '' };

describe('the offset window', () => {
  it('has its mark at the lowest offset that is unfinished', () => {
    const window = createOffsetWindow(atZero);
    for (const offset of [0, 1, 2, 3]) window.begin(offset);
    window.finish(1);
    window.finish(2);
    expect(window.position().offset).toBe(0);
    window.finish(0);
    expect(window.position()).toEqual({ offset: 3, metadata: '' });
    window.finish(3);
    expect(window.position()).toEqual({ offset: 4, metadata: '' });
    expect(window.length).toBe(0);
  });

  it('steps over gaps', () => {
    const window = createOffsetWindow({ offset: 5, metadata: '' });
    for (const offset of [5, 9, 400, 401]) window.begin(offset);
    for (const offset of [401, 5, 9]) window.finish(offset);
    expect(window.position()).toEqual({ offset: 400, metadata: encodeFinished(400, [401]) });
    window.finish(400);
    expect(window.position()).toEqual({ offset: 402, metadata: '' });
  });

  it('takes a finish twice as one, and one of what was never begun as a bug', () => {
    const window = createOffsetWindow(atZero);
    for (const offset of [0, 1, 5, 9]) window.begin(offset);
    window.finish(1);
    window.finish(1);
    window.finish(0);
    window.finish(0);
    expect(window.length).toBe(2);
    expect(() => window.finish(7)).toThrow('never begun');
    expect(() => window.finish(11)).toThrow('never begun');
    expect(() => window.begin(5)).toThrow('was read after');
  });

  it('takes metadata that is no bitmap as none: all is handed out again', () => {
    const window = createOffsetWindow({ offset: 3, metadata: '{"not":"ours"}' });
    expect([3, 4, 5].map((offset) => window.begin(offset))).toEqual([true, true, true]);
  });

  it('fits a full window without gaps into 1,668 characters', () => {
    const window = createOffsetWindow(atZero);
    for (let offset = 0; offset < 10_000; offset++) window.begin(offset);
    for (let offset = 1; offset < 10_000; offset++) window.finish(offset);
    expect(window.position().metadata.length).toBeLessThanOrEqual(1668);
  });

  it('records what fits across wide gaps, and hands out the rest again', () => {
    const window = createOffsetWindow(atZero);
    const far = [1, 12_288, 12_289, 1_000_000];
    window.begin(0);
    for (const offset of far) window.begin(offset);
    for (const offset of far) window.finish(offset);
    const position = window.position();
    expect(position.metadata.length).toBeLessThanOrEqual(metadataMax);
    const again = createOffsetWindow(position);
    expect([0, ...far].filter((offset) => again.begin(offset))).toEqual([0, 12_289, 1_000_000]);
  });

  it('keeps in a commit what was finished before the restart and is not read again yet', () => {
    const before = createOffsetWindow({ offset: 0, metadata: encodeFinished(0, [2, 5, 8]) });
    before.begin(0);
    before.finish(0);
    const position = before.position();
    const again = createOffsetWindow(position);
    expect([1, 2, 3, 4, 5, 6, 7, 8].filter((offset) => !again.begin(offset))).toEqual([2, 5, 8]);
  });

  it('moves its mark past what was finished before the restart, though it is not read again yet', () => {
    const window = createOffsetWindow({ offset: 1, metadata: encodeFinished(1, [2, 3, 7]) });
    window.begin(1);
    window.finish(1);
    expect(window.position()).toEqual({ offset: 4, metadata: encodeFinished(4, [7]) });
  });

  it('hands out after any number of restarts exactly what was not finished at the last commit', () => {
    const anyLife = fc.record({
      reads: fc.nat(60),
      finishes: fc.array(fc.nat(10_000), { maxLength: 60 }),
      commits: fc.boolean(),
    });
    const anyGaps = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 100, maxLength: 100 });
    fc.assert(
      fc.property(anyGaps, fc.array(anyLife, { maxLength: 6 }), (gaps, lives) => {
        let at = 0;
        const offsets = gaps.map((gap) => (at += gap));
        let committed = atZero;
        let finished = new Set<number>();
        for (const { reads, finishes, commits } of lives) {
          const window = createOffsetWindow(committed);
          const read = offsets.filter((offset) => offset >= committed.offset).slice(0, reads);
          const durable = new Set(finished);
          const open = read.filter((offset) => window.begin(offset));
          expect(open).toEqual(read.filter((offset) => !durable.has(offset)));
          for (const pick of finishes) {
            const [offset] = open.length === 0 ? [] : open.splice(pick % open.length, 1);
            if (offset === undefined) continue;
            window.finish(offset);
            finished.add(offset);
          }
          expect(window.length).toBeGreaterThanOrEqual(open.length);
          const position = window.position();
          if (commits) committed = position;
          if (!commits) finished = durable;
          expect(offsets.filter((offset) => offset < committed.offset).every((offset) => finished.has(offset))).toBe(
            true,
          );
        }
      }),
    );
  });
});

describe('the bitmap of what is finished', () => {
  it('comes back as it went, within the limit of a commit', () => {
    const anyOffsets = fc.uniqueArray(fc.integer({ min: 1, max: bitmapBitsMax }), { maxLength: 300 });
    fc.assert(
      fc.property(fc.nat(2 ** 40), anyOffsets, (position, steps) => {
        const finished = steps.sort((x, y) => x - y).map((step) => position + step);
        const text = encodeFinished(position, finished);
        expect(text).toMatch(/^[A-Za-z0-9_-]*$/);
        expect(text.length).toBeLessThanOrEqual(metadataMax);
        expect(decodeFinished(position, text)).toEqual(finished);
      }),
    );
  });

  it('is empty when nothing is finished beyond', () => {
    expect(encodeFinished(10, [])).toBe('');
    expect(decodeFinished(10, '')).toEqual([]);
  });

  it('is spelled as written down: bit i, the least significant first, is the offset position + 1 + i', () => {
    expect(encodeFinished(100, [101])).toBe('AQ');
    expect(encodeFinished(100, [102, 109])).toBe('AgE');
    expect(decodeFinished(100, 'AgE')).toEqual([102, 109]);
  });

  it.each(['?', 'A', 'a b', 'A'.repeat(4097)])('is not read from %s', (text) => {
    expect(decodeFinished(0, text)).toBeNull();
  });
});
