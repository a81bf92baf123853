// One process of Herald in a world: the real dispatcher, scheduler and projector, on its own machine.

import { cancelNotification } from '../../src/commands/cancel-notification.ts';
import { createSecretBox } from '../../src/adapters/node/secret-box.ts';
import { eraseNotifications } from '../../src/commands/erase-notifications.ts';
import { eraseRecords } from '../../src/commands/erase-records.ts';
import { forgetOfTenant } from '../../src/commands/erase-tenant.ts';
import { retryNotification } from '../../src/commands/retry-notification.ts';
import { dispatcherGroup, runDispatcher } from '../../src/dispatchers/dispatcher.ts';
import type { RetryPolicy } from '../../src/domain/retry-policy.ts';
import { runJobs } from '../../src/jobs/runner.ts';
import type { EventLog } from '../../src/ports/event-log.ts';
import { wholeTurns } from '../../src/ports/thread-turns.ts';
import { cancelsAsked } from '../../src/projections/timers/queries.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import { runProjector } from '../../src/projections/projector.ts';
import { runScheduler } from '../../src/scheduler/index.ts';
import type { Metrics } from '../../src/ports/metrics.ts';
import type { SharedJobs } from './jobs.ts';
import { createSimulatedJobs } from './jobs.ts';
import { createSimulatedLog } from './log.ts';
import type { Machine } from './machine.ts';
import { createMachine } from './machine.ts';
import { createDirectory, createLimiter, createReceivers } from './receivers.ts';
import { createSimulatedStore } from './store.ts';
import type { World } from './world.ts';

export interface Node {
  readonly machine: Machine;
  /** As by SIGTERM: resolves when it has ended. */
  stop(): Promise<void>;
}

export const channel = 'WEBHOOK';
export const group = dispatcherGroup(channel);

const noMetrics: Metrics = { increment() {}, observe() {}, gauge() {}, gauges() {} };

export function startNode(world: World, name: string): Node {
  const { plan, time, random, trace, brokers, partitioning, tenants, faults, witness, stored, sizeOf } = world;
  const machine = createMachine({ name, time, random, trace });
  trace(name, 'starts');
  const { clock } = machine;
  const logger = witness.loggerOf(name);
  const log = createSimulatedLog({
    machine,
    brokers,
    partitioning,
    time,
    random,
    trace,
    logger,
    faults,
    sizeOf,
    onOwned: (of, claim) => {
      if (of === group) witness.owned(machine, claim);
    },
    onHeard: (of) => {
      if (of === group) witness.heard(name);
    },
  });
  const store = createSimulatedStore({ machine, stored, time, random, faults });
  const common = { log, clock, logger, metrics: noMetrics };
  const parts = [
    runDispatcher({
      ...common,
      channel,
      directory: createDirectory({ machine, tenants, time, random, faults, settingsMs: plan.settingsMs }),
      providers: createReceivers({ machine, tenants, time, random, witness, healedAt: plan.healedAt }),
      retryPolicy: retryPolicyOf(plan.retryDelaysMs),
      limiter: createLimiter(machine, world.takeRate, witness),
      cancels: { asked: (partition) => cancelsAsked(store, partition) },
      limits: {
        inFlightMax: plan.inFlightMax,
        inFlightHighOnly: plan.inFlightHighOnly,
        inFlightPerTenantProviderMax: plan.inFlightPerTenantMax,
        attemptDeadlineMs,
        startsPerTurn: 8,
      },
    }),
    runScheduler({ ...common, store }),
    ...(world.jobs === null
      ? []
      : [
          Promise.resolve(
            runJobs({ ...common, ...jobDependenciesOf(world, { machine, log, shared: world.jobs }), reader: store }),
          ),
        ]),
    ...(plan.hasProjector ? [runProjector({ ...common, store, readModel: notificationsReadModel })] : []),
  ];
  return {
    machine,
    async stop() {
      trace(name, 'is stopped');
      const running = await Promise.all(parts);
      await Promise.all(running.map((part) => part.stop()));
      await log.close();
      machine.kill();
    },
  };
}

function jobDependenciesOf(
  { time, random, faults }: World,
  { machine, log, shared }: { readonly machine: Machine; readonly log: EventLog; readonly shared: SharedJobs },
) {
  const { clock } = machine;
  return {
    jobs: createSimulatedJobs({ machine, shared, time, random, faults }),
    turns: wholeTurns,
    secretBox: createSecretBox('a secret of the simulated worlds'),
    bytes: null,
    commands: {
      retryNotification: retryNotification({ log, clock }),
      cancelNotification: cancelNotification({ log, clock }),
      eraseNotifications: eraseNotifications({ log, clock }),
      eraseRecords: eraseRecords({ log, clock }),
      // Nobody asks for it here.
      eraseTenant: () => Promise.reject(new Error('no tenant is erased in simulated worlds')),
      forgetOfTenant: forgetOfTenant({ log, clock }),
    },
  };
}

const attemptDeadlineMs = 1_500;

function retryPolicyOf(delaysMs: readonly number[]): RetryPolicy {
  return { delaysMs: { EMAIL: delaysMs, SMS: delaysMs, WEBHOOK: delaysMs, IN_APP: delaysMs }, jitter: 0.2 };
}
