// A feed that has nothing to do asks nothing: what has come to the end of its topics is as it was as long as they are.

import type { Topic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { Sighting } from './standstill.ts';
import type { Asking, Feed } from './watchdog.ts';

/** It is looked at anew after so long all the same: a person may have set a position back. */
const restMaxMs = 20_000;

/** @param topics those that the parts of its sightings are named by */
export function restingFeed(feed: Feed, topics: readonly Topic[], clock: Pick<Clock, 'monotonic'>): Feed {
  let done: { readonly sightings: readonly Sighting[]; readonly at: number } | null = null;

  const isAsItWas = async (sightings: readonly Sighting[], asking: Asking): Promise<boolean> => {
    const asked = await Promise.all(topics.map((topic) => asking.ends(topic)));
    const ends = new Map<string, readonly (number | null)[] | null>(
      topics.map((topic, i) => [topic, asked[i] ?? null]),
    );
    return sightings.every(({ part, partition, end }) => end !== null && ends.get(part)?.[partition] === end);
  };

  return {
    group: feed.group,
    async look(asking) {
      if (done !== null && clock.monotonic() - done.at < restMaxMs && (await isAsItWas(done.sightings, asking)))
        return done.sightings;
      const sightings = await feed.look(asking);
      done = sightings.every(isAtEnd) ? { sightings, at: clock.monotonic() } : null;
      return sightings;
    },
  };
}

function isAtEnd({ end, position }: Sighting): boolean {
  return end !== null && position !== null && position >= end;
}
