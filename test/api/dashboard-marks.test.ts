// The ids of the dashboard's stream: what they say is what comes back, and nothing else is taken.

import { describe, expect, it } from '@jest/globals';

import { numbersOf } from '../../dashboard/place.ts';
import { marksAt, parseDashboardMarks } from '../../src/api/dashboard-marks.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import fc from '../support/properties.ts';

const { topics } = notificationsReadModel;
const [first = ''] = topics;

describe("marks of a dashboard's stream", () => {
  it('come back as they were, whatever they passed', () => {
    const position = fc.record({
      topic: fc.constantFrom(...topics),
      partition: fc.constantFrom(3, 7),
      offset: fc.nat({ max: 2 ** 40 }),
    });
    fc.assert(
      fc.property(fc.array(position, { maxLength: 30 }), (positions) => {
        const marks = marksAt([3, 7], () => 0);
        for (const one of positions) marks.pass(one);
        const back = parseDashboardMarks(marks.text, [3, 7]);
        expect(back?.text).toBe(marks.text);
        for (const { topic, partition } of positions)
          expect(back?.offset(topic, partition)).toBe(marks.offset(topic, partition));
        for (const one of positions) expect(back?.pass(one)).toBe(false);
      }),
    );
  });

  it('are new until they have caught up, and have the same numbers then, which whoever compares them reads', () => {
    for (const partitions of [[3, 7], [0], [1023]]) {
      const marks = marksAt(partitions, () => 71);
      const before = marks.text;
      expect(parseDashboardMarks(before, partitions)).toMatchObject({ isNew: true, text: before });
      marks.caughtUp();
      expect(parseDashboardMarks(marks.text, partitions)).toMatchObject({ isNew: false, text: marks.text });
      expect(numbersOf(before)).toEqual(numbersOf(marks.text));
    }
  });

  it('pass each position once', () => {
    const marks = marksAt([3], () => 5);
    expect([4, 5, 5, 6].map((offset) => marks.pass({ topic: first, partition: 3, offset }))).toEqual([
      false,
      true,
      false,
      true,
    ]);
    expect(marks.pass({ topic: first, partition: 4, offset: 9 })).toBe(false);
    expect(marks.pass({ topic: 'notifications.inbox', partition: 3, offset: 9 })).toBe(false);
  });

  it('of other partition numbers or topics are known as such; what is no id is refused', () => {
    const { text } = marksAt([3, 7], () => 1);
    expect(parseDashboardMarks(text, [3, 8])).toBeNull();
    expect(parseDashboardMarks(text, [3])).toBeNull();
    expect(parseDashboardMarks('3.1~7.1', [3, 7])).toBeNull();
    for (const bad of ['x', '3', '3.-1', '3.1~', '3.1 7.1', '3.1\n', `3.${'z'.repeat(11)}`, '3.1~3.1~'.repeat(400)])
      expect(() => parseDashboardMarks(bad, [3, 7])).toThrow('last-event-id');
  });
});
