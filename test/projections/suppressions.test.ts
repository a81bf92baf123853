// The tenants' suppression lists: the last that was said of a recipient counts, however often and around a start whenever it is told.

import { describe, expect, it } from '@jest/globals';

import type { Channel, SuppressionEvent } from '../../src/domain/events.ts';
import type { EventId, TenantId } from '../../src/domain/ids.ts';
import { comparedRecipient } from '../../src/domain/suppression.ts';
import { settingsTopic } from '../../src/domain/topics.ts';
import type { EventLog, LogEntry } from '../../src/ports/event-log.ts';
import type { Suppression } from '../../src/ports/suppressions.ts';
import type { ThreadTurns } from '../../src/ports/thread-turns.ts';
import { wholeTurns } from '../../src/ports/thread-turns.ts';
import { followSuppressions } from '../../src/projections/suppressions/follow.ts';
import { createSuppressionList } from '../../src/projections/suppressions/list.ts';
import { suppressionPage } from '../../src/projections/suppressions/page.ts';
import fc from '../support/properties.ts';

const ada = 'tnt_ada' as TenantId;
const bob = 'tnt_bob' as TenantId;

interface Said {
  readonly type: SuppressionEvent['type'];
  readonly recipient: string;
  readonly tenantId?: TenantId;
  readonly channel?: Channel;
}

function entryOf(
  { type, recipient, tenantId = ada, channel = 'EMAIL' }: Said,
  offset: number,
  partition = 0,
): LogEntry {
  const eventId = `${partition}-${offset}` as EventId;
  const of = { eventId, occurredAt: offset, tenantId, traceparent: null, partition, channel, recipient, actor: 'ada' };
  const event: SuppressionEvent = type === 'RecipientSuppressed' ? { ...of, type, reason: 'manual' } : { ...of, type };
  return {
    topic: settingsTopic,
    partition,
    offset,
    appendedAt: offset,
    size: 100,
    head: event,
    event,
    undecodable: null,
  };
}

const suppressed = (recipient: string, more: Partial<Said> = {}): Said => ({
  ...more,
  type: 'RecipientSuppressed',
  recipient,
});
const released = (recipient: string): Said => ({ type: 'RecipientReleased', recipient });

describe('a suppression list', () => {
  it('has who was suppressed and not released since, of that tenant and channel alone', () => {
    const list = createSuppressionList();
    const told = [
      suppressed('a@x.example'),
      suppressed('b@x.example'),
      released('a@x.example'),
      suppressed('+491701234567', { channel: 'SMS' }),
    ];
    told.forEach((said, offset) => list.fold(entryOf(said, offset)));
    expect(list.has(ada, 'EMAIL', 'a@x.example')).toBe(false);
    expect(list.has(ada, 'EMAIL', 'b@x.example')).toBe(true);
    expect(list.has(ada, 'SMS', '+491701234567')).toBe(true);
    expect(list.has(ada, 'EMAIL', '+491701234567')).toBe(false);
    expect(list.has(bob, 'EMAIL', 'b@x.example')).toBe(false);
    expect([list.size, list.count(ada), list.count(bob)]).toEqual([2, 2, 0]);
  });

  it('knows an email address however it is written', () => {
    const list = createSuppressionList();
    list.fold(entryOf(suppressed(comparedRecipient('EMAIL', 'Ada@Bücher.example')), 0));
    for (const way of ['ada@bücher.example', 'ADA@xn--bcher-kva.EXAMPLE', 'Ada@BÜCHER.example'])
      expect([way, list.has(ada, 'EMAIL', way)]).toEqual([way, true]);
    expect(list.has(ada, 'EMAIL', 'adam@bücher.example')).toBe(false);
  });

  it('keeps the entry that it has when the recipient is suppressed again, and its id for one that comes back', () => {
    const list = createSuppressionList();
    list.fold(entryOf(suppressed('a@x.example'), 3));
    const [first] = list.of(ada);
    list.fold(entryOf(suppressed('a@x.example'), 4));
    expect(list.of(ada)).toEqual([first]);
    list.fold(entryOf(released('a@x.example'), 5));
    list.fold(entryOf(suppressed('a@x.example'), 6));
    expect(list.of(ada)).toEqual([{ ...first, createdAt: 6 }]);
  });

  it('is the same however often its events are told, each partition’s from any place on', () => {
    const said = fc.record({
      type: fc.constantFrom('RecipientSuppressed' as const, 'RecipientReleased' as const),
      recipient: fc.constantFrom('a@x.example', 'b@x.example', 'c@x.example'),
    });
    const told = fc.array(fc.record({ back: fc.nat(10), ahead: fc.nat(10) }), { maxLength: 6 });
    fc.assert(
      fc.property(fc.array(said, { maxLength: 30 }), told, (history, looks) => {
        const entries = history.map((one, offset) => entryOf(one, offset));
        const once = createSuppressionList();
        for (const entry of entries) once.fold(entry);
        const last = new Map(history.map(({ type, recipient }) => [recipient, type]));
        for (const [recipient, type] of last)
          expect(once.has(ada, 'EMAIL', recipient)).toBe(type === 'RecipientSuppressed');
        const often = createSuppressionList();
        let at = 0;
        for (const { back, ahead } of [...looks, { back: 30, ahead: 30 }]) {
          for (const entry of entries.slice(Math.max(0, at - back), at + ahead)) often.fold(entry);
          at += ahead;
        }
        expect(often.of(ada)).toEqual(once.of(ada));
      }),
    );
  });
});

describe('a page of a list', () => {
  const entryAt = (createdAt: number, n: number): Suppression => {
    return { id: `sup_${n}`, channel: 'EMAIL', recipient: `${n}@x.example`, reason: 'bounce', createdAt };
  };

  it('is the next ones behind the last, the newest first, in whichever order the entries stand', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(5), { maxLength: 30 }), fc.integer({ min: 1, max: 7 }), async (times, max) => {
        const entries = times.map(entryAt);
        const read: Suppression[] = [];
        for (let page: readonly Suppression[] | null = null; page?.length !== 0; read.push(...page)) {
          page = await suppressionPage(wholeTurns, entries, { behind: read.at(-1) ?? null, max });
          expect(page.length).toBeLessThanOrEqual(max);
        }
        expect(read).toEqual(entries.toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1)));
      }),
    );
  });

  it('is picked of a long one in pieces, between which others have the thread', async () => {
    const held: string[] = [];
    const turns: ThreadTurns = {
      ...wholeTurns,
      isOver: () => true,
      async next() {
        held.push('wait');
      },
      piece(work) {
        held.push('piece');
        return work();
      },
    };
    const entries = Array.from({ length: 12_000 }, (_, n) => entryAt(n, n));
    const page = await suppressionPage(turns, entries, { behind: null, max: 2 });
    expect(page).toEqual([entryAt(11_999, 11_999), entryAt(11_998, 11_998)]);
    expect(held).toEqual(['wait', 'piece', 'wait', 'piece', 'wait', 'piece']);
  });
});

describe('a process that follows the lists', () => {
  /** A log whose reading the test interrupts. */
  function logOf(during: (append: (said: Said) => void) => void) {
    const entries: LogEntry[] = [];
    let tell: ((entry: LogEntry) => void) | null = null;
    const append = (said: Said): void => {
      const entry = entryOf(said, entries.length);
      entries.push(entry);
      tell?.(entry);
    };
    const failing = { count: 0 };
    const log: Pick<EventLog, 'tail' | 'ends' | 'read'> = {
      tail(_, listener) {
        tell = listener;
        return () => (tell = null);
      },
      async ends() {
        if (failing.count-- > 0) throw new Error('away');
        during(append);
        return [entries.length];
      },
      async *read({ from, to }) {
        const range = entries.slice(from, to);
        during(append);
        yield* range;
      },
    };
    return { log, append, failing };
  }
  const { signal: running } = new AbortController();
  const quiet = { clock: { sleep: () => Promise.resolve() }, logger: { warn: () => undefined } };

  it('begins with all that the log has, and what is appended while it reads', async () => {
    let turn = 0;
    const { log, append } = logOf((say) => {
      turn++;
      say(suppressed(`during-${turn}@x.example`));
      say(released('a@x.example'));
    });
    append(suppressed('a@x.example'));
    append(suppressed('b@x.example'));
    const { list, stop } = await followSuppressions({ log, ...quiet }, running);
    const recipients = () =>
      list
        .of(ada)
        .map(({ recipient }) => recipient)
        .toSorted();
    expect(recipients()).toEqual(['b@x.example', 'during-1@x.example', 'during-2@x.example']);
    append(released('b@x.example'));
    append(suppressed('c@x.example'));
    expect(recipients()).toEqual(['c@x.example', 'during-1@x.example', 'during-2@x.example']);
    expect(list.hasReached({ topic: settingsTopic, partition: 0, offset: 7 })).toBe(true);
    expect(list.hasReached({ topic: settingsTopic, partition: 0, offset: 8 })).toBe(false);
    stop();
    append(suppressed('d@x.example'));
    expect(list.has(ada, 'EMAIL', 'd@x.example')).toBe(false);
  });

  it('waits for a log that is away', async () => {
    const { log, append, failing } = logOf(() => undefined);
    append(suppressed('a@x.example'));
    failing.count = 3;
    const { list } = await followSuppressions({ log, ...quiet }, running);
    expect(list.has(ada, 'EMAIL', 'a@x.example')).toBe(true);
  });

  it('waits no longer once the service stops', async () => {
    const { log, failing } = logOf(() => undefined);
    failing.count = Number.POSITIVE_INFINITY;
    const stopping = new AbortController();
    const following = followSuppressions(
      { log, ...quiet, clock: { sleep: async () => stopping.abort() } },
      stopping.signal,
    );
    await expect(following).rejects.toThrow('away');
  });
});
