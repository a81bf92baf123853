// What is taken of a caller's tracing beside its traceparent: whole, or not at all.

import { describe, expect, it } from '@jest/globals';

import { noTrace, traceContextOf, traceContextOfItems } from '../../src/domain/trace-context.ts';

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const stateOf = (tracestate: string | string[]) => traceContextOf({ traceparent, tracestate }).tracestate;
const baggageOf = (baggage: string | string[]) => traceContextOf({ baggage }).baggage;
const members = (count: number) => Array.from({ length: count }, (_, i) => `k${i}=v`).join(',');

describe('a tracestate', () => {
  it('is taken as it is, up to 512 characters and 32 members', () => {
    for (const text of [
      'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7',
      'a=1 , b=2,',
      'fw529a3039@dt=FfwBwFH3d3d;x y',
      `a=${'x'.repeat(256)},b=${'x'.repeat(251)}`,
      members(32),
    ])
      expect(stateOf(text)).toBe(text);
    expect(stateOf(`a=${'x'.repeat(256)},b=${'x'.repeat(252)}`)).toBeNull();
    expect(stateOf(members(33))).toBeNull();
  });

  it('that is malformed, or without a traceparent, counts as none; the trace stays', () => {
    for (const text of ['', ',', 'a', 'A=1', '=1', 'a=', 'a=1,a=2', 'a=ü', 'a=1\n', `a=${'x'.repeat(257)}`, ['a=1']])
      expect(traceContextOf({ traceparent, tracestate: text })).toEqual({ ...noTrace, traceparent });
    expect(traceContextOf({ traceparent: 'none', tracestate: 'a=1' })).toEqual(noTrace);
  });
});

describe('a baggage', () => {
  it('is taken as it is, up to 8,192 bytes, with or without a trace', () => {
    for (const text of ['userId=alice', 'a=1;p=2;q, b = %20', 'a=', members(180), `a=${'x'.repeat(8190)}`])
      expect(baggageOf(text)).toBe(text);
    expect(baggageOf(`a=${'x'.repeat(8191)}`)).toBeNull();
  });

  it('that is malformed counts as none', () => {
    for (const text of ['', ' , ', 'a', '=1', 'a b=1', 'a=1,b', 'a=ü', 'a=1\r\nx-more: 1', ['a=1']])
      expect(baggageOf(text)).toBeNull();
  });

  it('of a batch is kept by each of its items: up to 512 bytes, and none that is longer; the trace stays', () => {
    const ofItems = (length: number) => traceContextOfItems({ traceparent, baggage: `a=${'x'.repeat(length - 2)}` });
    expect(ofItems(512)).toMatchObject({ traceparent, baggage: `a=${'x'.repeat(510)}` });
    expect(ofItems(513)).toEqual({ ...noTrace, traceparent });
  });
});
