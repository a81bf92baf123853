// What is due and waits for its provider ends when a person wants it stopped, and is never sent; what has begun, or isn't meant, goes on.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { NotificationCancelled } from '../../src/domain/events.ts';
import { workTopic } from '../../src/domain/topics.ts';
import { eventIdFrom } from '../../src/domain/ids.ts';
import type { AskedCancel } from '../../src/ports/cancels.ts';
import type { EventLog } from '../../src/ports/event-log.ts';
import { until } from '../support/until.ts';
import { delivered, makeWorld, outcomesOf, retryable } from './harness.ts';
import type { World } from './harness.ts';
import { due, requested } from './work-events.ts';

let world: World;
let asked: AskedCancel[];
let isAway: boolean;
const numbers = new Set<number>();
/** What was said to wait. */
const waited = new Set<string>();

beforeEach(async () => {
  world = await makeWorld();
  asked = [];
  isAway = false;
  numbers.clear();
  waited.clear();
});
afterEach(() => world.close());

const cancels = {
  async asked(partition: number, waiting: readonly string[]) {
    numbers.add(partition);
    for (const id of waiting) waited.add(id);
    if (isAway) throw new Error('away');
    return asked;
  },
  ended: async () => [],
};
const mail = () => requested({ channel: 'EMAIL', recipient: 'ada@example.com' });
const cancelled = () =>
  world.said.filter((event): event is NotificationCancelled => event.type === 'NotificationCancelled');

/** A provider that asks for an hour's pause, which its first attempt finds out. */
async function pausing() {
  const limits = { inFlightPerTenantProviderMax: 1 };
  const process = await world.run({ channel: 'EMAIL', send: async () => retryable(3_600_000), limits, cancels });
  await world.append([mail()]);
  await until(() => outcomesOf(world.said).length === 1, { what: 'the pause' });
  return process;
}

describe('a cancel of what is due while its provider is away', () => {
  it('ends it within seconds, once, and counts as finished: nobody sends it later', async () => {
    const { sends, dispatcher } = await pausing();
    const stopped = due(mail(), 2, 1);
    asked = [stopped];
    await world.append([stopped]);
    const [event] = await until(() => cancelled().length > 0 && cancelled(), { what: 'the cancel' });
    const { notificationId, round, partition, eventId: causeId } = stopped;
    expect([...waited]).toEqual([notificationId]);
    const eventId = eventIdFrom('cancelled', causeId);
    expect(event).toMatchObject({ eventId, notificationId, round, partition, causeId });
    await dispatcher.stop();
    const position = await world.committed(stopped, workTopic('EMAIL', 'DEFAULT'));
    const ends = await world.log.ends(workTopic('EMAIL', 'DEFAULT'));
    expect(position?.offset).toBe(ends[partition]);
    const after = await world.run({ channel: 'EMAIL' });
    await world.append([mail()]);
    await until(() => after.sends.length === 1);
    expect(sends).toHaveLength(1);
    expect(cancelled()).toHaveLength(1);
  });

  it('ends it though the process dies before that is committed: whoever reads it again knows', async () => {
    const dying = await pausing();
    const stopped = due(mail(), 2, 1);
    await world.append([stopped]);
    asked = [stopped];
    await until(() => cancelled().length > 0, { what: 'the cancel' });
    dying.kill();
    await world.reopen();
    const { sends } = await world.run({ channel: 'EMAIL' });
    const later = mail();
    await world.append([later]);
    await until(() => sends.some(({ notificationId }) => notificationId === later.notificationId));
    expect(sends.map(({ notificationId }) => notificationId)).not.toContain(stopped.notificationId);
  });

  it('ends nothing of another round, and nothing of other notifications', async () => {
    await pausing();
    const [kept, stopped] = [due(mail(), 2, 1), due(mail(), 2, 1)];
    asked = [{ notificationId: kept.notificationId, round: 2 }, stopped];
    await world.append([kept, stopped]);
    await until(() => cancelled().length > 0, { what: 'the cancel' });
    expect(cancelled().map(({ notificationId }) => notificationId)).toEqual([stopped.notificationId]);
  });

  it('is found once the store that knows of it is back', async () => {
    await pausing();
    const stopped = due(mail(), 2, 1);
    asked = [stopped];
    isAway = true;
    await world.append([stopped]);
    await until(() => numbers.has(stopped.partition));
    isAway = false;
    await until(() => cancelled().length > 0, { what: 'the cancel' });
  });
});

describe('a cancel of what has stood in the log', () => {
  const old = () => ({ ...due(mail(), 2, 1), occurredAt: Date.now() - 60_000 });

  it('is looked for before anything of it is begun, however much of it there is', async () => {
    const stopped = Array.from({ length: 3_000 }, old);
    const kept = old();
    asked = stopped;
    await world.append([...stopped, kept]);
    const { sends } = await world.run({ channel: 'EMAIL', cancels });
    await until(() => cancelled().length + outcomesOf(world.said).length > 3_000, { what: 'all', timeoutMs: 30_000 });
    expect(sends.map(({ notificationId }) => notificationId)).toEqual([kept.notificationId]);
  });

  it('holds nothing up for longer than a second where the store that knows of it is away, or says nothing', async () => {
    isAway = true;
    await world.append([old()]);
    const { sends } = await world.run({ channel: 'EMAIL', cancels });
    await until(() => sends.length === 1);
    const silent = { ...cancels, asked: () => new Promise<never>(() => {}) };
    const second = await world.run({ channel: 'SMS', cancels: silent });
    const text = requested({ channel: 'SMS', recipient: '+4915112345678' });
    await world.append([{ ...due(text, 2, 1), occurredAt: Date.now() - 60_000 }]);
    await until(() => second.sends.length === 1);
  });
});

describe('a cancel while the group is silent', () => {
  let isSilent: boolean;
  beforeEach(() => void (isSilent = true));
  const wrapLog = (log: EventLog): EventLog => ({
    ...log,
    consume: (options) =>
      log.consume({ ...options, owned: (claim) => options.owned({ ...claim, isCurrent: () => !isSilent }) }),
  });

  it('is kept in mind until it has answered', async () => {
    const stopped = Array.from({ length: 20 }, () => ({ ...due(mail(), 2, 1), occurredAt: Date.now() - 60_000 }));
    asked = stopped;
    await world.append(stopped);
    const { sends } = await world.run({ channel: 'EMAIL', cancels, wrapLog });
    await until(() => waited.size === 20, { what: 'the first look' });
    await new Promise((resolve) => setTimeout(resolve, 200));
    isSilent = false;
    await until(() => cancelled().length + outcomesOf(world.said).length === 20, { what: 'all' });
    expect(sends).toEqual([]);
  });

  it('is looked for before anything is begun of what waited meanwhile', async () => {
    const [stopped, kept] = [due(mail(), 2, 1), due(mail(), 2, 1)];
    const { sends, lines } = await world.run({ channel: 'EMAIL', cancels, wrapLog });
    await world.append([stopped, kept]);
    await until(() => lines.some(({ message }) => message.startsWith('the group has not answered')));
    asked = [stopped];
    isSilent = false;
    await until(() => cancelled().length + outcomesOf(world.said).length === 2, { what: 'both' });
    expect(sends.map(({ notificationId }) => notificationId)).toEqual([kept.notificationId]);
  });
});

describe('while nothing is due', () => {
  it('nobody asks for cancels: requests that wait for a provider are not to be cancelled', async () => {
    await pausing();
    await world.append([mail()]);
    const expiring = { ...mail() };
    expiring.request = { ...expiring.request, expiresAt: Date.now() + 1_100 };
    await world.append([expiring]);
    // What waits was looked through by then.
    await until(() => outcomesOf(world.said).length === 2, { what: 'the expiry' });
    expect([...numbers]).toEqual([]);
  });
});

describe('a cancel of what is being sent', () => {
  it('comes too late for that attempt', async () => {
    const open = Promise.withResolvers<void>();
    const send = async () => {
      await open.promise;
      return delivered;
    };
    const limits = { inFlightMax: 1 };
    const { sends } = await world.run({ channel: 'EMAIL', send, cancels, limits });
    const begun = due(mail(), 2, 1);
    await world.append([begun]);
    await until(() => sends.length === 1);
    const waiting = due(mail(), 2, 1);
    asked = [begun, waiting];
    await world.append([waiting]);
    await until(() => cancelled().length > 0, { what: 'the cancel of the one that waits' });
    open.resolve();
    await until(() => outcomesOf(world.said).length === 1);
    expect(outcomesOf(world.said)).toMatchObject([{ type: 'AttemptSucceeded', notificationId: begun.notificationId }]);
    expect(cancelled().map(({ notificationId }) => notificationId)).toEqual([waiting.notificationId]);
  });
});
