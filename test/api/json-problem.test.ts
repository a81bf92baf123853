// Where a text stops being JSON, and what should stand there; never what it holds.

import { describe, expect, it } from '@jest/globals';

import { jsonProblem } from '../../src/api/json-problem.ts';
import fc from '../support/properties.ts';

describe('what is no JSON', () => {
  it.each([
    ['', 'at line 1, column 1: it ends here, and a value is missing'],
    ['{', 'at line 1, column 2: it ends here, and } is missing'],
    ['{"a"', 'at line 1, column 5: it ends here, and a colon and a value are missing'],
    ['{"a":1', 'at line 1, column 7: it ends here, and } is missing'],
    ['[1,', 'at line 1, column 4: it ends here, and a value is missing'],
    ['{"a":1,', 'at line 1, column 8: it ends here, and a name is missing'],
    ['{"a":1,}', 'at line 1, column 8: a comma stands before this, and nothing comes after it: leave it out'],
    ['[1,]', 'at line 1, column 4: a comma stands before this, and nothing comes after it: leave it out'],
    ['{\n  "a": 1\n  "b": 2\n}', 'at line 3, column 3: a comma or } should stand here'],
    ['[1 2]', 'at line 1, column 4: a comma or ] should stand here'],
    ['{"a" 1}', 'at line 1, column 6: a colon should stand here, behind the name'],
    ['{} {}', 'at line 1, column 4: there is more after the end: a body is one JSON value'],
    [
      "{'a':1}",
      'at line 1, column 2: a name in double quotes should stand here: JSON has double quotes, no single ones',
    ],
    ['{a:1}', 'at line 1, column 2: a name in double quotes should stand here'],
    [
      '{“a”:1}',
      'at line 1, column 2: a name in double quotes should stand here: JSON has straight double quotes, no typographic ones',
    ],
    [
      '{"a":True}',
      'at line 1, column 6: a value should stand here: texts have double quotes, and true, false and null are written so',
    ],
    ['{"a":.5}', 'at line 1, column 6: a value should stand here: numbers are written as 7, -7, 0.7 or 7e3'],
    ['{"a":01}', 'at line 1, column 6: a value should stand here: numbers are written as 7, -7, 0.7 or 7e3'],
    ['{"a":1, // b\n"c":2}', 'at line 1, column 9: a name in double quotes should stand here: JSON has no comments'],
    ['{"a":"b\nc"}', String.raw`at line 1, column 8: a line break in a text is written \n`],
    [
      '{"a":"b\tc"}',
      String.raw`at line 1, column 8: a control character in a text is written as an escape, such as \t or \u0009`,
    ],
    [
      String.raw`{"a":"C:\Users"}`,
      String.raw`at line 1, column 10: behind a backslash one of " \ / b f n r t or u and four hexadecimal digits should stand`,
    ],
    ['{"a":"b}', 'at line 1, column 6: the text that begins here has no double quote at its end'],
    ['channel=IN_APP&body=x', 'at line 1, column 1: a value should stand here: this looks like a form'],
    ['\ufeff{}', 'at line 1, column 1: a value should stand here, and no byte order mark'],
  ])('%j', (text, problem) => {
    expect(() => JSON.parse(text)).toThrow();
    expect(jsonProblem(text)).toBe(problem);
  });

  it('is found wherever JSON.parse finds it, and nowhere else', () => {
    const valid = fc.json();
    const spoilt = fc
      .tuple(valid, fc.nat(), fc.nat(3), fc.string({ maxLength: 2, unit: 'binary-ascii' }))
      .map(([text, at, less, more]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + more + text.slice(place + less);
      });
    const pieces = fc
      .array(
        fc.constantFrom(
          '{',
          '}',
          '[',
          ']',
          ',',
          ':',
          '"',
          '"a"',
          '\\',
          '\\u12',
          '1',
          '-',
          '0',
          '.',
          'e',
          'null',
          ' ',
          '\n',
        ),
      )
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.oneof(valid, spoilt, pieces), (text) => {
        expect([text, jsonProblem(text) === null]).toEqual([text, isJson(text)]);
      }),
      { numRuns: 3000 },
    );
  });

  it('may be nested as deep as a request is long', () => {
    expect(jsonProblem('['.repeat(200_000))).toMatch(/column 200001: it ends here, and \] is missing|a value/);
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
