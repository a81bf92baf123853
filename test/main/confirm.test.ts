// Whoever is at a terminal is asked; a script isn't.

import { PassThrough } from 'node:stream';

import { describe, expect, it } from '@jest/globals';

import { isMeant } from '../../src/main/confirm.ts';

function terminal(typed: string, isTTY: boolean) {
  const input = Object.assign(new PassThrough(), { isTTY });
  const output = new PassThrough();
  input.write(typed);
  return { input, output, shown: () => String(output.read() ?? '') };
}

describe('what takes much away', () => {
  it('is asked about at a terminal, and meant by who types the word', async () => {
    const at = terminal('tenant-1\n', true);
    expect(await isMeant('Which? ', 'tenant-1', at)).toBe(true);
    expect(at.shown()).toContain('Which? ');
  });

  it('is not meant by who types anything else, or only the key of an answer', async () => {
    for (const typed of ['yes\n', '\n', 'tenant-10\n'])
      expect(await isMeant('Which? ', 'tenant-1', terminal(typed, true))).toBe(false);
  });

  it('is not meant where the input ends without an answer', async () => {
    const at = terminal('', true);
    at.input.end();
    expect(await isMeant('Which? ', 'tenant-1', at)).toBe(false);
  });

  it('is meant by a script, which is not asked', async () => {
    const at = terminal('', false);
    expect(await isMeant('Which? ', 'tenant-1', at)).toBe(true);
    expect(at.shown()).toBe('');
  });
});
