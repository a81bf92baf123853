// A feed whose work is done is left alone until there is more, and never for long.

import { beforeEach, describe, expect, it } from '@jest/globals';

import { deliveriesTopic, workTopic } from '../../src/domain/topics.ts';
import type { Topic } from '../../src/domain/topics.ts';
import { restingFeed } from '../../src/watch/resting.ts';
import type { Sighting } from '../../src/watch/standstill.ts';
import type { Asking, Feed } from '../../src/watch/watchdog.ts';

const topics: readonly Topic[] = [workTopic('EMAIL', 'HIGH'), deliveriesTopic];
const asking: Asking = { ends: async (topic) => ends.get(topic) ?? null, within: (asked) => asked };

let now: number;
let ends: Map<Topic, readonly number[] | null>;
let positions: Map<Topic, readonly (number | null)[]>;
let looks: number;
let feed: Feed;

beforeEach(() => {
  now = 0;
  looks = 0;
  ends = new Map(topics.map((topic) => [topic, [5, 7]]));
  positions = new Map(topics.map((topic) => [topic, [5, 7]]));
  const looked: Feed = {
    group: 'g',
    async look() {
      looks++;
      return topics.flatMap((topic) => [0, 1].map((partition) => sightingOf(topic, partition)));
    },
  };
  feed = restingFeed(looked, topics, { monotonic: () => now });
});

describe('a feed that rests', () => {
  it('is not asked again while all of it is done and its topics are as they were', async () => {
    const first = await feed.look(asking);
    now += 5_000;
    expect(await feed.look(asking)).toEqual(first);
    expect(looks).toBe(1);
  });

  it('is asked at once when a topic has more, and as long as that is not done', async () => {
    await feed.look(asking);
    ends.set(deliveriesTopic, [5, 8]);
    expect(await feed.look(asking)).toContainEqual(sightingOf(deliveriesTopic, 1));
    await feed.look(asking);
    expect(looks).toBe(3);
    positions.set(deliveriesTopic, [5, 8]);
    await feed.look(asking);
    await feed.look(asking);
    expect(looks).toBe(4);
  });

  it('is asked when it is not known how far there is work, or how far it was done', async () => {
    positions.set(deliveriesTopic, [null, 7]);
    await feed.look(asking);
    await feed.look(asking);
    positions.set(deliveriesTopic, [5, 7]);
    await feed.look(asking);
    ends.set(deliveriesTopic, null);
    await feed.look(asking);
    expect(looks).toBe(4);
  });

  it('is asked after 20 s whatever its topics are: a position may have been set back', async () => {
    await feed.look(asking);
    positions.set(deliveriesTopic, [5, 0]);
    now += 20_000;
    expect(await feed.look(asking)).toContainEqual(expect.objectContaining({ part: deliveriesTopic, position: 0 }));
  });
});

function sightingOf(topic: Topic, partition: number): Sighting {
  return {
    group: 'g',
    partition,
    part: topic,
    end: ends.get(topic)?.[partition] ?? null,
    position: positions.get(topic)?.[partition] ?? null,
    countsEvents: true,
    marks: [],
    isUnderWay: false,
    after: [],
  };
}
