// Whoever judges the chaos is judged here: what is late and what came again without a reason is found, and what a kill explains isn't.

import { describe, expect, it } from '@jest/globals';

import type { Sending } from './load.ts';
import { makePlan, roleOf } from './plan.ts';
import { createRandom } from './random.ts';
import type { Arrival } from './receivers.ts';
import type { AttemptLine } from './repeats.ts';
import { repeatsOf } from './repeats.ts';
import type { Happening } from './timeline.ts';
import { excusedSpans } from './timeline.ts';
import { judged, waitsOf } from './waits.ts';

const options = { forMs: 900_000, everyMs: 5_000, frozenMsMin: 5_000, frozenMsMax: 40_000 };

describe('the plan', () => {
  it('is the same for the same seed and another for another', () => {
    expect(makePlan(createRandom(7), options)).toEqual(makePlan(createRandom(7), options));
    expect(makePlan(createRandom(8), options)).not.toEqual(makePlan(createRandom(7), options));
  });

  it('does everything to every role, and never two things at once to one process', () => {
    const plan = makePlan(createRandom(3), options);
    for (const role of ['api', 'dispatcher', 'projector', 'scheduler'])
      for (const does of ['start', 'stop', 'kill', 'freeze', 'continue'])
        expect(plan.some((step) => roleOf(step.slot) === role && step.does === does)).toBe(true);
    for (const slot of new Set(plan.map((step) => step.slot))) {
      const own = plan.filter((step) => step.slot === slot).map(({ does }) => does);
      own.forEach((does, i) => {
        const opens = slot.endsWith('3') ? does === 'start' : does !== 'start' && does !== 'continue';
        expect(opens).toBe(i % 2 === 0);
      });
    }
  });
});

describe('a wait', () => {
  const sending = { n: 1, channel: 'WEBHOOK', kind: 'plain', sendAt: null, accepted: { id: 'a', at: 1_000 } };
  const wait = (arrivals: readonly Arrival[], happened: readonly Happening[], lines: readonly AttemptLine[] = []) =>
    judged(
      waitsOf(sending as unknown as Sending, arrivals, lines, () => null),
      [happening(0, 'dispatcher-1.1', 'ready'), happening(0, 'scheduler-1.1', 'ready'), ...happened],
      100_000,
    );

  it('of what never arrives lasts to the end', () => {
    expect(wait([], [])).toMatchObject([{ step: 'first attempt', ms: 99_000, unexcusedMs: 99_000 }]);
  });

  it('for a retry counts from when it was due', () => {
    expect(wait([arrival(2_000, 'failed'), arrival(44_000, 'taken')], [])[1]).toMatchObject({
      step: 'retry',
      ms: 41_000,
      unexcusedMs: 41_000,
    });
    const putOff = { ...arrival(2_000, 'failed'), retryAfterMs: 3_000 };
    expect(wait([putOff, arrival(44_000, 'taken')], [])[1]).toMatchObject({ ms: 39_000 });
  });

  it('ends with an attempt that never reached its receiver, and the next begins when that one is due', () => {
    const cut = {
      at: 9_000,
      process: 'dispatcher-1.1',
      attempt: 1,
      tookMs: 6_000,
      outcome: 'retrying',
      retryAt: 10_000,
    };
    expect(wait([arrival(50_000, 'taken')], [], [cut])).toMatchObject([
      { step: 'first attempt', ms: 2_000 },
      { step: 'retry', ms: 40_000 },
    ]);
  });

  it('is excused for the session of one that was killed or frozen, and while nobody is up, for no longer', () => {
    const killed = wait(
      [arrival(51_000, 'taken')],
      [happening(0, 'dispatcher-2.1', 'ready'), happening(500, 'dispatcher-2.1', 'killed')],
    );
    expect(killed).toMatchObject([{ ms: 50_000, unexcusedMs: 35_500 }]);
    const nobody = wait(
      [arrival(51_000, 'taken')],
      [happening(500, 'dispatcher-1.1', 'stopping'), happening(41_000, 'dispatcher-1.2', 'ready')],
    );
    expect(nobody).toMatchObject([{ ms: 50_000, unexcusedMs: 10_000 }]);
  });

  it('is not excused by what is done to another role, nor by a stop beside one that is up', () => {
    const others = [happening(500, 'projector-1.1', 'killed'), happening(500, 'dispatcher-2.1', 'stopping')];
    expect(wait([arrival(51_000, 'taken')], others)).toMatchObject([{ ms: 50_000, unexcusedMs: 50_000 }]);
  });
});

it('spans that overlap are excused once', () => {
  const happened = [
    happening(0, 'dispatcher-1.1', 'ready'),
    happening(0, 'dispatcher-2.1', 'ready'),
    happening(10_000, 'dispatcher-2.1', 'killed'),
    happening(12_000, 'dispatcher-1.1', 'frozen'),
    happening(40_000, 'dispatcher-1.1', 'continued'),
  ];
  expect(excusedSpans(happened, ['dispatcher'], 90_000)).toEqual([{ from: 10_000, to: 40_000 }]);
});

describe('a message that came more often than its attempts', () => {
  const twice = [arrival(10_000, 'taken'), arrival(25_000, 'taken')];
  const line = { at: 10_100, process: 'dispatcher-1.1', attempt: 1, tookMs: 105, outcome: 'delivered', retryAt: null };
  const repeats = (
    arrivals: readonly Arrival[],
    lines: readonly AttemptLine[],
    happened: readonly Happening[],
    attempts = 1,
  ) => repeatsOf(1, arrivals, attempts, lines, happened);

  it('is none when each is an attempt', () => {
    expect(repeats(twice, [line], [], 2)).toEqual([]);
  });

  it('has no reason when nobody was killed or frozen, or somebody else was, or at another time', () => {
    const without = [{ n: 1, at: 25_000, reason: null }];
    expect(repeats(twice, [line], [])).toEqual(without);
    expect(repeats(twice, [line], [happening(10_500, 'dispatcher-2.1', 'killed')])).toEqual(without);
    expect(repeats(twice, [line], [happening(10_500, 'projector-1.1', 'killed')])).toEqual(without);
    expect(repeats(twice, [line], [happening(18_000, 'dispatcher-1.1', 'killed')])).toEqual(without);
    expect(repeats(twice, [line], [happening(10_500, 'dispatcher-1.1', 'stopping')])).toEqual(without);
  });

  it('has one when its sender was killed with it in flight or just after', () => {
    expect(repeats(twice, [line], [happening(10_500, 'dispatcher-1.1', 'killed')])[0]?.reason).toMatch(
      'killed after its answer',
    );
    expect(repeats(twice, [], [happening(10_500, 'dispatcher-1.1', 'killed')])[0]?.reason).toMatch(
      'killed with it in flight',
    );
  });

  it('has one when its sender was killed with it on the wire, not long before', () => {
    expect(repeats(twice, [], [happening(9_800, 'dispatcher-1.1', 'killed')])[0]?.reason).toMatch('killed');
    expect(repeats(twice, [], [happening(8_500, 'dispatcher-1.1', 'killed')])[0]?.reason).toBeNull();
  });

  it('has one when its sender was frozen, whoever was the second', () => {
    const late = { ...line, at: 40_200, tookMs: 30_205 };
    expect(repeats(twice, [late], [happening(10_050, 'dispatcher-1.1', 'frozen')])[0]?.reason).toMatch('frozen');
  });

  it('is the one that came too early, not the retry that was due', () => {
    const arrivals = [arrival(10_000, 'failed'), arrival(10_300, 'failed'), arrival(13_000, 'taken')];
    expect(repeats(arrivals, [], [], 2)).toEqual([{ n: 1, at: 10_300, reason: null }]);
  });
});

function arrival(at: number, answer: Arrival['answer']): Arrival {
  return { at, answer, answeredAt: at, retryAfterMs: 0 };
}

function happening(at: number, process: string, what: Happening['what']): Happening {
  const slot = process.slice(0, process.indexOf('.')) as Happening['slot'];
  return { at, process, slot, role: roleOf(slot), what };
}
