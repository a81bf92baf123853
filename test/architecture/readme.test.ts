// The README's table of settings is the one that the service reads.

import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';

import { describeConfig } from '../../src/main/config.ts';

describe('the README', () => {
  it('lists every setting with its default, in the order of the config command', () => {
    const text = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
    const written = [...text.matchAll(/^\| `([A-Z_]+)` \| (?:`([^`]*)`)? *\|/gm)].map(([, name, fallback = '']) => ({
      name,
      fallback,
    }));
    expect(written).toEqual(describeConfig({}).map(({ name, fallback }) => ({ name, fallback })));
  });
});
