// Nothing is lost and little is repeated: kills, takeovers, stops, and a log that can't be appended to.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { decodeFinished } from '../../src/dispatchers/finished-bitmap.ts';
import { MissingPositionError } from '../../src/dispatchers/start-position.ts';
import type { NotificationRequested } from '../../src/domain/events.ts';
import { deliveriesTopic, workTopic } from '../../src/domain/topics.ts';
import type { AppendResult, EventLog } from '../../src/ports/event-log.ts';
import { until } from '../support/until.ts';
import { delivered, makeWorld, outcomesOf, retryable } from './harness.ts';
import type { Send, World } from './harness.ts';
import { due, requested, requestedTogether, retryRequested } from './work-events.ts';

const topic = workTopic('WEBHOOK', 'DEFAULT');
let world: World;

beforeEach(async () => {
  world = await makeWorld();
});

afterEach(() => world.close());

const many = (count: number) => Array.from({ length: count }, (_, i) => requested({ tenant: `tnt_${i % 7}` }));
const idsOf = (of: readonly { readonly notificationId: string }[]) => of.map(({ notificationId }) => notificationId);
const deliveredIds = () => new Set(idsOf(outcomesOf(world.said).filter(({ type }) => type === 'AttemptSucceeded')));

/** What the log says is delivered. A tail begins at the log's end, so what became durable while a process was killed may be in the log alone. */
async function deliveredByLog(): Promise<Set<string>> {
  const delivered = new Set<string>();
  for (const [partition, end] of (await world.log.ends(deliveriesTopic)).entries()) {
    for await (const { event } of world.log.read({ topic: deliveriesTopic, partition, from: 0, to: end })) {
      if (event?.type === 'AttemptSucceeded') delivered.add(event.notificationId);
    }
  }
  return delivered;
}
const hang = () => new Promise<never>(() => {});

/** The notifications whose work events the group's commits say are finished: below the mark or in the bitmap. */
async function committedAsFinished(): Promise<Set<string>> {
  const finished = new Set<string>();
  const positions = await world.log.committed('dispatcher-webhook', topic);
  for (const [partition, position] of positions.entries()) {
    if (position === null) continue;
    const beyond = new Set(decodeFinished(position.offset, position.metadata));
    for await (const { offset, event } of world.log.read({ topic, partition, from: 0, to: Infinity })) {
      const isFinished = offset < position.offset || beyond.has(offset);
      if (isFinished && event?.type === 'NotificationRequested') finished.add(event.notificationId);
    }
  }
  return finished;
}

/** Delivers so many, 3 ms each; what comes after them hangs, so that a kill finds work however fast the machine is. */
function deliversAtMost(count: number): Send {
  let begun = 0;
  return () => (begun++ < count ? new Promise((resolve) => setTimeout(resolve, 3, delivered)) : hang());
}

/** A log to which nothing is committed. */
function neverCommits(log: EventLog): EventLog {
  return {
    ...log,
    consume: (options) =>
      log.consume({ ...options, owned: (claim) => options.owned({ ...claim, commit: () => hang() }) }),
  };
}

/** Sends that wait until they are let go. */
function gated(isHeld: (notificationId: string) => boolean = () => true): {
  send: Send;
  open(): void;
  waiting(): number;
} {
  const held: (() => void)[] = [];
  let isOpen = false;
  return {
    send: ({ notificationId }) =>
      isOpen || !isHeld(notificationId)
        ? Promise.resolve(delivered)
        : new Promise((resolve) => held.push(() => resolve(delivered))),
    open() {
      isOpen = true;
      for (const go of held.splice(0)) go();
    },
    waiting: () => held.length,
  };
}

describe('a restart after a kill', () => {
  it('skips what was finished beyond the mark, and sends again only what was in flight', async () => {
    const events = requestedTogether(40);
    const [stuck] = events as [NotificationRequested];
    const gate = gated((id) => id === stuck.notificationId);
    const first = await world.run({ send: gate.send });
    await world.append(events);
    const committed = await until(async () => {
      const position = await world.committed(stuck, topic);
      return position !== null && (decodeFinished(position.offset, position.metadata)?.length ?? 0) === 39
        ? position
        : null;
    });
    expect(committed.offset).toBe(0);
    first.kill();
    await world.reopen();
    const second = await world.run();
    await until(() => deliveredIds().has(stuck.notificationId));
    await until(async () => (await world.committed(stuck, topic))?.offset === 40);
    expect(idsOf(second.sends)).toEqual([stuck.notificationId]);
  });

  it('delivers everything, however often it is killed, and sends nothing again that was committed as finished', async () => {
    const events = many(600);
    await world.append(events);
    for (let kills = 1; kills <= 3; kills++) {
      const before = (await deliveredByLog()).size;
      const process = await world.run({ send: deliversAtMost(120), limits: { inFlightMax: 16 } });
      await until(async () => (await deliveredByLog()).size === before + 120 && (await committedAsFinished()).size > 0);
      process.kill();
      await world.reopen();
      const finished = await committedAsFinished();
      const next = await world.run({ send: deliversAtMost(20), limits: { inFlightMax: 16 } });
      await until(() => next.sends.length >= 10);
      next.kill();
      await world.reopen();
      expect(idsOf(next.sends).filter((id) => finished.has(id))).toEqual([]);
    }
    await world.run();
    await until(async () => (await deliveredByLog()).size === events.length);
  });

  it('passes over what was answered and not committed: a repeat would send again, and its failure retry what is delivered', async () => {
    const events = requestedTogether(30);
    const ofOther = requestedTogether(1, { tenant: 'tnt_b' });
    let sent = 0;
    const first = await world.run({
      send: () => Promise.resolve(sent++ % 3 === 0 ? retryable() : delivered),
      wrapLog: neverCommits,
    });
    await world.append([...events, ...ofOther, requested({ sendAt: Date.now() + 60_000 })]);
    await until(() => world.said.length === 32);
    first.kill();
    await world.reopen();
    const later = [...requestedTogether(1), ...ofOther.map(() => requested({ tenant: 'tnt_b' }))];
    const second = await world.run();
    await world.append(later);
    const [one] = events as [NotificationRequested];
    await until(async () => ((await world.committed(one, topic))?.offset ?? 0) >= 30);
    await until(() => later.every(({ notificationId }) => deliveredIds().has(notificationId)));
    expect(idsOf(second.sends).sort()).toEqual(idsOf(later).sort());
    expect(world.said.filter(({ type }) => type === 'DeliveryDeferred')).toHaveLength(1);
  });

  it('looks for no answer to what comes once it has the number: a neighbour has thousands of outcomes there', async () => {
    const before = requestedTogether(20);
    const first = await world.run();
    await world.append(before);
    await until(async () => (await world.committed(before[0] as NotificationRequested, topic))?.offset === 20);
    await first.dispatcher.stop();
    await world.reopen();
    let looks = 0;
    await world.run({
      wrapLog: (log) => ({
        ...log,
        read(range) {
          if (range.topic === deliveriesTopic) looks++;
          return log.read(range);
        },
      }),
    });
    const after = requestedTogether(1);
    await world.append(after);
    await until(() => after.every(({ notificationId }) => deliveredIds().has(notificationId)));
    expect(looks).toBe(0);
  });

  it('does nothing again that is said once more after it has the number: what the scheduler, a person or a produce repeats', async () => {
    const [of] = requestedTogether(1) as [NotificationRequested];
    const sent = { ...of, occurredAt: Date.now() - 300 };
    const repeated = [sent, due(of, 2, 1), retryRequested(of, 2, 3)];
    const first = await world.run();
    await world.append(repeated);
    await until(async () => (await world.committed(of, topic))?.offset === 3);
    await first.dispatcher.stop();
    await world.reopen();
    const second = await world.run();
    const later = { ...requested({ tenant: of.tenantId }), partition: of.partition };
    await world.append([...repeated, later]);
    await until(async () => (await world.committed(of, topic))?.offset === 7);
    await until(() => deliveredIds().has(later.notificationId));
    expect(idsOf(second.sends)).toEqual([later.notificationId]);
  });

  it('delivers where the log can not say where it ends: what is answered is looked for then', async () => {
    await world.run({
      wrapLog: (log) => ({ ...log, ends: (of) => (of === topic ? Promise.reject(new Error('no')) : log.ends(of)) }),
    });
    const [event] = requestedTogether(1) as [NotificationRequested];
    await world.append([event]);
    await until(() => deliveredIds().has(event.notificationId));
  });

  it('makes again what was sent and not said', async () => {
    const event = requested();
    const first = await world.run({ wrapLog: (log) => ({ ...log, append: () => hang() }) });
    await world.append([event]);
    await until(() => first.sends.length === 1);
    first.kill();
    await world.reopen();
    await world.run();
    await until(() => deliveredIds().has(event.notificationId));
  });
});

describe('a stop', () => {
  it('finishes what is in flight, says and commits it, and leaves the rest to the next start', async () => {
    const events = requestedTogether(10);
    const gate = gated();
    const first = await world.run({ send: gate.send, limits: { inFlightPerTenantProviderMax: 4 } });
    await world.append(events);
    await until(() => gate.waiting() === 4);
    const stopped = first.dispatcher.stop();
    await world.append([requested({ sendAt: Date.now() })]);
    gate.open();
    await stopped;
    expect(world.said.some(({ type }) => type === 'DeliveryDeferred')).toBe(false);
    expect(first.sends).toHaveLength(4);
    expect(outcomesOf(world.said)).toHaveLength(4);
    expect((await world.committed(events[0] as NotificationRequested, topic))?.offset).toBe(4);
    const second = await world.run();
    await until(() => deliveredIds().size === 10);
    expect(second.sends).toHaveLength(6);
  });

  it('asked for twice is one', async () => {
    const { dispatcher } = await world.run();
    await Promise.all([dispatcher.stop(), dispatcher.stop()]);
  });
});

describe('two dispatchers of a channel', () => {
  it('share the partition numbers: everything is sent, and what is finished is not sent again when one takes over', async () => {
    const slowly: Send = () => new Promise((resolve) => setTimeout(resolve, 2, delivered));
    const first = await world.run({ send: slowly });
    const events = many(300);
    await world.append(events.slice(0, 200));
    await until(() => deliveredIds().size >= 100);
    const second = await world.run({ send: slowly });
    await world.append(events.slice(200));
    await until(() => deliveredIds().size === 300);
    expect(second.sends.length).toBeGreaterThan(0);
    await first.dispatcher.stop();
    const more = many(50);
    await world.append(more);
    await until(() => deliveredIds().size === 350);
    expect(idsOf(first.sends).some((id) => idsOf(more).includes(id))).toBe(false);
  });

  it('after a takeover: what had not begun is not begun by the old one, and its late outcome is said all the same', async () => {
    const gate = gated();
    const first = await world.run({ send: gate.send, limits: { inFlightMax: 1 } });
    const events = Array.from({ length: 24 }, (_, i) => requested({ tenant: `tnt_${i}` }));
    await world.append(events);
    await until(() => gate.waiting() === 1);
    const inFlight = idsOf(first.sends)[0];
    const second = await world.run();
    await until(() => second.sends.length > 0 && deliveredIds().size >= new Set(idsOf(second.sends)).size);
    gate.open();
    await until(() => deliveredIds().size === events.length);
    expect(deliveredIds()).toContain(inFlight);
    const [ofFirst, ofSecond] = [idsOf(first.sends), idsOf(second.sends)];
    expect(ofFirst.filter((id) => ofSecond.includes(id)).every((id) => id === inFlight)).toBe(true);
  });
});

describe('outcomes that can not be appended', () => {
  function refusingLog(state: { refuses: boolean }, kind: 'refused' | 'unknown') {
    return (log: EventLog): EventLog => ({
      ...log,
      append: (event): Promise<AppendResult> =>
        state.refuses ? Promise.resolve({ kind, reason: 'no space left' }) : log.append(event),
    });
  }

  it.each(['refused', 'unknown'] as const)(
    '(%s) are said without end, nothing new is begun after a second, and nothing is sent twice',
    async (kind) => {
      const state = { refuses: true };
      const { sends, lines } = await world.run({ wrapLog: refusingLog(state, kind) });
      const first = many(5);
      await world.append(first);
      await until(() => sends.length === 5);
      await new Promise((resolve) => setTimeout(resolve, 1100));
      const later = many(5);
      await world.append(later);
      await new Promise((resolve) => setTimeout(resolve, 150));
      expect(sends).toHaveLength(5);
      expect((await world.committed(first[0] as NotificationRequested, topic))?.offset).toBe(0);
      state.refuses = false;
      await until(() => deliveredIds().size === 10);
      expect(sends).toHaveLength(10);
      expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    },
  );
});

describe('a dispatcher without a position', () => {
  const openWorld = async () => {
    const unknown = await makeWorld({ groups: [] });
    const old = [requested(), requested({ tenant: 'tnt_b' })];
    await unknown.append(old);
    return { unknown, old };
  };

  it('stops on a partition that has events, and names group, topic, partition and what to decide', async () => {
    const { unknown, old } = await openWorld();
    const process = await unknown.run();
    const error = await process.dispatcher.failed;
    expect(error).toBeInstanceOf(MissingPositionError);
    expect(error.message).toMatch(/dispatcher-webhook.*notifications\.webhook\.default, partition \d+.*--from/);
    expect(old.map(({ partition }) => partition).some((p) => error.message.includes(`partition ${p},`))).toBe(true);
    expect(process.sends).toEqual([]);
    await unknown.close();
  });

  it('begins at the beginning when it is told to', async () => {
    const { unknown, old } = await openWorld();
    const { sends } = await unknown.run({ from: 'beginning' });
    await until(() => sends.length === old.length);
    expect(idsOf(sends).sort()).toEqual(idsOf(old).sort());
    await unknown.close();
  });

  it.each(['end', 'time'] as const)('begins at the %s, passing over what is older, and remembers it', async (where) => {
    const { unknown, old } = await openWorld();
    await new Promise((resolve) => setTimeout(resolve, 5));
    const process = await unknown.run({ from: where === 'end' ? 'end' : Date.now() });
    const [first] = old as [NotificationRequested];
    await until(async () => (await unknown.committed(first, topic)) !== null);
    const fresh = requested();
    await unknown.append([fresh]);
    await until(() => process.sends.length > 0);
    expect(idsOf(process.sends)).toEqual([fresh.notificationId]);
    await process.dispatcher.stop();
    const again = await unknown.run();
    const next = requested();
    await unknown.append([next]);
    await until(() => again.sends.length > 0);
    expect(idsOf(again.sends)).toEqual([next.notificationId]);
    await unknown.close();
  });
});

describe('what does not decode', () => {
  it('is passed over as finished', async () => {
    const [first, bad, last] = requestedTogether(3) as [
      NotificationRequested,
      NotificationRequested,
      NotificationRequested,
    ];
    const corrupt = (log: EventLog): EventLog => ({
      ...log,
      consume: (options) =>
        log.consume({
          ...options,
          owned: (claim) =>
            options.owned({
              ...claim,
              read(from) {
                const reader = claim.read(from);
                return {
                  ...reader,
                  take: async (limits) =>
                    (await reader.take(limits)).map((entry) =>
                      entry.event?.eventId === bad.eventId
                        ? { ...entry, event: null, undecodable: { reason: 'bad bytes', bytes: '' } }
                        : entry,
                    ),
                };
              },
            }),
        }),
    });
    const { sends } = await world.run({ wrapLog: corrupt });
    await world.append([first, bad, last]);
    await until(async () => (await world.committed(first, topic))?.offset === 3);
    expect(idsOf(sends)).toEqual([first.notificationId, last.notificationId]);
  });
});

describe('a log that can not be read', () => {
  it('is asked again: nothing is passed over', async () => {
    let failures = 0;
    const flaky = (log: EventLog): EventLog => ({
      ...log,
      consume: (options) =>
        log.consume({
          ...options,
          owned: (claim) =>
            options.owned({
              ...claim,
              read(from) {
                const reader = claim.read(from);
                return {
                  ...reader,
                  take: (limits) => (failures++ % 2 === 0 ? Promise.reject(new Error('away')) : reader.take(limits)),
                };
              },
            }),
        }),
    });
    const events = many(30);
    await world.append(events);
    const { sends } = await world.run({ wrapLog: flaky });
    await until(() => deliveredIds().size === 30);
    expect(idsOf(sends).sort()).toEqual(idsOf(events).sort());
  });
});
