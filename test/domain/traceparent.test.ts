// W3C trace context: what is taken from a header.

import { describe, expect, it } from '@jest/globals';

import { parseTraceparent, traceIdOf } from '../../src/domain/traceparent.ts';

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
const known = `${trace}-00f067aa0ba902b7-01`;

describe('a traceparent', () => {
  it('of version 00 is taken as it is', () => {
    expect(parseTraceparent(`00-${known}`)).toBe(`00-${known}`);
    expect(traceIdOf(`00-${known}`)).toBe(trace);
    expect(traceIdOf(null)).toBeNull();
  });

  it('of a later version is taken by the fields that are known', () => {
    expect(parseTraceparent(`01-${known}`)).toBe(`00-${known}`);
    expect(parseTraceparent(`cc-${known}-what-comes-then`)).toBe(`00-${known}`);
  });

  it('that is malformed counts as none', () => {
    for (const header of [
      undefined,
      '',
      [`00-${known}`],
      `00-${known}-x`,
      `ff-${known}`,
      `00-${known.toUpperCase()}`,
      `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
      `00-${trace}-${'0'.repeat(16)}-01`,
      `01-${known}x`,
      `00-${known}\n`,
      `01-${known}-${'x'.repeat(600)}`,
    ])
      expect(parseTraceparent(header)).toBeNull();
  });
});
