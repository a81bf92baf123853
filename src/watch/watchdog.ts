// Looks every few seconds how far the work of each group has come, and says what stands still, whatever the reason: a log line, metrics, readiness.
//
//   feeds ──sightings──> standstill ──> line, herald_stalls_total, herald_standing_still, not ready
//   (log ends, committed and stored positions, attempts, timers)

import type { Topic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';
import { numbersOf as allNumbers } from './numbers.ts';
import type { Sighting, Standing } from './standstill.ts';
import { createStandstill } from './standstill.ts';

/** What a look may ask: each answer comes within some seconds, null where it didn't. */
export interface Asking {
  /** Asked once a look, however many feeds want it; null: of a number of which the log can't say, or of all. */
  ends(topic: Topic): Promise<readonly (number | null)[] | null>;
  within<T>(asked: Promise<T>): Promise<T | null>;
}

export interface Feed {
  readonly group: string;
  /** Never rejects, and settles when what it asks has. */
  look(asking: Asking): Promise<readonly Sighting[]>;
}

export interface WatchdogDependencies {
  readonly feeds: readonly Feed[];
  readonly log: Pick<EventLog, 'ends' | 'partitioning'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface Watchdog {
  /** What stood still at the last look. */
  standing(): readonly Standing[];
  stop(): Promise<void>;
}

const lookEveryMs = 5_000;
/** Then an engine that doesn't answer counts as one that can't be asked: a look ends before the next is due. */
const answerMaxMs = 4_000;
/** The longest time between two looks that counts as time in which something could have moved: beyond it the process itself slept. */
const elapsedMaxMs = 2 * lookEveryMs;
const stillMaxMs = 30_000;
/** A reason of its own: the one that Node makes has a stack, which takes longer than all the rest. */
const hasAnswered = 'answered';

export function startWatchdog(deps: WatchdogDependencies): Watchdog {
  const { feeds, clock, metrics } = deps;
  const standstill = createStandstill(stillMaxMs);
  const say = createSaying(deps);
  const stopping = new AbortController();
  let standing: readonly Standing[] = [];
  let backlogs: ReadonlyMap<string, number> = new Map();
  for (const { group } of feeds) {
    metrics.increment('herald_stalls_total', { group }, 0);
    const numbers = () => numbersOf(standing, group).size;
    metrics.gauge('herald_standing_still', numbers, { group });
    metrics.gauge('herald_backlog', () => backlogs.get(group) ?? 0, { group });
  }

  const run = async (): Promise<void> => {
    let lookedAt = clock.monotonic();
    while (!stopping.signal.aborted) {
      const asking = askingOf(deps);
      const sightings = (await Promise.all(feeds.map((feed) => feed.look(asking)))).flat();
      if (stopping.signal.aborted) return;
      const now = clock.monotonic();
      standing = standstill.look(Math.min(now - lookedAt, elapsedMaxMs), sightings);
      lookedAt = now;
      backlogs = backlogsOf(sightings);
      say(standing);
      await clock.sleep(lookEveryMs, stopping.signal);
    }
  };
  const running = run();
  return {
    standing: () => standing,
    stop() {
      stopping.abort();
      return running;
    },
  };
}

function askingOf({ log, clock }: Pick<WatchdogDependencies, 'log' | 'clock'>): Asking {
  const asked = new Map<Topic, Promise<readonly (number | null)[] | null>>();
  const within = async <T>(work: Promise<T>): Promise<T | null> => {
    const answered = new AbortController();
    const late = clock.sleep(answerMaxMs, answered.signal).then(() => null);
    try {
      return await Promise.race([work, late]);
    } catch {
      // Why it can't be asked is told by whoever needs it.
      return null;
    } finally {
      answered.abort(hasAnswered);
    }
  };
  /** One number of which the log can't say takes nothing from the others: then each is asked for by itself. */
  const endsOf = (topic: Topic): Promise<readonly (number | null)[]> =>
    log.ends(topic).catch(() => Promise.all(allNumbers(log).map((number) => endOf(topic, number))));
  const endOf = (topic: Topic, number: number): Promise<number | null> =>
    log.ends(topic, [number]).then(
      (ends) => ends[number] ?? null,
      () => null,
    );
  return {
    within,
    ends(topic) {
      const known = asked.get(topic) ?? within(endsOf(topic));
      asked.set(topic, known);
      return known;
    },
  };
}

/** One line a group when numbers begin to stand still and one when they move again; the counter goes up for every 30 s of each number. */
function createSaying({ feeds, logger, metrics }: WatchdogDependencies): (standing: readonly Standing[]) => void {
  /** By group and number: how often it was counted. */
  const counted = new Map<string, Map<number, number>>(feeds.map(({ group }) => [group, new Map<number, number>()]));
  return (standing) => {
    for (const [group, before] of counted) {
      const now = numbersOf(standing, group);
      const begun = [...now.keys()].filter((partition) => !before.has(partition));
      const ended = [...before.keys()].filter((partition) => !now.has(partition));
      for (const [partition, { stillMs }] of now) {
        const times = Math.floor(stillMs / stillMaxMs);
        metrics.increment('herald_stalls_total', { group }, Math.max(0, times - (before.get(partition) ?? 0)));
        before.set(partition, times);
      }
      for (const partition of ended) before.delete(partition);
      if (begun.length > 0) {
        const parts = standing.filter((of) => of.group === group && begun.includes(of.partition));
        logger.error('partition numbers stand still', {
          group,
          partitions: begun,
          parts: parts.slice(0, partsSaidMax),
        });
      }
      if (ended.length > 0) logger.info('partition numbers move again', { group, partitions: ended });
    }
  };
}

/** Timers aren't events: what is due of them is a time. */
function backlogsOf(sightings: readonly Sighting[]): ReadonlyMap<string, number> {
  const backlogs = new Map<string, number>();
  for (const { group, end, position, countsEvents } of sightings) {
    if (!countsEvents || end === null || position === null) continue;
    backlogs.set(group, (backlogs.get(group) ?? 0) + Math.max(0, end - position));
  }
  return backlogs;
}

const partsSaidMax = 12;

/** The numbers of a group that stand still, each by the part that has for longest. */
function numbersOf(standing: readonly Standing[], group: string): ReadonlyMap<number, Standing> {
  const numbers = new Map<number, Standing>();
  for (const one of standing) {
    if (one.group !== group || one.stillMs <= (numbers.get(one.partition)?.stillMs ?? 0)) continue;
    numbers.set(one.partition, one);
  }
  return numbers;
}
