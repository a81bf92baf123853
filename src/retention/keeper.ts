// Retention: one process has each partition number, as members of a group have it, and passes over it again and again.

import type { TenantId } from '../domain/ids.ts';
import { partitionsOfTenant, retentionTopic } from '../domain/topics.ts';
import type { Topic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { Claim, EventLog } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import type { SettingsStore } from '../ports/settings-store.ts';
import { notificationsReadModel } from '../projections/notifications/index.ts';
import { createReach } from '../projections/reach.ts';
import type { Reach } from '../projections/reach.ts';
import { horizonAt, lookBackEveryMs, restOf } from './horizon.ts';
import type { Retention } from './horizon.ts';
import type { Looked } from './end-of-older.ts';
import { passOver } from './pass.ts';
import { forgetPreviousKeys } from './previous-keys.ts';

export interface KeeperDependencies {
  readonly log: EventLog;
  readonly reader: ReadModelReader;
  readonly settings: Pick<SettingsStore, 'retentions' | 'forgetPreviousKeys'>;
  readonly retention: Retention;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** What a number is at, for the watchdog. */
export interface KeeperState {
  readonly partition: number;
  /** Goes up with whatever was done. */
  readonly moves: number;
  /** The last pass was done to its end and the next one isn't due, or the records aren't so far yet, of which others tell. */
  readonly rests: boolean;
}

export interface Keeper {
  states(): readonly KeeperState[];
  stop(): Promise<void>;
}

export const retentionGroup = 'retention';

/** Where nothing is to go, how often it is looked whether a tenant has a retention of its own by now. */
const idleMs = 60_000;
/** After a pass that failed, or could not be done yet: a sixth of the time after which a number counts as standing still. */
const againMs = 5_000;

interface Number {
  readonly partition: number;
  moves: number;
  rests: boolean;
  /** By the wall clock: up to when all that was to go is gone. */
  doneTo: number;
}

export async function startKeeper(deps: KeeperDependencies): Promise<Keeper> {
  const { log, clock, metrics, retention } = deps;
  const numbers = new Map<number, Number>();
  const loops = new Set<Promise<void>>();
  const inTurn = createTurn(clock);
  const reach = createReach({ log, readModel: notificationsReadModel });
  const inForce = { shortestMs: Math.min(retention.keptMs ?? Infinity, retention.statisticsMs ?? Infinity) };
  metrics.increment('herald_forgotten_total', {}, 0);
  // Of files of our own; an engine elsewhere keeps its own house.
  for (const file of ['log', 'views']) metrics.increment('herald_given_back_bytes_total', { file }, 0);
  metrics.increment('herald_trimmed_events_total', {}, 0);
  metrics.gauge('herald_retention_horizon_seconds', () => (horizonAt(clock.now(), retention.keptMs) ?? 0) / 1000);
  metrics.gauge('herald_retention_lag_seconds', () => {
    const lags = [...numbers.values()].map(({ doneTo }) => clock.now() - doneTo - restWhere(inForce.shortestMs));
    return Math.max(0, ...lags) / 1000;
  });
  metrics.gauge('herald_retention_seconds', () => (inForce.shortestMs === Infinity ? 0 : inForce.shortestMs / 1000));
  const consumer = await log.consume({
    group: retentionGroup,
    topics: [retentionTopic],
    owned(claim) {
      const number = { partition: claim.partition, moves: 0, rests: false, doneTo: clock.now() };
      numbers.set(claim.partition, number);
      const loop: Promise<void> = keep({ ...deps, inTurn, inForce, reach }, claim, number).finally(() => {
        loops.delete(loop);
        if (numbers.get(claim.partition) === number) numbers.delete(claim.partition);
      });
      loops.add(loop);
      if (claim.partition !== 0) return;
      const forgetting: Promise<void> = forgetPreviousKeys(deps, claim).finally(() => void loops.delete(forgetting));
      loops.add(forgetting);
    },
    lost() {
      // The claim's signal ends its loop; what it says too late doesn't count.
    },
  });
  return {
    states: () => [...numbers.values()],
    async stop() {
      await consumer.stop();
      await Promise.all(loops);
    },
  };
}

interface KeepDependencies extends KeeperDependencies {
  /** Of everybody and of tenants of their own, the shortest of all; Infinity: there is none. */
  readonly inForce: { shortestMs: number };
  readonly reach: Reach;
  inTurn<T>(work: () => Promise<T>): Promise<T>;
}

/** Never rejects; ends with the claim. */
async function keep(deps: KeepDependencies, claim: Claim, number: Number): Promise<void> {
  const { clock, logger, settings, retention, inForce } = deps;
  const { partition, signal } = claim;
  const settled = new Map<Topic, number>();
  const looked = new Map<Topic, Looked>();
  let lookedBackAt = clock.monotonic();
  const moved = () => void number.moves++;
  while (!signal.aborted) {
    const now = clock.now();
    number.rests = false;
    let isDone = false;
    try {
      const own = await settings.retentions();
      const shortest = Math.min(retention.keptMs ?? Infinity, retention.statisticsMs ?? Infinity, ...own.values());
      inForce.shortestMs = shortest;
      if (shortest !== Infinity && clock.monotonic() - lookedBackAt > lookBackEveryMs(shortest)) {
        settled.clear();
        looked.clear();
        lookedBackAt = clock.monotonic();
      }
      const tenants = tenantsOf(own, retention, { now, partition, partitioning: deps.log.partitioning });
      const horizon = horizonAt(now, retention.keptMs);
      const statisticsHorizon = horizonAt(now, retention.statisticsMs);
      const of = { partition, signal, horizon, statisticsHorizon, tenants, settled, looked };
      isDone = shortest === Infinity || (await passOver({ ...deps, moved }, of));
      if (isDone) {
        number.doneTo = now;
        moved();
      }
      number.rests = true;
    } catch (err) {
      if (!signal.aborted) logger.error('retention stands still', { partition, err });
    }
    const restMs = restWhere(inForce.shortestMs);
    await clock.sleep(isDone ? restMs : Math.min(restMs, againMs), signal);
  }
}

function restWhere(shortestMs: number): number {
  return shortestMs === Infinity ? idleMs : restOf(shortestMs);
}

/** Those of the number whose own retention is shorter than everybody's, and their horizons. */
function tenantsOf(
  own: ReadonlyMap<TenantId, number>,
  { keptMs }: Retention,
  of: { readonly now: number; readonly partition: number; readonly partitioning: EventLog['partitioning'] },
): Map<TenantId, number> {
  const shorter = [...own].filter(
    ([id, ms]) => ms < (keptMs ?? Infinity) && partitionsOfTenant(id, of.partitioning).includes(of.partition),
  );
  return new Map(shorter.map(([id, ms]) => [id, of.now - ms]));
}

/** Of one after another, and then the thread is everybody else's for as long. */
function createTurn(clock: Clock): KeepDependencies['inTurn'] {
  let before: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = before.then(async () => {
      const begunAt = clock.monotonic();
      try {
        return await work();
      } finally {
        await clock.sleep(Math.min(clock.monotonic() - begunAt, restMaxMs));
      }
    });
    before = done.catch(() => undefined);
    return done;
  };
}

const restMaxMs = 1000;
