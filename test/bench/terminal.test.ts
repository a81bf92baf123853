// What a run shows: a bar on a terminal, lines alone elsewhere.

import { expect, it } from '@jest/globals';

import { barText, createProgress, shareDone } from '../../bench/terminal.ts';
import { usualSizes } from '../../bench/sizes.ts';

function output(isTTY: boolean) {
  const written: string[] = [];
  return { isTTY, columns: 80, write: (text: string) => written.push(text), written };
}

const parts = ['accept', 'fold'] as const;

it('elsewhere than on a terminal there are lines and nothing else', () => {
  const out = output(false);
  const progress = createProgress({ output: out, parts, sizes: usualSizes, nowMs: () => 0 });
  progress.begins();
  progress.line('one');
  progress.end();
  expect(out.written).toEqual(['one\n']);
});

it('on a terminal lines stay and the bar is drawn below them, and is gone at the end', () => {
  const out = output(true);
  let now = 0;
  const progress = createProgress({ output: out, parts, sizes: usualSizes, nowMs: () => now });
  progress.begins();
  now = 61_000;
  progress.line('one');
  progress.begins();
  progress.end();
  const [, line, below, second, last] = out.written;
  expect(line).toBe('\r\u001B[Kone\n');
  expect(below?.startsWith('\r\u001B[K')).toBe(true);
  expect(below).toMatch(/\[#+\.+\] accept, 1 of 2, 1:01$/);
  expect(second).toMatch(/ fold, 2 of 2, 1:01$/);
  expect(last).toBe('\r\u001B[K');
});

it('the bar goes on with the time that is expected, and waits for a part that takes longer', () => {
  expect(shareDone([30, 10], 0, 15)).toBeCloseTo(15 / 40);
  expect(shareDone([30, 10], 0, 500)).toBeLessThan(30 / 40);
  expect(shareDone([30, 10], 1, 0)).toBeCloseTo(30 / 40);
  expect(shareDone([], 0, 5)).toBe(0);
  expect(barText(0.5, 4)).toBe('[##..]');
});
