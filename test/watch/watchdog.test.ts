// The watchdog over real projectors, a real scheduler and the SQLite engines, at sixty times the speed of the clock: whatever makes a number stand still,
// it is said, counted and shown, and it is over when the number moves.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { TenantId } from '../../src/domain/ids.ts';
import { workTopic } from '../../src/domain/topics.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { EventLog } from '../../src/ports/event-log.ts';
import type { LogFields, Logger } from '../../src/ports/logger.ts';
import type { Metrics } from '../../src/ports/metrics.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import { projectorGroup, runProjector } from '../../src/projections/projector.ts';
import type { ReadModel } from '../../src/projections/read-model.ts';
import { timersReadModel } from '../../src/projections/timers/index.ts';
import { runScheduler } from '../../src/scheduler/index.ts';
import type { Activity } from '../../src/watch/feeds.ts';
import { retentionGroup, startKeeper } from '../../src/retention/keeper.ts';
import { dispatcherFeed, retentionFeed, timersFeed } from '../../src/watch/feeds.ts';
import { readModelFeed } from '../../src/watch/read-model-feed.ts';
import type { Feed, Watchdog } from '../../src/watch/watchdog.ts';
import { startWatchdog } from '../../src/watch/watchdog.ts';
import type { Engines } from '../projections/engines.ts';
import { appendAll, openEngines } from '../projections/engines.ts';
import type { Plan } from '../projections/histories.ts';
import { lifeOf, partition } from '../projections/histories.ts';
import { until } from '../support/until.ts';

const times = 60;
const notifications = projectorGroup('notifications_2');
const timers = projectorGroup('timers');
const plan: Plan = {
  tenant: 0,
  channel: 'EMAIL',
  priority: 'HIGH',
  recipient: 0,
  template: false,
  requestedAfterMs: 0,
  isScheduled: false,
  isCancelled: false,
  steps: ['succeeded'],
  isRetriedByHand: false,
  isRead: false,
};

let engines: Engines;
let lines: { message: string; fields: LogFields }[];
let looks: number;
let counted: Map<string, number>;
let gauges: Map<string, () => number>;
const running: { stop(): Promise<void> }[] = [];

beforeEach(async () => {
  engines = await openEngines();
  [lines, looks, counted, gauges] = [[], 0, new Map(), new Map()];
});

afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => one.stop()));
  await engines.close();
});

describe('a number of a read model', () => {
  it('that nobody takes stands still: said, counted and shown, until somebody takes it', async () => {
    const { log } = engines;
    // As a group whose member was given the number and never began: no owner, no failure, no line.
    const untold: EventLog = {
      ...log,
      consume: (options) =>
        log.consume({ ...options, owned: (claim) => void (claim.partition !== partition && options.owned(claim)) }),
    };
    const idle = await runProjector({ ...engines, log: untold, readModel: notificationsReadModel });
    const watchdog = watch([notificationsFeed()]);
    await append(1);
    await standsStill(watchdog, notifications);
    expect(counted.get(`herald_stalls_total ${notifications}`)).toBeGreaterThanOrEqual(1);
    expect(gauges.get(`herald_standing_still ${notifications}`)?.()).toBe(1);
    expect(gauges.get('herald_projector_lag notifications_2')?.()).toBeGreaterThanOrEqual(25);
    await idle.stop();
    running.push(await runProjector({ ...engines, readModel: notificationsReadModel }));
    await movesAgain(watchdog, notifications);
    await until(() => gauges.get('herald_projector_lag notifications_2')?.() === 0);
  });

  it('whose loop has ended stands still, though its claim goes on', async () => {
    const { store } = engines;
    const endless = new Promise<never>(() => undefined);
    // Never stopped: it wouldn't end.
    await runProjector({
      ...engines,
      // A loop that returns and one that never does look the same from here.
      store: { ...store, own: (name, number, by) => (number === partition ? endless : store.own(name, number, by)) },
      readModel: notificationsReadModel,
    });
    const watchdog = watch([notificationsFeed()]);
    await append(1);
    await standsStill(watchdog, notifications);
  });

  it('whose store hangs stands still', async () => {
    const hang = Promise.withResolvers<void>();
    const { store } = engines;
    running.push(
      await runProjector({
        ...engines,
        store: { ...store, transact: (...args) => hang.promise.then(() => store.transact(...args)) },
        readModel: notificationsReadModel,
      }),
    );
    const watchdog = watch([notificationsFeed()]);
    await append(1);
    await standsStill(watchdog, notifications);
    hang.resolve();
    await movesAgain(watchdog, notifications);
  });

  it('stands still where neither log nor store answers, and the lag grows meanwhile', async () => {
    running.push(await runProjector({ ...engines, readModel: notificationsReadModel }));
    await append(1);
    let isFrozen = false;
    const frozen = <T>(ask: () => Promise<T>): Promise<T> => (isFrozen ? new Promise<T>(() => undefined) : ask());
    const { log, store } = engines;
    const watchdog = watch([notificationsFeed((of, number) => frozen(() => store.positions(of, number)))], {
      partitioning: log.partitioning,
      ends: (topic) => frozen(() => log.ends(topic)),
    });
    await until(() => looks > 3);
    expect(watchdog.standing()).toEqual([]);
    isFrozen = true;
    await until(() => watchdog.standing().length > 0, { what: 'a standstill' });
    expect(gauges.get('herald_projector_lag notifications_2')?.()).toBeGreaterThanOrEqual(25);
    isFrozen = false;
    await until(() => watchdog.standing().length === 0, { what: 'its end' });
  });

  it('stands still by itself where the log can not say where it ends alone: of the others it can', async () => {
    running.push(await runProjector({ ...engines, readModel: notificationsReadModel }));
    const { log } = engines;
    let hasLeader = false;
    const watchdog = watch([notificationsFeed()], {
      partitioning: log.partitioning,
      ends: async (topic, numbers = [partition]) => {
        if (!hasLeader && numbers.includes(partition)) throw new Error('no broker leads it');
        return log.ends(topic);
      },
    });
    await standsStill(watchdog, notifications);
    hasLeader = true;
    await movesAgain(watchdog, notifications);
  });

  it('that keeps up under a trickle, and one with nothing to do, never stand still', async () => {
    running.push(await runProjector({ ...engines, readModel: notificationsReadModel }));
    const watchdog = watch([notificationsFeed()]);
    for (let look = 1; look <= 12; look++) {
      await append(look);
      await until(() => looks > look);
    }
    expect([watchdog.standing(), lines]).toEqual([[], []]);
  });
});

describe('a number of a read model that wants some types alone', () => {
  it('does not stand still where only others follow its position, and does where one that it wants is not folded', async () => {
    const { log } = engines;
    running.push(await runProjector({ ...engines, readModel: timersReadModel }));
    const watchdog = watch([feedOf(timersReadModel)]);
    // Requests alone: no timer follows from them, and its position stays where it is.
    for (let i = 1; i <= 20; i++) await appendAll(log, lifeOf({ ...plan, steps: [] }, i));
    await until(() => looks > 14);
    expect(watchdog.standing()).toEqual([]);
    expect(gauges.get('herald_projector_lag timers')?.()).toBe(0);
    await running.shift()?.stop();
    await appendAll(log, lifeOf({ ...plan, steps: ['retry'] }, 21).slice(0, 2));
    await standsStill(watchdog, timers);
    running.push(await runProjector({ ...engines, readModel: timersReadModel }));
    await movesAgain(watchdog, timers);
  });
});

describe('timers', () => {
  it('that are due and do not fire stand still; those of the future do not', async () => {
    const waiting = lifeOf({ ...plan, steps: ['retry'] }, 1);
    const dueAt = Math.max(...waiting.map((event) => ('retryAt' in event ? (event.retryAt ?? 0) : 0)));
    let now = dueAt - 1000;
    const projector = await runProjector({ ...engines, readModel: timersReadModel });
    const watchdog = watch([timersOnly(() => now)]);
    await appendAll(engines.log, waiting.slice(0, 2));
    await until(() => looks > 8);
    expect(watchdog.standing()).toEqual([]);
    now = dueAt + 100_000;
    // Folded by a projector that decides nothing: as a scheduler whose loop has ended.
    await standsStill(watchdog, timers);
    await projector.stop();
    running.push(await runScheduler(engines));
    await movesAgain(watchdog, timers);
  });
});

describe('a dispatcher', () => {
  const topics = (['HIGH', 'DEFAULT', 'BULK'] as const).map((priority) => workTopic('EMAIL', priority));
  const group = 'dispatcher-email';

  it('that commits nothing stands still, unless it begins or finishes something or attempts are in flight', async () => {
    const { log } = engines;
    const committed = async () => log.ends('notifications.email.high').then((ends) => ends.map(nothingDone));
    let activity: Activity[] = [];
    const watchdog = watch([dispatcherFeed({ log: { ...log, committed }, group, topics, activity: () => activity })]);
    await append(1);
    const of = { topic: topics[0] ?? '', partition };
    activity = [{ ...of, moves: 0, readTo: 1, isUnderWay: true }];
    await until(() => looks > 10);
    expect(watchdog.standing()).toEqual([]);
    activity = [{ ...of, moves: 0, readTo: 1, isUnderWay: false }];
    await standsStill(watchdog, group);
    activity = [{ ...of, moves: 1, readTo: 1, isUnderWay: false }];
    await movesAgain(watchdog, group);
  });

  it('that reads a number no further stands still, whatever moves of what it has read, until it reads on', async () => {
    const { log } = engines;
    const topic = topics[0] ?? '';
    // Each look sees tenants that are kept waiting looked after, and attempts that end.
    const committed = async () => log.ends(topic).then((ends) => ends.map(() => ({ offset: 0, metadata: `${looks}` })));
    let readTo = 1;
    const activity = () => [{ topic, partition, moves: looks, readTo, isUnderWay: true }];
    const watchdog = watch([dispatcherFeed({ log: { ...log, committed }, group, topics, activity })]);
    await append(1);
    await append(2);
    await standsStill(watchdog, group);
    expect(watchdog.standing()).toMatchObject([{ part: `${topic} read`, behind: 1 }]);
    readTo = 2;
    await movesAgain(watchdog, group);
  });
});

describe('retention', () => {
  it('that failed once, or finds its records not filled yet, does not stand still; what goes on failing does', async () => {
    const { log, store } = engines;
    running.push(await runProjector({ ...engines, readModel: notificationsReadModel }));
    let failures = 0;
    let isFilled = true;
    const retentions = async () => {
      if (failures-- > 0) throw new Error('the store is away for a moment');
      return new Map<TenantId, number>();
    };
    const keeper = await startKeeper({
      log,
      reader: { ...store, hasCaughtUp: async () => isFilled },
      settings: { retentions, forgetPreviousKeys: async () => undefined },
      retention: { keptMs: 30 * 86_400_000, statisticsMs: null },
      clock: fastClock(),
      logger: logger(),
      metrics: metrics(),
    });
    running.push(keeper);
    const watchdog = watch([retentionFeed({ group: retentionGroup, ...keeper })]);
    const aMinute = async () => {
      const from = looks;
      await until(() => looks > from + 14, { what: 'looks of over a minute' });
    };
    const stoodStill = () => lines.filter(({ message }) => message === 'partition numbers stand still');
    const rests = () => keeper.states().length === 12 && keeper.states().every((number) => number.rests);
    await until(rests, { what: 'a pass over each number' });
    // Each of them once.
    failures = 12;
    await until(() => failures <= 0, { what: 'the failures' });
    await aMinute();
    expect([watchdog.standing(), stoodStill()]).toEqual([[], []]);
    isFilled = false;
    await aMinute();
    await aMinute();
    expect([watchdog.standing(), stoodStill()]).toEqual([[], []]);
    isFilled = true;
    failures = Infinity;
    await until(() => watchdog.standing().length === 12, { what: 'a standstill' });
    failures = 0;
    await until(() => watchdog.standing().length === 0, { what: 'its end' });
  });
});

const nothingDone = () => ({ offset: 0, metadata: '' });

function append(number: number) {
  return appendAll(engines.log, lifeOf(plan, number));
}

function notificationsFeed(positions = engines.store.positions): Feed {
  return feedOf(notificationsReadModel, positions);
}

function feedOf(readModel: ReadModel, positions = engines.store.positions): Feed {
  const group = projectorGroup(readModel.definition.name);
  const of = { log: engines.log, readModel, group, clock: fastClock(), metrics: metrics() };
  return readModelFeed({ ...of, reader: { positions }, use: async () => 'serves', oldestInHandMs: () => 0 });
}

function timersOnly(now: () => number): Feed {
  return timersFeed({ log: engines.log, reader: engines.store, group: timers, clock: { ...fastClock(), now } });
}

function watch(feeds: readonly Feed[], log: Pick<EventLog, 'ends' | 'partitioning'> = engines.log): Watchdog {
  const counting = feeds.map((feed): Feed => ({ ...feed, look: (asking) => (looks++, feed.look(asking)) }));
  const watchdog = startWatchdog({ feeds: counting, log, clock: fastClock(), logger: logger(), metrics: metrics() });
  running.push(watchdog);
  return watchdog;
}

async function standsStill(watchdog: Watchdog, group: string): Promise<void> {
  const standing = await until(() => watchdog.standing().length > 0 && watchdog.standing(), { what: 'a standstill' });
  expect(new Set(standing.map((of) => `${of.group} ${of.partition}`))).toEqual(new Set([`${group} ${partition}`]));
  expect(lines).toMatchObject([
    { message: 'partition numbers stand still', fields: { group, partitions: [partition] } },
  ]);
}

async function movesAgain(watchdog: Watchdog, group: string): Promise<void> {
  await until(() => watchdog.standing().length === 0, { what: 'its end' });
  expect(lines.at(-1)).toMatchObject({
    message: 'partition numbers move again',
    fields: { group, partitions: [partition] },
  });
}

/** Time passes sixty times as fast for who goes by it. */
function fastClock(): Clock {
  const { clock } = engines;
  return {
    ...clock,
    monotonic: () => clock.monotonic() * times,
    sleep: (ms, signal) => clock.sleep(ms / times, signal),
  };
}

function logger(): Logger {
  const note = (message: string, fields: LogFields = {}) => void lines.push({ message, fields });
  return { debug: note, info: note, warn: note, error: note };
}

function metrics(): Metrics {
  const key = (name: string, labels: object = {}) => [name, ...Object.values(labels)].join(' ');
  return {
    increment: (name, labels, by = 1) =>
      void counted.set(key(name, labels), (counted.get(key(name, labels)) ?? 0) + by),
    observe: () => undefined,
    gauge: (name, read, labels) => void gauges.set(key(name, labels), read),
    gauges: () => undefined,
  };
}
