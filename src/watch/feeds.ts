// What the watchdog is fed with: for each group, all partition numbers, whoever owns them or nobody, so that a number which
// nobody takes is seen by every process that could. Of read models: read-model-feed.ts.

import type { Topic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { CommittedPosition, EventLog } from '../ports/event-log.ts';
import type { JobStore, StandingJobs } from '../ports/job-store.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import { timersCollection } from '../projections/timers/document.ts';
import { timersReadModel } from '../projections/timers/index.ts';
import type { TimersDocument } from '../projections/timers/document.ts';
import { numbersOf } from './numbers.ts';
import type { Sighting } from './standstill.ts';
import type { Asking, Feed } from './watchdog.ts';

/** What this process itself does with a topic of a number that it owns. */
export interface Activity {
  readonly topic: Topic;
  readonly partition: number;
  /** Goes up with whatever was begun or finished. */
  readonly moves: number;
  /** All below it was read. */
  readonly readTo: number;
  /** Something is in flight that ends by its deadline. */
  readonly isUnderWay: boolean;
}

/** @param topics in the order in which they come: work of a later one may wait for the earlier ones, never the other way round */
export function dispatcherFeed(of: {
  readonly log: Pick<EventLog, 'committed' | 'partitioning'>;
  readonly group: string;
  readonly topics: readonly Topic[];
  activity(): readonly Activity[];
}): Feed {
  const { log, group, topics, activity } = of;

  const lookAt = async (topic: Topic, asking: Asking): Promise<Sighting[]> => {
    const [ends, committed] = await Promise.all([asking.ends(topic), asking.within(log.committed(group, topic))]);
    const own = new Map(activity().flatMap((one) => (one.topic === topic ? [[one.partition, one] as const] : [])));
    return numbersOf(log).flatMap((partition) => {
      const position = committed?.[partition] ?? null;
      const doing = own.get(partition);
      const end = ends?.[partition] ?? null;
      const done = {
        group,
        partition,
        part: topic,
        end,
        position: positionOf(position, end),
        countsEvents: true,
        marks: [position === null ? null : position.metadata, doing?.moves ?? null],
        isUnderWay: doing?.isUnderWay ?? false,
        after: topics.slice(0, topics.indexOf(topic)),
      };
      return doing === undefined || end === null || doing.readTo >= end
        ? [done]
        : [done, unread({ group, partition, topic, end, readTo: doing.readTo })];
    });
  };

  return {
    group,
    look: async (asking) => (await Promise.all(topics.map((topic) => lookAt(topic, asking)))).flat(),
  };
}

/** What isn't read is nobody's to begin: however much moves of what was read, those whose work comes behind it wait. */
function unread(of: { group: string; partition: number; topic: Topic; end: number; readTo: number }): Sighting {
  const { group, partition, topic, end, readTo } = of;
  const common = { countsEvents: false, marks: [], isUnderWay: false, after: [] };
  return { group, partition, part: `${topic} read`, end, position: readTo, ...common };
}

/** Nothing was ever committed: only where there is nothing to be done is that a position. */
function positionOf(committed: CommittedPosition | null, end: number | null): number | null {
  return committed?.offset ?? (end === 0 ? 0 : null);
}

/** Timers that are due are decided at once, and what was decided is soon folded; but not before a number is folded to the log's end. */
export function timersFeed(of: {
  readonly reader: Pick<ReadModelReader, 'find'>;
  readonly log: Pick<EventLog, 'partitioning'>;
  readonly group: string;
  readonly clock: Clock;
}): Feed {
  const { reader, log, group, clock } = of;

  const firstOf = (equals: Readonly<Record<string, number>>, fields: readonly string[]) =>
    reader.find<TimersDocument>({
      collection: timersCollection.name,
      equals,
      order: { fields, direction: 'ascending' },
      limit: 1,
    });

  const lookAt = async (partition: number, { within }: Asking): Promise<Sighting[]> => {
    const [waiting, decided] = await Promise.all([
      within(firstOf({ partition }, ['nextDueAt'])),
      within(firstOf({ partition, decided: 1 }, [])),
    ]);
    const now = clock.now();
    const [next, fired] = [waiting?.documents[0], decided?.documents[0]];
    const dueAt = Math.min(next?.nextDueAt ?? now, now);
    const common = { group, partition, countsEvents: false, isUnderWay: false, after: timersReadModel.topics };
    return [
      { ...common, part: 'due', end: now, position: waiting === null ? null : dueAt, marks: [next?.id ?? null] },
      {
        ...common,
        part: 'decided',
        end: 1,
        position: decided === null ? null : fired === undefined ? 1 : 0,
        marks: [fired?.id ?? null],
      },
    ];
  };

  return {
    group,
    look: async (asking) => (await Promise.all(numbersOf(log).map((partition) => lookAt(partition, asking)))).flat(),
  };
}

/** Jobs come on while they run, and the queue by its head. They have no number of their own: all are of 0. */
export function jobsFeed(of: { readonly jobs: Pick<JobStore, 'standing'>; readonly metrics: Metrics }): Feed {
  const { jobs, metrics } = of;
  let last: Pick<StandingJobs, 'running' | 'queued'> = { running: [], queued: 0 };
  metrics.gauge('herald_jobs', () => last.running.length, { state: 'running' });
  metrics.gauge('herald_jobs', () => last.queued, { state: 'queued' });
  return {
    group: 'jobs',
    async look({ within }) {
      const standing = await within(jobs.standing());
      last = standing ?? last;
      const common = { group: 'jobs', partition: 0, end: 1, countsEvents: false, isUnderWay: false, after: [] };
      const queued = standing === null ? null : standing.head === null ? 1 : 0;
      return [
        { ...common, part: 'queue', position: queued, marks: [standing?.head ?? null] },
        ...last.running.map(({ id, movedAt }) => ({ ...common, part: id, position: 0, marks: [movedAt] })),
      ];
    },
  };
}

/** What passes over a number again and again: it comes on while it passes, and rests in between, or until what it goes by is there. */
export function retentionFeed(of: {
  readonly group: string;
  states(): readonly { readonly partition: number; readonly moves: number; readonly rests: boolean }[];
}): Feed {
  const { group, states } = of;
  return {
    group,
    look: async () =>
      states().map(({ partition, moves, rests }) => ({
        group,
        partition,
        part: 'pass',
        end: 1,
        position: rests ? 1 : 0,
        countsEvents: false,
        marks: [moves],
        isUnderWay: false,
        after: [],
      })),
  };
}
