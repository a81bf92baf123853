// One process of Herald in a world: the real dispatcher, scheduler and projector, on its own machine.

import { cancelNotification } from '../../src/commands/cancel-notification.ts';
import { followErasures } from '../../src/adapters/kafka/erasures.ts';
import { eraseNotifications } from '../../src/commands/erase-notifications.ts';
import { eraseRecords } from '../../src/commands/erase-records.ts';
import { forgetOfTenant } from '../../src/commands/erase-tenant.ts';
import { retryNotification } from '../../src/commands/retry-notification.ts';
import { dispatcherGroup, runDispatcher } from '../../src/dispatchers/dispatcher.ts';
import { createErasures } from '../../src/domain/erasure.ts';
import type { RetryPolicy } from '../../src/domain/retry-policy.ts';
import { allTopics } from '../../src/domain/topics.ts';
import { runJobs } from '../../src/jobs/runner.ts';
import type { EventLog } from '../../src/ports/event-log.ts';
import { wholeTurns } from '../../src/ports/thread-turns.ts';
import { cancelsAsked, roundsEnded } from '../../src/projections/timers/queries.ts';
import { projectedReadModels } from '../../src/projections/index.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import type { ReadModel } from '../../src/projections/read-model.ts';
import { runProjector } from '../../src/projections/projector.ts';
import { runLiveRebuilds } from '../../src/projections/live-rebuild.ts';
import { runScheduler } from '../../src/scheduler/index.ts';
import type { Metrics } from '../../src/ports/metrics.ts';
import { createRandom } from '../chaos/random.ts';
import { secretBox, tenantErasing } from './erasures.ts';
import type { SharedJobs } from './jobs.ts';
import { createSimulatedJobs } from './jobs.ts';
import type { AcceptKeyed } from './keys.ts';
import { createKeyedAccepting } from './keys.ts';
import { createSimulatedLog } from './log.ts';
import type { Machine } from './machine.ts';
import { createMachine } from './machine.ts';
import { createDirectory, createLimiter, createReceivers } from './receivers.ts';
import { createSimulatedStore, throwIfAway } from './store.ts';
import type { OfNext } from './versions.ts';
import { createVersions } from './versions.ts';
import { startRetention } from './retention.ts';
import type { World } from './world.ts';

export interface Node {
  readonly machine: Machine;
  /** null: nobody asks it with a key. */
  readonly acceptKeyed: AcceptKeyed | null;
  /** As by SIGTERM: resolves when it has ended. */
  stop(): Promise<void>;
}

/** Of the dispatchers. */
export function groupOf({ channel }: Pick<World['plan'], 'channel'>): string {
  return dispatcherGroup(channel);
}

const noMetrics: Metrics = { increment() {}, observe() {}, gauge() {}, gauges() {} };

export function startNode(world: World, name: string): Node {
  const { plan, time, random, trace, brokers, partitioning, tenants, faults, witness, sizeOf } = world;
  const machine = createMachine({ name, time, random, trace, aheadMs: clockOf(world, name) });
  trace(name, 'starts');
  const { clock } = machine;
  const logger = witness.loggerOf(name);
  const { channel } = plan;
  const group = groupOf(plan);
  const erasures = plan.erasures.length === 0 ? null : createErasures();
  if (erasures !== null) witness.erasures.knows(name, erasures);
  const log = createSimulatedLog({
    machine,
    brokers,
    partitioning,
    time,
    random,
    trace,
    logger,
    faults,
    erasures,
    sizeOf,
    onOwned: (of, claim) => {
      if (of === group) witness.owned(machine, claim);
    },
    onHeard: (of) => {
      if (of === group) witness.heard(name);
    },
  });
  const { store, versions } = createStores(world, machine);
  const common = { log, clock, logger, metrics: noMetrics };
  const start = () => [
    runDispatcher({
      ...common,
      channel,
      directory: createDirectory({ channel, machine, tenants, time, random, faults, settingsMs: plan.settingsMs }),
      providers: createReceivers({ channel, machine, tenants, time, random, witness, healedAt: plan.healedAt }),
      retryPolicy: retryPolicyOf(plan.retryDelaysMs),
      limiter: createLimiter(machine, world.takeRate, witness),
      cancels: { asked: (...of) => cancelsAsked(store, ...of), ended: (...of) => roundsEnded(store, ...of) },
      limits: {
        inFlightMax: plan.inFlightMax,
        inFlightHighOnly: plan.inFlightHighOnly,
        inFlightPerTenantProviderMax: plan.inFlightPerTenantMax,
        attemptDeadlineMs,
        startsPerTurn: 8,
        account: plan.account,
      },
    }),
    // So few are due at once that tenants take turns often.
    runScheduler({ ...common, store, decidedAtOnce: { page: 2, inTurns: 2 } }),
    ...(world.jobs === null
      ? []
      : [
          Promise.resolve(
            runJobs({ ...common, ...jobDependenciesOf(world, { machine, log, shared: world.jobs }), reader: store }),
          ),
        ]),
    ...(plan.retention === null ? [] : [startRetention(world, { machine, ...common, reader: store })]),
    // Whatever is late or not: all that was looked at before its turn is folded again when that comes.
    ...projectedBy(plan).map((readModel) =>
      runProjector({ ...common, store, readModel, keepsOthers: ({ length }) => length > 2 }),
    ),
    ...(plan.rebuilds.length === 0
      ? []
      : [
          Promise.resolve(
            runLiveRebuilds({
              ...common,
              store: { ...store, ...versions },
              readModel: rebuiltReadModel,
              filling: new Map(),
              oldKeptMs: 1_000,
            }),
          ),
        ]),
  ];
  const parts =
    erasures === null
      ? Promise.all(start())
      : followErasures(log, allTopics, { clock, logger }).then(() => Promise.all(start()));
  const { keys: shared } = world;
  return {
    machine,
    acceptKeyed: shared === null ? null : createKeyedAccepting(world, { machine, shared, log, store, logger }),
    async stop() {
      trace(name, 'is stopped');
      const running = await parts;
      await Promise.all(running.map((part) => part.stop()));
      await log.close();
      machine.kill();
    },
  };
}

/** The read models as a process sees them, and what becomes of their versions. */
export function createStores(world: World, machine: Machine) {
  const { plan, stored, time, random, faults, witness } = world;
  const storeOf = (ofNext: OfNext | null) => createSimulatedStore({ machine, stored, time, random, faults, ofNext });
  const ask = <T>(serve: () => T): Promise<T> =>
    machine.ask(() => {
      throwIfAway({ time, random, faults });
      return serve();
    });
  const versions = createVersions({ stored, partitions: plan.partitions, ask, storeOf, fault: witness.fault });
  return { store: storeOf(null), versions };
}

/** What is rebuilt while it serves, where anything is. */
export const rebuiltReadModel = notificationsReadModel;

/** Beside the timers, which the scheduler folds. What is erased or forgotten has to go from all of them. */
export function projectedBy({ hasProjector, erasures, retention }: World['plan']): readonly ReadModel[] {
  if (erasures.length > 0 || retention !== null) return projectedReadModels;
  return hasProjector ? [notificationsReadModel] : [];
}

function jobDependenciesOf(
  { time, random, faults }: World,
  { machine, log, shared }: { readonly machine: Machine; readonly log: EventLog; readonly shared: SharedJobs },
) {
  const { clock } = machine;
  const jobs = createSimulatedJobs({ machine, shared, time, random, faults });
  return {
    jobs,
    turns: wholeTurns,
    secretBox,
    bytes: null,
    commands: {
      retryNotification: retryNotification({ log, clock }),
      cancelNotification: cancelNotification({ log, clock }),
      eraseNotifications: eraseNotifications({ log, clock }),
      eraseRecords: eraseRecords({ log, clock }),
      eraseTenant: tenantErasing({ machine, log, jobs }),
      forgetOfTenant: forgetOfTenant({ log, clock }),
    },
  };
}

/** How far ahead a process' clock is: some are right, and some are set right while it runs, before all is well. */
function clockOf({ plan, time }: World, name: string): () => number {
  const random = createRandom(Math.imul(plan.seed, 0x9e37_79b1) ^ Number(name.slice(1)));
  const aheadMs = random.of([0, 0.5, 1]) * plan.clocksMs;
  const rightFrom = random.of([Infinity, random.next() * plan.healedAt]);
  return () => (time.now < rightFrom ? aheadMs : 0);
}

const attemptDeadlineMs = 900;

function retryPolicyOf(delaysMs: readonly number[]): RetryPolicy {
  return { delaysMs: { EMAIL: delaysMs, SMS: delaysMs, WEBHOOK: delaysMs, IN_APP: delaysMs }, jitter: 0.2 };
}
