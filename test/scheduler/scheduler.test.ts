// The scheduler on the embedded engines: every timer fires once, at its time, over restarts; a cancel and a firing can't both be.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createClock } from '../../src/adapters/node/clock.ts';
import type { DomainEvent, NotificationEvent } from '../../src/domain/events.ts';
import type { EventId, TenantId } from '../../src/domain/ids.ts';
import { eventIdFrom } from '../../src/domain/ids.ts';
import { deliveriesTopic, workTopic } from '../../src/domain/topics.ts';
import type { AppendResult, ConsumeOptions } from '../../src/ports/event-log.ts';
import { StaleOwnerError } from '../../src/ports/event-log.ts';
import { rebuild } from '../../src/projections/rebuild.ts';
import type { TimersDocument } from '../../src/projections/timers/document.ts';
import { decide } from '../../src/projections/timers/document.ts';
import { timersReadModel } from '../../src/projections/timers/index.ts';
import { runScheduler } from '../../src/scheduler/index.ts';
import type { Engines } from '../projections/engines.ts';
import { appendAll, openEngines } from '../projections/engines.ts';
import { notificationIdFor, requestOf } from '../projections/histories.ts';
import { until } from '../support/until.ts';

let engines: Engines;
let running: { stop(): Promise<void> }[] = [];

beforeEach(async () => {
  engines = await openEngines();
  running = [];
});

afterEach(async () => {
  await Promise.all(running.map((scheduler) => scheduler.stop()));
  await engines.close();
});

describe('a timer', () => {
  it('fires at its time, with all that the next attempt needs', async () => {
    await start();
    const dueAt = Date.now() + 150;
    await appendAll(engines.log, [failedOf(1, { retryAt: dueAt })]);
    const [due] = await until(async () => some(await eventsOf('DeliveryDue')), { what: 'the timer' });
    expect(due).toMatchObject({
      eventId: eventIdFrom('due', 'work-1'),
      causeId: 'failed-1',
      notificationId: notificationIdFor(1),
      attempt: 2,
      firstAttempt: 1,
      dueAt,
      request: requestOf(),
    });
    expect(due!.occurredAt).toBeGreaterThanOrEqual(dueAt);
    expect(due!.occurredAt).toBeLessThan(dueAt + 1000);
    await until(async () => (await timersOf(1))?.doneAt, { what: 'the timer to be done' });
    expect(await timersOf(1)).toMatchObject({ timers: {}, fired: [due!.eventId] });
  });

  it('fires after a restart, also when its time came meanwhile', async () => {
    await start();
    const dueAt = Date.now() + 400;
    await appendAll(engines.log, [failedOf(1, { retryAt: dueAt }), failedOf(2, { retryAt: dueAt + 500 })]);
    await until(() => timersOf(2));
    await stop();
    expect(await eventsOf('DeliveryDue')).toEqual([]);
    engines = await engines.reopen();
    await until(() => Date.now() > dueAt);
    await start();
    await until(async () => (await eventsOf('DeliveryDue')).length === 2, { what: 'both to fire' });
  });

  it('set twice by attempts that were made and reported twice fires once', async () => {
    const again: DomainEvent = { ...failedOf(1, { retryAt: Date.now() + 20 }), eventId: 'failed-again' as EventId };
    await appendAll(engines.log, [failedOf(1, { retryAt: Date.now() }), again]);
    await start();
    await quiet(1);
    expect(await firedBefore()).toHaveLength(1);
  });

  it('is gone when its round succeeded after all', async () => {
    await appendAll(engines.log, [
      failedOf(1, { retryAt: Date.now() - 5 }),
      event(1, 'AttemptSucceeded', 'late', { causeId: 'work-1', attempt: 1, ...how, messageId: null }),
    ]);
    await start();
    await quiet(1);
    expect(await firedBefore()).toEqual([]);
  });

  it('of 2,000 due at once fires once each', async () => {
    const now = Date.now();
    const events = Array.from({ length: 2000 }, (_, i) => failedOf(i + 1, { retryAt: now, partition: i % 12 }));
    await appendAll(engines.log, events);
    await start();
    await until(async () => (await dueIds()).length >= 2000, { what: '2,000 timers' });
    await until(async () => (await undone()) === 0, { what: 'all to be done' });
    expect(new Set(await dueIds()).size).toBe(2000);
    expect(await dueIds()).toHaveLength(2000);
    expect(engines.counted.get('herald_timers_fired_total')).toBe(2000);
  });
});

describe('a timer of a tenant, while thousands of another are due', () => {
  const other = 'tnt_other' as TenantId;
  const campaign = (count: number) =>
    Array.from({ length: count }, (_, i) => failedOf(i + 1, { retryAt: Date.now() - 10_000 }));
  const ofOther = (number: number, retryAt: number): NotificationEvent => ({
    ...failedOf(number, { retryAt }),
    tenantId: other,
  });
  /** Of all that were said to be due, in the order of the log, where those of the other stand. */
  const placesOfOther = async (): Promise<number[]> =>
    (await eventsOf('DeliveryDue')).flatMap(({ tenantId }, i) => (tenantId === other ? [i] : []));

  it('is among the first, though it was due after all of these', async () => {
    const due = [1, 2, 3].map((i) => ofOther(3_000 + i, Date.now() - 100));
    await appendAll(engines.log, [...campaign(3_000), ...due]);
    await start();
    await until(async () => (await dueIds()).length === 3_003, { what: 'all timers' });
    const places = await placesOfOther();
    expect(places).toHaveLength(3);
    // After a page of 500 that was taken by time.
    expect(Math.max(...places)).toBeLessThan(1_000);
  });

  it('is among the next that is set meanwhile, at its time', async () => {
    await appendAll(engines.log, campaign(4_000));
    await start();
    await until(async () => (await dueIds()).length >= 1_000, { everyMs: 5, what: 'the first of them' });
    await appendAll(engines.log, [ofOther(4_001, Date.now())]);
    await until(async () => (await dueIds()).length === 4_001, { what: 'all timers' });
    const [place = Infinity] = await placesOfOther();
    expect(place).toBeLessThan(3_500);
  });
});

it('what is decided is folded before much more is, so that whoever sets a timer meanwhile waits for little', async () => {
  const body = 'x'.repeat(20 * 1024);
  for (let from = 1; from <= 1_000; from += 100)
    await appendAll(
      engines.log,
      Array.from({ length: 100 }, (_, i) => {
        const failed = failedOf(from + i, { retryAt: Date.now() });
        return { ...failed, request: requestOf({ body }) } as NotificationEvent;
      }),
    );
  await start();
  let unfolded = 0;
  const decided = { collection: 'timers', equals: { partition: 0, decided: 1 } };
  const fired = () => engines.counted.get('herald_timers_fired_total') ?? 0;
  await until(
    async () => {
      unfolded = Math.max(unfolded, (await engines.store.count(decided, 2_000)).count);
      return fired() === 1_000;
    },
    { everyMs: 2, timeoutMs: 25_000, what: 'all timers' },
  );
  expect(unfolded).toBeGreaterThan(0);
  expect(unfolded).toBeLessThan(300);
});

describe('a clock that was an hour ahead and is set back', () => {
  const hourMs = 3_600_000;
  let aheadMs: number;

  beforeEach(async () => {
    aheadMs = hourMs;
    await engines.close();
    engines = await openEngines({ ...createClock(), now: () => Date.now() + aheadMs });
  });

  /** One with a delay and one with a `sendAt`, both set while the clock was ahead. */
  const setAhead = async (delayMs: number): Promise<void> => {
    const now = engines.clock.now();
    const sendAt = now + delayMs;
    await appendAll(engines.log, [
      { ...failedOf(1, { retryAt: now + delayMs }), occurredAt: now },
      { ...deferredOf(2, sendAt), occurredAt: now },
    ]);
  };

  it("ends a retry's delay when it has passed; a sendAt and what is set by the clock as it is now wait for their time", async () => {
    await start();
    await setAhead(1500);
    await until(() => timersOf(2));
    aheadMs = 0;
    const setBackAt = performance.now();
    await appendAll(engines.log, [failedOf(3, { retryAt: Date.now() + 60_000 })]);
    const [due] = await until(async () => some(await eventsOf('DeliveryDue')), { what: 'the retry' });
    expect(due?.notificationId).toBe(notificationIdFor(1));
    expect(performance.now() - setBackAt).toBeGreaterThan(1000);
    await quiet(1);
    expect((await firedBefore()).map(({ notificationId }) => notificationId)).toEqual([notificationIdFor(1)]);
  });

  /** By what is to come next it isn't seen that the clock was ahead: it was set by one that was right. */
  it.each(['alone', 'behind a sendAt that comes before it'])('ends it after a restart, too: %s', async (where) => {
    const isAlone = where === 'alone';
    await start();
    const now = Date.now();
    if (!isAlone) await appendAll(engines.log, [{ ...deferredOf(3, now + hourMs / 2), occurredAt: now }]);
    await setAhead(1500);
    await until(() => timersOf(2));
    await stop();
    aheadMs = 0;
    engines = await engines.reopen();
    await start();
    await until(async () => some(await eventsOf('DeliveryDue')), { what: 'the retry' });
    await quiet(1);
    expect((await firedBefore()).map(({ notificationId }) => notificationId)).toEqual([notificationIdFor(1)]);
  });
});

describe('large requests that are due at once', () => {
  const body = 'x'.repeat(195 * 1024);
  const largeTimers = (from: number, count: number, partition: number) =>
    Array.from({ length: count }, (_, i) => {
      const failed = failedOf(from + i, { retryAt: Date.now(), partition });
      return { ...failed, request: requestOf({ body }) } as NotificationEvent;
    });

  it('are in hand 4 MiB at a time over all numbers, and each fires once', async () => {
    const numbers = [0, 3, 7];
    for (const partition of numbers) await appendAll(engines.log, largeTimers(1 + partition * 100, 40, partition));
    let [inHand, most, fired] = [0, 0, 0];
    const log = withAppend(async (event) => {
      inHand += body.length;
      most = Math.max(most, inHand);
      // A log that answers slowly: what is in hand at once shows.
      await engines.clock.sleep(5);
      const result = await engines.log.append(event);
      inHand -= body.length;
      fired++;
      return result;
    });
    await start({ log });
    await until(() => fired >= 120, { what: 'all to have fired', timeoutMs: 30_000 });
    expect(new Set(await dueIds()).size).toBe(120);
    expect(most).toBeLessThanOrEqual(4 * 1024 * 1024);
  });

  it('of a number whose part of the log is away hold up no other', async () => {
    await appendAll(engines.log, largeTimers(1, 40, 0));
    let [isAway, refused, fired] = [true, 0, 0];
    const log = withAppend(async (event) => {
      if (event.partition === 0 && isAway) {
        refused++;
        return { kind: 'refused', reason: 'away' };
      }
      const result = await engines.log.append(event);
      fired++;
      return result;
    });
    await start({ log });
    await until(() => refused > 0, { what: 'the number to be away' });
    await appendAll(engines.log, largeTimers(101, 10, 3));
    await until(() => fired === 10, { what: 'the other number' });
    isAway = false;
    await until(() => fired === 50, { what: 'the number itself', timeoutMs: 30_000 });
    expect(new Set(await dueIds()).size).toBe(50);
  });

  it('that were decided and not appended by an earlier owner are taken up as few at a time', async () => {
    await appendAll(engines.log, largeTimers(1, 40, 0));
    const away = withAppend(async () => ({ kind: 'refused', reason: 'away' }));
    const { transact } = engines.store;
    await start({ log: away });
    await until(async () => (await undone()) > 0);
    await stop();
    // All of them decided, as an owner leaves them that could write the decisions and died.
    const owner = await engines.store.own('timers', 0, { generation: 100 });
    const all = await engines.store.find<TimersDocument>({
      collection: 'timers',
      equals: { partition: 0 },
      order: { fields: ['nextDueAt'], direction: 'ascending' },
      limit: 100,
    });
    const decided = all.documents.flatMap(({ id, ...before }) => {
      const document = decide(before, { wall: Date.now(), steady: Date.now() });
      return document === null ? [] : [{ collection: 'timers', id, document }];
    });
    await transact(owner, new Map(), decided);
    let [inHand, most, fired] = [0, 0, 0];
    const log = withAppend(async (event) => {
      most = Math.max(most, ++inHand);
      const result = await engines.log.append(event);
      inHand--;
      fired++;
      return result;
    });
    await start({ log });
    await until(() => fired >= 40, { what: 'all to have fired', timeoutMs: 30_000 });
    expect(new Set(await dueIds()).size).toBe(40);
    expect(most * body.length).toBeLessThanOrEqual(4 * 1024 * 1024);
  });
});

describe('a decision', () => {
  it('that was written and not appended is appended by the next owner, with the same id', async () => {
    await appendAll(engines.log, [failedOf(1, { retryAt: Date.now() })]);
    const refused: AppendResult = { kind: 'refused', reason: 'the disk is full' };
    await start({ log: { ...engines.log, append: async () => refused } });
    await until(async () => (await timersOf(1))?.decided === 1, { what: 'the decision' });
    await stop();
    expect(await eventsOf('DeliveryDue')).toEqual([]);
    await start();
    await until(async () => (await timersOf(1))?.doneAt, { what: 'the timer to be done' });
    expect((await eventsOf('DeliveryDue')).map(({ eventId }) => eventId)).toEqual([eventIdFrom('due', 'work-1')]);
  });

  it('is refused to an owner whose number is by right of a newer claim, and appends nothing', async () => {
    let asked = 0;
    const { log } = engines;
    const confirm = async () => {
      asked++;
      throw new StaleOwnerError('the number is of another member');
    };
    const consume = (options: ConsumeOptions) =>
      log.consume({ ...options, owned: (claim) => options.owned({ ...claim, confirm }) });
    await start({ log: { ...log, consume } });
    await appendAll(log, [failedOf(1, { retryAt: Date.now() + 300 })]);
    await until(() => timersOf(1));
    await engines.store.own('timers', 0, { generation: 100 });
    await until(() => asked === 2, { what: 'the group to be asked twice' });
    expect(await eventsOf('DeliveryDue')).toEqual([]);
    await stop();
    await start();
    await until(async () => (await timersOf(1))?.doneAt);
    expect(await eventsOf('DeliveryDue')).toHaveLength(1);
  });

  it('is said once its group has answered to whoever slept: it may be another one’s by then, and said and answered', async () => {
    let isCurrent = false;
    let asked = 0;
    const { log } = engines;
    const consume = (options: ConsumeOptions) =>
      log.consume({
        ...options,
        owned: (claim) => options.owned({ ...claim, isCurrent: () => ++asked > 0 && isCurrent }),
      });
    await start({ log: { ...log, consume } });
    await appendAll(log, [failedOf(1, { retryAt: Date.now() })]);
    await until(async () => (await timersOf(1))?.decided === 1, { what: 'the decision' });
    const askedBefore = asked;
    await until(() => asked >= askedBefore + 3, { what: 'the group to be asked again' });
    expect(await eventsOf('DeliveryDue')).toEqual([]);
    isCurrent = true;
    await until(async () => (await timersOf(1))?.doneAt, { what: 'the timer to be done' });
    expect(await dueIds()).toHaveLength(1);
  });

  it('is made all the same when the number was taken over by one who came late', async () => {
    await start();
    const dueAt = Date.now() + 300;
    await appendAll(engines.log, [failedOf(1, { retryAt: dueAt }), failedOf(2, { retryAt: dueAt })]);
    await until(() => timersOf(2));
    await engines.store.own('timers', 0, { generation: 100 });
    await until(async () => (await dueIds()).length === 2, { what: 'both timers' });
    await appendAll(engines.log, [failedOf(3, { retryAt: Date.now() })]);
    await until(async () => (await dueIds()).length === 3, { what: 'a later timer of that number' });
    await until(async () => (await undone()) === 0, { what: 'all to be done' });
    expect(new Set(await dueIds()).size).toBe(3);
    expect(engines.counted.get('herald_numbers_owned_again_total')).toBe(1);
  });

  it('that one who came late has written and not said is said by who owns the number, though nothing else happens there', async () => {
    await start({ clock: quickClock() });
    await leaveDecided();
    await until(async () => (await timersOf(1))?.doneAt, { what: 'the timer to be done' });
    expect(await dueIds()).toHaveLength(2);
  });

  it('that stands for long is not said again by who is behind the log, which may have it', async () => {
    const { log } = engines;
    let isAtEnd = true;
    let asked = 0;
    const consume = (options: ConsumeOptions) =>
      log.consume({
        ...options,
        owned(claim) {
          const read = (from: Parameters<typeof claim.read>[0]) => {
            const reader = claim.read(from);
            return { ...reader, atEnd: async () => ++asked > 0 && isAtEnd && reader.atEnd() };
          };
          options.owned({ ...claim, read });
        },
      });
    await start({ log: { ...log, consume }, clock: quickClock() });
    await leaveDecided(() => (isAtEnd = false));
    const askedBefore = asked;
    await until(() => asked > askedBefore + 100, { what: 'many looks' });
    expect(await dueIds()).toHaveLength(1);
    isAtEnd = true;
    await until(async () => (await timersOf(1))?.doneAt, { what: 'the timer to be done' });
    expect(await dueIds()).toHaveLength(2);
  });

  it('is made again from the log alone after a rebuild, and fires nothing twice', async () => {
    await appendAll(engines.log, [failedOf(1, { retryAt: Date.now() }), failedOf(2, { retryAt: Date.now() + 400 })]);
    await start();
    await until(async () => (await timersOf(1))?.doneAt);
    await stop();
    const [result] = await rebuild({ ...engines, readModels: [timersReadModel], onProgress: () => undefined });
    expect(result?.comparison).toMatchObject({ equal: true, differing: [], documents: 2 });
    expect(await eventsOf('DeliveryDue')).toHaveLength(1);
    await start();
    await until(async () => (await eventsOf('DeliveryDue')).length === 2, { what: 'the second timer' });
  });
});

describe('a cancel', () => {
  it('takes a waiting timer away', async () => {
    await start();
    await appendAll(engines.log, [failedOf(1, { retryAt: Date.now() + 60_000 })]);
    await appendAll(engines.log, [cancelOf(1)]);
    const [cancelled] = await until(async () => some(await eventsOf('NotificationCancelled')), { what: 'the cancel' });
    expect(cancelled).toMatchObject({ eventId: eventIdFrom('cancelled', 'work-1'), causeId: 'failed-1', round: 1 });
    await until(async () => (await timersOf(1))?.doneAt);
    expect(await timersOf(1)).toMatchObject({ timers: {}, endedRound: 1, cancels: [] });
  });

  it('that comes before its timer is kept and applied when the timer comes', async () => {
    await start();
    await appendAll(engines.log, [cancelOf(1)]);
    await until(() => timersOf(1));
    await appendAll(engines.log, [failedOf(1, { retryAt: Date.now() })]);
    await until(async () => (await timersOf(1))?.endedRound === 1);
    expect(await eventsOf('NotificationCancelled')).toHaveLength(1);
    expect(await eventsOf('DeliveryDue')).toEqual([]);
  });

  it('that comes when the round has ended changes nothing', async () => {
    const ended = event(1, 'AttemptFailed', 'ended', {
      causeId: 'due-1',
      attempt: 2,
      firstAttempt: 1,
      ...how,
      ...why,
      retryAt: null,
      request: null,
    });
    await appendAll(engines.log, [failedOf(1, { retryAt: Date.now() + 60_000 }), ended, cancelOf(1)]);
    await start();
    await quiet(1);
    expect(await eventsOf('NotificationCancelled')).toEqual([]);
  });

  it('and a firing of the same moment: exactly one of them is, for each of 300', async () => {
    await start();
    // A third has fired before, a third is due in a minute, and a third comes due while the cancels arrive.
    const now = Date.now();
    const dueAfterMs = (i: number): number => [0, 60_000, 100 + (i % 60)][i % 3]!;
    const all = Array.from({ length: 300 }, (_, i) => i);
    const events = all.map((i) => failedOf(i + 1, { retryAt: now + dueAfterMs(i), partition: i % 12 }));
    await appendAll(engines.log, events);
    await until(async () => (await eventsOf('DeliveryDue')).length >= 100, { what: 'the first third' });
    for (let i = 0; i < 300; i += 10) {
      // At about the time of the timers that they are for, however fast the machine.
      await until(() => Date.now() >= now + 100 + i / 5);
      await appendAll(
        engines.log,
        all.slice(i, i + 10).map((n) => cancelOf(n + 1, n % 12)),
      );
    }
    const decided = async (): Promise<number> =>
      (await eventsOf('DeliveryDue')).length + (await eventsOf('NotificationCancelled')).length;
    await until(async () => (await decided()) >= 300, { what: 'all to be decided' });
    await until(async () => (await undone()) === 0, { what: 'all to be done' });
    const fired = (await eventsOf('DeliveryDue')).map(({ notificationId }) => notificationId);
    const cancelled = (await eventsOf('NotificationCancelled')).map(({ notificationId }) => notificationId);
    expect([...fired, ...cancelled].toSorted()).toEqual(all.map((i) => notificationIdFor(i + 1)).toSorted());
    for (const i of all) {
      if (i % 3 === 0) expect(fired).toContain(notificationIdFor(i + 1));
      if (i % 3 === 1) expect(cancelled).toContain(notificationIdFor(i + 1));
    }
  });
});

describe('a done timer', () => {
  it('is kept for seven days, then removed', async () => {
    const day = 24 * 60 * 60 * 1000;
    await appendAll(engines.log, [
      { ...cancelOf(1), occurredAt: Date.now() - 8 * day },
      { ...cancelOf(2), occurredAt: Date.now() - 6 * day },
    ]);
    await start();
    await until(() => timersOf(2));
    await until(async () => (await timersOf(1)) === undefined, { what: 'the old one to be removed' });
    expect(await timersOf(2)).toBeDefined();
  });
});

const how = { provider: 'smtp', waitedMs: 1, tookMs: 2 };
const why = { failureClass: 'provider', code: '451', message: 'later' };

async function start(more: Partial<Engines> = {}): Promise<void> {
  running.push(await runScheduler({ ...engines, ...more }));
}

/** The log with another way to append. */
function withAppend(append: Engines['log']['append']): Engines['log'] {
  return { ...engines.log, append };
}

/** A minute is 300 ms. */
function quickClock(): Engines['clock'] {
  const { clock } = engines;
  return {
    ...clock,
    monotonic: () => clock.monotonic() * 200,
    sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms / 200, signal),
  };
}

/** A timer that stands decided, and nobody has said so. @param before is called when the scheduler looks at nothing any more that an earlier owner has left */
async function leaveDecided(before: () => void = () => {}): Promise<void> {
  await appendAll(engines.log, [failedOf(2, { retryAt: Date.now() })]);
  await until(async () => (await timersOf(2))?.doneAt, { what: 'a first timer' });
  const dueAt = Date.now() + 3_600_000;
  await appendAll(engines.log, [{ ...failedOf(1, { retryAt: dueAt }), occurredAt: Date.now() }]);
  const waiting = await until(() => timersOf(1));
  before();
  const late = await engines.store.own('timers', 0, { generation: 100 });
  const document = decide(waiting, { wall: dueAt, steady: dueAt });
  await engines.store.transact(late, new Map(), [
    { collection: 'timers', id: waiting.notificationId, document, isNew: false },
  ]);
}

async function stop(): Promise<void> {
  await Promise.all(running.splice(0).map((scheduler) => scheduler.stop()));
}

function event(number: number, type: NotificationEvent['type'], eventId: string, fields: object): NotificationEvent {
  return {
    type,
    eventId,
    occurredAt: Date.now(),
    tenantId: 'tnt_a' as TenantId,
    traceparent: null,
    notificationId: notificationIdFor(number),
    requestedAt: Date.now() - 1000,
    channel: 'WEBHOOK',
    priority: 'DEFAULT',
    recipient: 'https://example.com/hook',
    round: 1,
    partition: 0,
    ...fields,
  } as NotificationEvent;
}

/** The first attempt failed, the second is to be made at `retryAt`. */
function failedOf(
  number: number,
  { retryAt, partition = 0 }: { retryAt: number; partition?: number },
): NotificationEvent {
  const attempt = { causeId: `work-${number}`, attempt: 1, firstAttempt: 1, ...how, ...why };
  return event(number, 'AttemptFailed', `failed-${number}`, { ...attempt, retryAt, request: requestOf(), partition });
}

/** Asked for at `sendAt`. */
function deferredOf(number: number, sendAt: number): NotificationEvent {
  const attempt = { causeId: `work-${number}`, attempt: 1, firstAttempt: 1, reason: 'scheduled', dueAt: sendAt };
  const request = { ...requestOf(), sendAt };
  return event(number, 'DeliveryDeferred', `deferred-${number}`, { ...attempt, request });
}

function cancelOf(number: number, partition = 0): NotificationEvent {
  return event(number, 'CancelRequested', `cancel-${number}`, { partition });
}

async function eventsOf(type: NotificationEvent['type']): Promise<NotificationEvent[]> {
  const topic = type === 'DeliveryDue' ? workTopic('WEBHOOK', 'DEFAULT') : deliveriesTopic;
  const events: NotificationEvent[] = [];
  for (const [partition, to] of (await engines.log.ends(topic)).entries()) {
    for await (const { event: read } of engines.log.read({ topic, partition, from: 0, to })) {
      if (read?.type === type) events.push(read);
    }
  }
  return events;
}

async function dueIds(): Promise<string[]> {
  return (await eventsOf('DeliveryDue')).map(({ eventId }) => eventId);
}

async function timersOf(number: number): Promise<TimersDocument | undefined> {
  const id = notificationIdFor(number);
  return (await engines.store.get<TimersDocument>('timers', [id])).get(id);
}

/** Documents that wait or are decided. */
async function undone(): Promise<number> {
  let left = 0;
  for (let partition = 0; partition < 12; partition++) {
    const of = (field: string) => ({ collection: 'timers', equals: { partition }, range: { field, from: 0 } });
    left +=
      (await engines.store.count(of('nextDueAt'), 10_000)).count +
      (await engines.store.count(of('decided'), 10_000)).count;
  }
  return left;
}

/** Waits until this notification's timers are done, and until one that was set and came due after them has fired. */
async function quiet(number: number): Promise<void> {
  await until(async () => (await timersOf(number))?.doneAt, { what: 'the timers to be done' });
  const later = 9000;
  await appendAll(engines.log, [failedOf(later, { retryAt: Date.now() })]);
  await until(async () => (await timersOf(later))?.doneAt, { what: 'the later timer to fire' });
}

/** The DeliveryDues, without the one that `quiet` waited for. */
async function firedBefore(): Promise<NotificationEvent[]> {
  return (await eventsOf('DeliveryDue')).filter(({ notificationId }) => notificationId !== notificationIdFor(9000));
}

function some<T>(values: readonly T[]): readonly T[] | null {
  return values.length > 0 ? values : null;
}
