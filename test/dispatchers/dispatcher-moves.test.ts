// Partition numbers that move between dispatchers: clean moves repeat nothing, and what is lost and regained is not begun twice.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { workTopic } from '../../src/domain/topics.ts';
import type { Claim, ConsumeOptions, EventLog } from '../../src/ports/event-log.ts';
import type { TenantDirectory } from '../../src/ports/tenant-directory.ts';
import { until } from '../support/until.ts';
import { delivered, makeWorld, outcomesOf, retryable, settingsOf } from './harness.ts';
import type { DispatcherProcess, Send, World } from './harness.ts';
import { requested } from './work-events.ts';

const topic = workTopic('WEBHOOK', 'DEFAULT');
let world: World;

beforeEach(async () => {
  world = await makeWorld();
});

afterEach(() => world.close());

const many = (count: number) => Array.from({ length: count }, (_, i) => requested({ tenant: `tnt_${i % 9}` }));
const idsOf = (of: readonly { readonly notificationId: string }[]) => of.map(({ notificationId }) => notificationId);
const deliveredIds = () => new Set(idsOf(outcomesOf(world.said).filter(({ type }) => type === 'AttemptSucceeded')));

/** Sends that wait until they are let go, by whomever they are made. */
function gated(outcome = delivered): { readonly send: Send; waiting(): number; open(): void } {
  const held: (() => void)[] = [];
  return {
    send: () => new Promise((resolve) => held.push(() => resolve(outcome))),
    waiting: () => held.length,
    open() {
      for (const go of held.splice(0)) go();
    },
  };
}

describe('dispatchers that start and stop cleanly', () => {
  it('repeat nothing under load, though numbers move with every start and stop', async () => {
    const slowly: Send = () => new Promise((resolve) => setTimeout(resolve, 20, delivered));
    const processes: DispatcherProcess[] = [];
    const start = async () => processes.push(await world.run({ send: slowly, limits: { inFlightMax: 64 } }));
    const accepted: string[] = [];
    const load = async (count: number) => {
      for (let n = 0; n < count; n += 10) {
        const events = many(10);
        await world.append(events);
        accepted.push(...idsOf(events));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    await start();
    for (const step of [
      start,
      start,
      () => processes[0]?.dispatcher.stop(),
      start,
      () => processes[1]?.dispatcher.stop(),
    ]) {
      await Promise.all([load(150), step()]);
    }
    await until(() => deliveredIds().size === accepted.length, { what: 'everything delivered' });
    const sent = processes.flatMap(({ sends }) => idsOf(sends));
    expect(sent.sort()).toEqual(accepted.sort());
    expect(processes.filter(({ sends }) => sends.length > 0).length).toBeGreaterThan(2);
  });

  it('begin nothing of a number that is to move, and answer what is in flight before it does', async () => {
    const gate = gated();
    const first = await world.run({ send: gate.send, limits: { inFlightMax: 13 } });
    const events = many(200);
    await world.append(events);
    await until(() => gate.waiting() === 12);
    const second = await world.run();
    const inFlight = new Set(idsOf(first.sends));
    gate.open();
    await until(() => {
      gate.open();
      return deliveredIds().size === events.length;
    });
    expect(idsOf(second.sends).filter((id) => inFlight.has(id))).toEqual([]);
    expect([...idsOf(first.sends), ...idsOf(second.sends)].sort()).toEqual(idsOf(events).sort());
  });
});

describe('a number that is lost and regained by the same process', () => {
  it.each(['delivered', 'failed'] as const)(
    'goes on with what is in flight, which is sent once and %s once',
    async (how) => {
      const gate = gated(how === 'delivered' ? delivered : retryable());
      const moving = movable();
      const { sends } = await world.run({ send: gate.send, wrapLog: moving.wrap });
      const events = many(20);
      await world.append(events);
      await until(() => gate.waiting() === 20);
      await moving.loseAndRegain(world.log);
      const later = many(5);
      await world.append(later);
      await until(() => gate.waiting() === 25);
      gate.open();
      await until(() => outcomesOf(world.said).length === 25);
      for (const event of events) {
        await until(async () => ((await world.committed(event, topic))?.offset ?? 0) > 0, { what: 'its commit' });
      }
      expect(idsOf(sends).sort()).toEqual(idsOf([...events, ...later]).sort());
      expect(new Set(outcomesOf(world.said).map(({ causeId }) => causeId)).size).toBe(25);
    },
  );

  it('begins nothing again whose outcome came in between', async () => {
    const gate = gated();
    const moving = movable();
    const { sends } = await world.run({ send: gate.send, wrapLog: moving.wrap });
    const events = many(20);
    await world.append(events);
    await until(() => gate.waiting() === 20);
    moving.lose();
    gate.open();
    await moving.regain(world.log);
    await until(() => deliveredIds().size === 20);
    const later = many(5);
    await world.append(later);
    await until(() => gate.waiting() === 5);
    expect(idsOf(sends).sort()).toEqual(idsOf([...events, ...later]).sort());
  });

  it('begins nothing that was lost while the settings for it were looked up', async () => {
    const moving = movable();
    const settings = Promise.withResolvers<void>();
    let asked = 0;
    const provider: TenantDirectory['provider'] = async (tenantId, channel) => {
      asked++;
      await settings.promise;
      return settingsOf(tenantId, channel);
    };
    const { sends } = await world.run({ directory: { provider }, wrapLog: moving.wrap });
    const events = many(3);
    await world.append(events);
    await until(() => asked === 3);
    moving.lose();
    settings.resolve();
    // All that follows from the answer is done with the turn in which it came.
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(sends).toEqual([]);
    await moving.regain(world.log);
    await until(() => deliveredIds().size === 3);
    expect(idsOf(sends).sort()).toEqual(idsOf(events).sort());
  });

  it('says nothing of a failure while it is lost: whoever has it makes the attempt', async () => {
    const gate = gated(retryable());
    const moving = movable();
    const { sends } = await world.run({ send: gate.send, wrapLog: moving.wrap });
    const events = many(3);
    await world.append(events);
    await until(() => gate.waiting() === 3);
    moving.lose();
    gate.open();
    await moving.regain(world.log);
    await until(() => gate.waiting() === 3, { what: 'the attempts to be made again' });
    expect(sends).toHaveLength(6);
    expect(outcomesOf(world.said)).toEqual([]);
  });
});

describe('a dispatcher whose group has not answered for its session timeout', () => {
  /** A log whose group answers as the test says. */
  const answering =
    (group: { isSilent: boolean }) =>
    (log: EventLog): EventLog => ({
      ...log,
      consume: (options) =>
        log.consume({ ...options, owned: (claim) => options.owned({ ...claim, isCurrent: () => !group.isSilent }) }),
    });

  it('begins nothing until it answers, and says so', async () => {
    const group = { isSilent: true };
    const { sends, lines } = await world.run({ wrapLog: answering(group) });
    await world.append(many(5));
    await until(() => lines.some(({ message }) => message.includes('nothing is begun')));
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect(sends).toEqual([]);
    group.isSilent = false;
    await until(() => deliveredIds().size === 5);
    expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
  });

  it('says no failure before: the deadline of what was in flight has passed while it slept', async () => {
    const group = { isSilent: false };
    const gate = gated(retryable());
    const moving = movable();
    const { sends } = await world.run({ send: gate.send, wrapLog: (log) => moving.wrap(answering(group)(log)) });
    await world.append(many(3));
    await until(() => gate.waiting() === 3);
    group.isSilent = true;
    gate.open();
    moving.lose();
    group.isSilent = false;
    await moving.regain(world.log);
    await until(() => gate.waiting() === 3, { what: 'the attempts to be made again' });
    expect(sends).toHaveLength(6);
    expect(outcomesOf(world.said)).toEqual([]);
  });
});

/** A log whose numbers the test takes from a consumer and gives back, as a group that goes on without a member does. */
function movable() {
  let options: ConsumeOptions | null = null;
  const claims = new Map<number, { readonly claim: Claim; losing: AbortController }>();

  const give = (claim: Claim) => {
    const losing = new AbortController();
    claims.set(claim.partition, { claim, losing });
    const signal = AbortSignal.any([claim.signal, losing.signal]);
    options?.owned({
      ...claim,
      signal,
      commit: (commits) => (losing.signal.aborted ? never() : claim.commit(commits)),
    });
  };
  const lose = () => {
    for (const [partition, { losing }] of claims) {
      losing.abort();
      options?.lost(partition);
    }
  };
  const regain = async (log: EventLog) => {
    const topics = options?.topics ?? [];
    const positions = await Promise.all(topics.map((of) => log.committed(options?.group ?? '', of)));
    for (const [partition, { claim }] of claims) {
      const committed = new Map(topics.map((of, i) => [of, positions[i]?.[partition] ?? null]));
      give({ ...claim, committed });
    }
  };
  return {
    wrap: (log: EventLog): EventLog => ({
      ...log,
      consume(of) {
        options = of;
        return log.consume({ ...of, owned: give });
      },
    }),
    lose,
    regain,
    loseAndRegain: async (log: EventLog) => {
      lose();
      await regain(log);
    },
  };
}

function never(): Promise<never> {
  return new Promise(() => {});
}
