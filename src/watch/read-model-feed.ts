// What the watchdog is fed with of a read model: how far each of its partition numbers is folded, and whether that stands.

import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import { createReach } from '../projections/reach.ts';
import type { ReadModel } from '../projections/read-model.ts';
import { createLag } from './lag.ts';
import type { Lag } from './lag.ts';
import { numbersOf } from './numbers.ts';
import type { Sighting } from './standstill.ts';
import type { Asking, Feed } from './watchdog.ts';

/**
 * The position of a read model that has stood since the look before is looked after: what follows it may not be wanted, or be gone. A look
 * takes so long for that, and reads no event twice; under load positions move and nothing is read.
 */
const doubtAfterMs = 4_000;
const doubtMaxMs = 2_000;

/** What is filled beside another is behind by its nature, and tells of itself (`projections/filling.ts`): nobody is answered from it, so a process is ready without. */
export type ReadModelUse = 'serves' | 'is not used';

/** Also measures how far the read model is behind, in `herald_projector_lag`. */
export function readModelFeed(of: {
  readonly reader: Pick<ReadModelReader, 'positions'>;
  readonly log: Pick<EventLog, 'partitioning' | 'read'>;
  readonly readModel: ReadModel;
  /** Rejects when the store is away. */
  use(): Promise<ReadModelUse>;
  readonly group: string;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** ms since when the oldest event that this process has in hand is in the log; 0: it has none. */
  oldestInHandMs(): number;
}): Feed {
  const { reader, log, readModel, group, clock, metrics } = of;
  const { topics, definition } = readModel;
  const lags = new Map<string, Lag>();
  const reach = createReach({ log, readModel });
  let lagMs = 0;
  let serves = true;
  const measured = () => (serves ? Math.max(lagMs, of.oldestInHandMs()) / 1000 : 0);
  metrics.gauge('herald_projector_lag', measured, { read_model: definition.name });

  const lagOf = ({ part, partition, end, position }: Sighting): number => {
    const key = `${part} ${partition}`;
    const lag = lags.get(key) ?? createLag();
    lags.set(key, lag);
    return lag.note(clock.monotonic(), end, position);
  };

  const lookAt = async (partition: number, asking: Asking): Promise<Sighting[]> => {
    const offsets = await asking.within(reader.positions(definition.name, partition));
    const ends = await Promise.all(topics.map((topic) => asking.ends(topic)));
    return topics.map((topic, i) => ({
      group,
      partition,
      part: topic,
      end: ends[i]?.[partition] ?? null,
      position: offsets === null ? null : (offsets.get(topic) ?? 0),
      countsEvents: true,
      marks: [],
      isUnderWay: false,
      // Topics are folded side by side as they grew: one may wait for any other.
      after: topics.filter((other) => other !== topic),
    }));
  };

  const doubted = createDoubt(clock);

  /** One after another, as far as there is time: the next look goes on. */
  const reachOf = async (stored: readonly Sighting[], asking: Asking): Promise<readonly Sighting[]> => {
    const until = clock.monotonic() + doubtMaxMs;
    const sightings: Sighting[] = [];
    for (const sighting of stored) {
      const { part: topic, partition, position, end } = sighting;
      const isDoubted = doubted(sighting) && clock.monotonic() < until;
      const reached =
        isDoubted && position !== null && end !== null
          ? await asking.within(reach.reached({ topic, partition }, position, end))
          : null;
      sightings.push({ ...sighting, position: reached ?? position });
    }
    return sightings;
  };

  return {
    group,
    async look(asking) {
      const use = (await asking.within(of.use())) ?? 'serves';
      serves = use === 'serves';
      if (use === 'is not used') return [];
      const stored = (await Promise.all(numbersOf(log).map((partition) => lookAt(partition, asking)))).flat();
      const sightings = await reachOf(stored, asking);
      lagMs = Math.max(0, ...sightings.map(lagOf));
      return sightings;
    },
  };
}

/** Whether a stored position is behind and hasn't moved for a while. */
function createDoubt(clock: Clock): (sighting: Sighting) => boolean {
  const stood = new Map<string, { readonly position: number; readonly since: number }>();
  return ({ part, partition, position, end }) => {
    if (position === null || end === null || position >= end) return false;
    const key = `${part} ${partition}`;
    const before = stood.get(key);
    if (before?.position === position) return clock.monotonic() - before.since >= doubtAfterMs;
    stood.set(key, { position, since: clock.monotonic() });
    return false;
  };
}
