// The breaker by example, and what holds whatever happens to it.

import { describe, expect, it } from '@jest/globals';

import type { Breaker, Sign } from '../../src/domain/breaker.ts';
import { admit, afterAttempt, closedBreaker, notedState, stateOf } from '../../src/domain/breaker.ts';
import fc from '../support/properties.ts';

const up: Sign = { kind: 'up' };
const down: Sign = { kind: 'down' };
const refused: Sign = { kind: 'refused' };
const none: Sign = { kind: 'none' };
const pause = (ms: number): Sign => ({ kind: 'pause', ms });

/** After attempts that nobody was waiting for, at one time, without chance. */
function after(breaker: Breaker, signs: readonly Sign[], { now = 0, isProbe = false, failuresMax = 3 } = {}): Breaker {
  return signs.reduce((state, sign) => afterAttempt(state, { sign, isProbe, failuresMax }, now, 0), breaker);
}

const waits = (breaker: Breaker, now: number) => {
  const { admission } = admit(breaker, now);
  return admission.kind === 'wait' ? admission.until : null;
};

/** Its probe is made at the time that it asks for. */
function probed(breaker: Breaker, sign: Sign): Breaker {
  if (breaker.kind !== 'open') throw new Error('it is closed');
  const { until } = breaker;
  const { admission, breaker: probing } = admit(breaker, until);
  expect(admission).toEqual({ kind: 'probe' });
  return after(probing, [sign], { now: until, isProbe: true });
}

describe('a breaker', () => {
  it('opens by so many failures in a row, and not by more with a success between them', () => {
    expect(after(closedBreaker, [down, down, up, down, down])).toEqual({ kind: 'closed', failures: 2 });
    const open = after(closedBreaker, [down, down, down]);
    expect(stateOf(open, 0)).toBe('open');
    expect(waits(open, 0)).toBe(1000);
  });

  it('is opened at once by refused credentials, and for as long as a pause that is asked for', () => {
    expect(waits(after(closedBreaker, [refused]), 0)).toBe(1000);
    expect(waits(after(closedBreaker, [pause(30_000)], { now: 5 }), 5)).toBe(30_005);
  });

  it('lets one attempt through when its time is over, and no other until that is answered', () => {
    const open = after(closedBreaker, [down, down, down]);
    const { admission, breaker } = admit(open, 1000);
    expect(admission.kind).toBe('probe');
    expect(stateOf(breaker, 1000)).toBe('half-open');
    expect(waits(breaker, 1000)).toBe(2000);
    expect(admit(after(breaker, [up], { now: 1100, isProbe: true }), 1100).admission).toEqual({ kind: 'go' });
  });

  it('stays open for 1, 2, 4, ... s while its probes fail, 10 minutes at most: a minute takes six of them', () => {
    let breaker = after(closedBreaker, [down, down, down]);
    const times: number[] = [];
    while (breaker.kind === 'open' && times.length < 12) {
      times.push(breaker.until / 1000);
      breaker = probed(breaker, down);
    }
    expect(times).toEqual([1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 1623, 2223]);
    expect(probed(breaker, up)).toEqual(closedBreaker);
  });

  it('is neither closed nor kept open for longer by attempts that began before it opened', () => {
    const open = after(closedBreaker, [down, down, down]);
    expect(after(open, [up, down, refused, none], { now: 500 })).toEqual(open);
  });

  it('waits for the longest pause that is asked for, also by what began before', () => {
    const open = after(closedBreaker, [down, down, down]);
    expect(waits(after(open, [pause(60_000), pause(10)], { now: 100 }), 100)).toBe(60_100);
  });

  it('stays open for as long as its probes ask for, and for 1, 2, 4, ... s at least while they do nothing else', () => {
    let breaker = after(closedBreaker, [pause(5000)]);
    const times: number[] = [];
    while (breaker.kind === 'open' && times.length < 8) {
      times.push(breaker.until / 1000);
      breaker = probed(breaker, pause(5000));
      expect(breaker).toMatchObject({ isAsked: true });
    }
    expect(times).toEqual([5, 10, 15, 20, 28, 44, 76, 140]);
    expect(waits(probed(breaker, pause(3_600_000)), 268_000)).toBe(268_000 + 3_600_000);
    expect(probed(breaker, up)).toEqual(closedBreaker);
  });

  it('has another probe when nothing came of the first, or nobody says what did', () => {
    const open = after(closedBreaker, [down, down, down]);
    const { breaker } = admit(open, 1000);
    expect(admit(after(breaker, [none], { isProbe: true }), 1001).admission.kind).toBe('probe');
    expect(admit(breaker, 60_999).admission.kind).toBe('wait');
    expect(admit(breaker, 61_000).admission.kind).toBe('probe');
  });

  it('that was noted by a process that has ended counts as closed an hour after its time', () => {
    expect(notedState(null, 0)).toBe('closed');
    expect(notedState(5000, 4999)).toBe('open');
    expect(notedState(5000, 5000)).toBe('half-open');
    expect(notedState(5000, 5001 + 3_600_000)).toBe('closed');
  });
});

const anySign = fc.oneof(fc.constantFrom(up, down, refused, none), fc.integer({ min: 1, max: 100_000 }).map(pause));
const anyStep = fc.record({
  afterMs: fc.integer({ min: 0, max: 20_000 }),
  sign: anySign,
  random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  isAnswered: fc.boolean(),
});

describe('whatever comes, a breaker', () => {
  it('has one probe at a time, admits nothing else while it is open, and admits again within 12 minutes or the pause', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 60 }), (steps) => {
        let breaker: Breaker = closedBreaker;
        let now = 0;
        let probe: number | null = null;
        for (const { afterMs, sign, random, isAnswered } of steps) {
          now += afterMs;
          const before = breaker;
          const asked = admit(breaker, now);
          breaker = asked.breaker;
          switch (asked.admission.kind) {
            case 'go':
              expect(before.kind).toBe('closed');
              breaker = afterAttempt(breaker, { sign, isProbe: false, failuresMax: 3 }, now, random);
              break;
            case 'probe':
              expect(probe === null || now - probe >= 60_000).toBe(true);
              expect(stateOf(before, now)).toBe('half-open');
              probe = isAnswered ? null : now;
              if (isAnswered) breaker = afterAttempt(breaker, { sign, isProbe: true, failuresMax: 3 }, now, random);
              break;
            case 'wait':
              expect(asked.admission.until).toBeGreaterThan(now);
              expect(asked.admission.until - now).toBeLessThanOrEqual(720_000);
              break;
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it('that is answered well when it is probed is closed', () => {
    fc.assert(
      fc.property(fc.array(anySign, { maxLength: 40 }), (signs) => {
        const breaker = after(closedBreaker, signs);
        expect(breaker.kind === 'closed' ? closedBreaker : probed(breaker, up)).toEqual(closedBreaker);
      }),
    );
  });
});
