// Whether every position lies within the log: one beyond its end would pass over all that is appended below it, without a word.

import { allTopics, type Topic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import { furthest } from '../ports/folded-ahead.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import { readModels } from '../projections/index.ts';
import { eventLogShape } from './event-log-shape.ts';
import { StartError } from './start-error.ts';

interface Dependencies {
  readonly log: Pick<EventLog, 'ends' | 'committed' | 'partitioning'>;
  readonly reader: Pick<ReadModelReader, 'positions' | 'ahead'>;
  readonly clock: Pick<Clock, 'sleep'>;
}

interface Place {
  readonly topic: Topic;
  readonly partition: number;
  readonly offset: number;
}

/** A broker that has just come to lead a partition may name an end that is some moments old: 10 s in all. */
const looks = 20;
const lookAgainMs = 500;

/** @throws StartError naming the first one that doesn't */
export async function checkPositions(deps: Dependencies): Promise<void> {
  const { log } = deps;
  for (const { definition } of readModels) {
    const beyond = await firstBeyond(deps, await positionsOf(deps, definition.name));
    if (beyond === null) continue;
    throw new StartError(
      `The read model ${definition.name} has folded ${placeText(beyond)}. The log or its topic was put back from a backup or made again, or the read models ` +
        'are of another log. With the right log in place stop the roles projector and scheduler, and run "herald rebuild".',
    );
  }
  for (const { group, topics } of eventLogShape.groups) {
    for (const topic of topics) {
      const committed = await log.committed(group, topic);
      const places = committed.map((position, partition) => ({ topic, partition, offset: position?.offset ?? 0 }));
      const beyond = await firstBeyond(deps, places);
      if (beyond === null) continue;
      throw new StartError(
        `The group ${group} is done with ${placeText(beyond)}. The log or its topic was put back from a backup or made again: what is appended now would ` +
          "not be sent. With the right log in place set the group's positions to the log's end, with Kafka's own tools.",
      );
    }
  }
}

/** With what is folded before its turn. */
async function positionsOf({ log, reader }: Dependencies, readModel: string): Promise<Place[]> {
  const numbers = Array.from({ length: log.partitioning.partitions }, (_, partition) => partition);
  const byNumber = await Promise.all(
    numbers.map(async (partition) => {
      const position = await reader.positions(readModel, partition);
      const ahead = await reader.ahead(readModel, partition);
      const offsets = ahead === null ? position : furthest(position, ahead);
      return [...offsets].map(([topic, offset]) => ({ topic, partition, offset }));
    }),
  );
  return byNumber.flat();
}

/** The positions were read before the ends: what is appended meanwhile puts none of them beyond. */
async function firstBeyond({ log, clock }: Dependencies, places: readonly Place[]): Promise<Beyond | null> {
  for (let look = 1; ; look++) {
    const topics = allTopics.filter((topic) => places.some((place) => place.topic === topic && place.offset > 0));
    const ends = new Map(await Promise.all(topics.map(async (topic) => [topic, await log.ends(topic)] as const)));
    const beyond = places.flatMap((place): Beyond[] => {
      const end = ends.get(place.topic)?.[place.partition];
      return end === undefined || place.offset <= end ? [] : [{ ...place, end }];
    });
    const [first = null] = beyond;
    if (first === null || look === looks) return first;
    await clock.sleep(lookAgainMs);
  }
}

interface Beyond extends Place {
  readonly end: number;
}

function placeText({ topic, partition, offset, end }: Beyond): string {
  return `${topic}, partition ${partition}, up to ${offset}, and the log ends at ${end} there`;
}
