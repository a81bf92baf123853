// The options of the bench: what is asked for is what runs, and a mistake is named.

import { expect, it } from '@jest/globals';

import { readOptions } from '../../bench/options.ts';
import { shortSizes, usualSizes } from '../../bench/sizes.ts';

it('without any all parts but the peers run once, at their usual sizes', () => {
  const { engines, parts, repeat, sizes, html } = readOptions([]);
  expect({ engines, repeat, sizes, html }).toEqual({ engines: 'embedded', repeat: 1, sizes: usualSizes, html: null });
  expect(parts).toContain('accept');
  expect(parts).not.toContain('peers');
});

it('parts run in their own order, whatever the order they are asked for in, and peers when they are', () => {
  expect(readOptions(['--only', 'memory,accept', '--peers']).parts).toEqual(['accept', 'memory', 'peers']);
});

it('what is stored may be another number, of a short run as well', () => {
  expect(readOptions(['--short', '--stored', '5000']).sizes).toEqual({ ...shortSizes, stored: 5000 });
});

it.each([
  [['--only', 'accept,nothing'], 'nothing'],
  [['--engines', 'mysql'], '--engines'],
  [['--repeat', '0'], '--repeat'],
  [['--repeat', 'three'], '--repeat'],
  [['--stored', '1e6'], '--stored'],
  [['--fast'], '--fast'],
])('%j is refused, and %s named', (args, named) => {
  expect(() => readOptions(args)).toThrow(named);
});
