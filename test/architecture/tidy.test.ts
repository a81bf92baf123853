// Habits that a reader relies on: a first sentence in every file, files of a size, no `any`, time and chance through the clock port alone.

import { describe, expect, it } from '@jest/globals';

import { parseSource, readSources } from './sources.ts';

const sources = readSources();
const linesMax = 250;

/** Folders that learn of time, chance and their process through ports alone. */
const pureFolders = [
  'domain',
  'ports',
  'commands',
  'projections',
  'dispatchers',
  'scheduler',
  'jobs',
  'watch',
  'reconcile',
];
const impure = /\b(Date\.now|new Date\(\)|Math\.random|performance\.now|process\.(env|hrtime|nextTick|on|exit|pid))\b/;

describe('every source file', () => {
  it('opens with a comment that says what it is for', () => {
    expect(sources.filter(({ text }) => !/^\/\/ \S/.test(text)).map(({ path }) => path)).toEqual([]);
  });

  it(`has at most ${linesMax} lines, blank ones and comments not counted`, () => {
    const long = sources
      .map(({ path, text }) => ({ path, lines: countLines(text) }))
      .filter(({ lines }) => lines > linesMax);
    expect(long).toEqual([]);
  });

  it('is free of the type any', () => {
    expect(
      sources.filter(({ anyLines }) => anyLines.length > 0).map(({ path, anyLines }) => `${path}:${anyLines[0]}`),
    ).toEqual([]);
    expect(parseSource('x.ts', 'let a: string;\nlet b: Array<any>;').anyLines).toEqual([2]);
  });

  it('takes time and chance from the clock port, where it is part of the logic', () => {
    const ofLogic = sources.filter(({ path }) => pureFolders.some((folder) => path.startsWith(`${folder}/`)));
    const found = ofLogic.flatMap(({ path, text }) =>
      codeLines(text)
        .filter((line) => impure.test(line))
        .map((line) => `${path}: ${line.trim()}`),
    );
    expect(found).toEqual([]);
  });
});

function countLines(text: string): number {
  return codeLines(text).length;
}

/** Neither blank nor a comment from its first character on. */
function codeLines(text: string): string[] {
  return text.split('\n').filter((line) => !/^\s*(\/\/|\/\*|\*|$)/.test(line));
}
