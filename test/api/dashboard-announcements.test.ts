// In which order the dashboard's stream tells what it has read side by side.

import { describe, expect, it } from '@jest/globals';

import type { Announcement } from '../../src/api/dashboard-announcements.ts';
import { inOrderOfTime } from '../../src/api/dashboard-announcements.ts';
import { deliveriesTopic } from '../../src/domain/topics.ts';
import type { Topic } from '../../src/domain/topics.ts';
import fc from '../support/properties.ts';

const work: Topic = 'notifications.email.default';

const told = (topic: Topic, partition: number, times: readonly number[]): Announcement[] =>
  times.map((appendedAt, offset) => ({ topic, partition, offset, appendedAt }) as Announcement);
const places = (announcements: readonly Announcement[]) =>
  announcements.map(({ topic, partition, offset }) => `${topic === work ? 'work' : 'outcome'} ${partition} ${offset}`);

describe('announcements', () => {
  it('are told as the log took them, work before outcomes of one millisecond', () => {
    const all = [...told(deliveriesTopic, 3, [2, 4]), ...told(work, 3, [1, 2]), ...told(work, 7, [3])];
    expect(places(inOrderOfTime(all))).toEqual(['work 3 0', 'work 3 1', 'outcome 3 0', 'work 7 0', 'outcome 3 1']);
  });

  it('of a partition keep its order when its time goes back, by a leader whose clock is behind', () => {
    const all = [...told(work, 3, [1000, 1001, 900, 901, 1002]), ...told(work, 7, [950, 1001, 1003])];
    const order = ['work 7 0', 'work 3 0', 'work 3 1', 'work 3 2', 'work 3 3', 'work 7 1', 'work 3 4', 'work 7 2'];
    expect(places(inOrderOfTime(all))).toEqual(order);
    const times = fc.array(fc.nat({ max: 9 }), { maxLength: 9 });
    fc.assert(
      fc.property(times, times, times, (a, b, c) => {
        const ordered = inOrderOfTime([...told(work, 3, a), ...told(deliveriesTopic, 3, b), ...told(work, 7, c)]);
        for (const partition of [told(work, 3, a), told(deliveriesTopic, 3, b), told(work, 7, c)]) {
          const of = new Set(places(partition));
          expect(places(ordered).filter((one) => of.has(one))).toEqual(places(partition));
        }
      }),
    );
  });
});
