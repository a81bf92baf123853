// What is left of events whose retention has ended: what is named goes from the read models, and an event goes when nothing that it told is there any more.

import { expect, it } from '@jest/globals';

import type {
  BatchAccepted,
  DomainEvent,
  NotificationRequested,
  NotificationsForgotten,
  ProviderReported,
} from '../../src/domain/events.ts';
import type { EventId, NotificationId } from '../../src/domain/ids.ts';
import { defaultPartitioning } from '../../src/domain/topics.ts';
import type { DecodedEntry } from '../../src/projections/read-model.ts';
import { notificationIdOf } from '../../src/domain/ids.ts';
import { clocksDifferMs } from '../../src/domain/lease.ts';
import { inboxReadModel } from '../../src/projections/inbox/index.ts';
import { keptOf } from '../../src/projections/notifications/kept-days.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import { judge } from '../../src/retention/remains.ts';
import type { Forgettable } from '../../src/retention/remains.ts';
import type { Folded } from '../projections/folded.ts';
import { folded } from '../projections/folded.ts';
import type { Plan } from '../projections/histories.ts';
import { entriesOf, lifeOf, noon, partition, tenants } from '../projections/histories.ts';

const dayMs = 24 * 60 * 60 * 1000;
const [tenantId] = tenants as [(typeof tenants)[number]];
const delivered: Plan = {
  tenant: 0,
  channel: 'IN_APP',
  priority: 'DEFAULT',
  recipient: 0,
  template: false,
  requestedAfterMs: 0,
  isScheduled: false,
  isCancelled: false,
  steps: ['succeeded'],
  isRetriedByHand: false,
  isRead: true,
};

/** When no key counts any more. */
const later = {
  now: noon + 10 * dayMs,
  horizon: noon + 5 * dayMs,
  partitions: defaultPartitioning.partitions,
  daysBefore: null,
};

const readerOf = (all: Folded) => ({
  async get<D extends object>(collection: string, ids: readonly string[]): Promise<ReadonlyMap<string, D>> {
    const found = ids.flatMap((id) => {
      const text = all.get(`${collection}/${id}`);
      return text === undefined ? [] : [[id, JSON.parse(text) as D] as const];
    });
    return new Map(found);
  },
});

/** What the read models hold, in one. */
const allOf = async (entries: readonly DecodedEntry[]): Promise<Folded> => {
  const models = await Promise.all([notificationsReadModel, inboxReadModel].map((one) => folded(one, [entries])));
  return new Map(models.flatMap((one) => [...one]));
};

/** As a pass says it, link by link. */
const forgottenOf = (forgettable: readonly Forgettable[], after?: DomainEvent): DecodedEntry[] => {
  let last = after as NotificationsForgotten | undefined;
  return forgettable.flatMap(({ notifications, batchIds, endedDays }) => {
    const ended = [...notifications.values()];
    const records = ended.flatMap(({ record }) => record ?? []);
    const reports = ended.flatMap(({ report }) => report ?? []);
    const sequence: number = (last?.sequence ?? 0) + 1;
    last = {
      type: 'NotificationsForgotten',
      eventId: `forgotten-${sequence}` as EventId,
      occurredAt: noon + 10 * dayMs,
      tenantId,
      traceparent: null,
      partition,
      sequence,
      follows: last?.eventId ?? null,
      notificationIds: [...notifications.keys()],
      batchIds: [...batchIds],
      kept: keptOf(records, reports),
      endedDays: [...endedDays],
    };
    return entriesOf([last]);
  });
};

const idsOf = (forgettable: readonly Forgettable[]): NotificationId[] =>
  forgettable.flatMap(({ notifications }) => [...notifications.keys()]);

it('an item that was read while it was forgotten goes, and what it was read by stays until then', async () => {
  const life = lifeOf(delivered, 2);
  const read = entriesOf(life.filter(({ type }) => type === 'InboxRead'));
  const history = entriesOf(life.filter(({ type }) => type !== 'InboxRead'));
  const { forgettable } = await judge(readerOf(await allOf(history)), history, later);
  const told = forgottenOf(forgettable);
  const grown = await allOf([...history, ...told, ...read]);
  const judged = await judge(readerOf(grown), read, later);
  expect({ kept: judged.kept, ids: idsOf(judged.forgettable) }).toEqual({ kept: [0], ids: idsOf(forgettable) });
  const again = forgottenOf(judged.forgettable, told.at(-1)?.event);
  const after = await allOf([...history, ...told, ...read, ...again]);
  expect([...after.keys()].filter((key) => key.startsWith('inbox'))).toEqual([]);
  expect(await judge(readerOf(after), read, later)).toEqual({ kept: [], forgettable: [] });
});

it('what an item was read by stays as long as the item, with its record', async () => {
  const life = lifeOf(delivered, 2);
  const other = lifeOf(delivered, 4);
  const all = await allOf(entriesOf([...life, ...other]));
  const reads = entriesOf([...life, ...other]).filter(({ event }) => event.type === 'InboxRead');
  expect(await judge(readerOf(all), reads, later)).toEqual({ kept: [0, 1], forgettable: [] });
});

it('what came under an Idempotency-Key stays with all its events until the key is over, however short retention is', async () => {
  const history = entriesOf(lifeOf(delivered, 2));
  const [first] = history;
  const id = first !== undefined && 'notificationId' in first.event ? first.event.notificationId : null;
  const reader = readerOf(await allOf(history));
  const at = (now: number) => judge(reader, history, { ...later, now });
  const all = history.map(({ offset }) => offset);
  for (const now of [noon + 1, noon + dayMs, noon + dayMs + clocksDifferMs - 1])
    expect(await at(now)).toEqual({ kept: all, forgettable: [] });
  expect(idsOf((await at(noon + dayMs + clocksDifferMs)).forgettable)).toEqual([id]);
  // It was requested by a clock that was ahead: no repeat of today finds it.
  expect(idsOf((await at(noon - 2 * dayMs)).forgettable)).toEqual([id]);
});

it('what came without one goes at once', async () => {
  const notificationId = notificationIdOf(new Uint8Array([0, 0, 0, 0, 0, 1, ...new Uint8Array(10)]));
  const life = lifeOf({ ...delivered, channel: 'EMAIL' }, 2);
  const history = entriesOf(life.map((event) => ({ ...event, notificationId }) as DomainEvent));
  const { forgettable } = await judge(readerOf(await allOf(history)), history, { ...later, now: noon + 1 });
  expect(idsOf(forgettable)).toEqual([notificationId]);
});

it('what a restored backup holds stays with all its events from then on, and not for good', async () => {
  const heldAt = noon + 10 * dayMs;
  const life = lifeOf({ ...delivered, steps: ['final'] }, 2);
  const coded = (code: string) =>
    entriesOf(life.map((event) => (event.type === 'AttemptFailed' ? { ...event, occurredAt: heldAt, code } : event)));
  const at = async (afterMs: number, code = 'RESTORED') => {
    const [history, now] = [coded(code), heldAt + afterMs];
    const { kept, forgettable } = await judge(readerOf(await allOf(history)), history, {
      ...later,
      now,
      horizon: now - 2 * dayMs,
    });
    return [kept.length, idsOf(forgettable).length];
  };
  for (const afterMs of [0, dayMs, 2 * dayMs]) expect(await at(afterMs)).toEqual([life.length, 0]);
  expect(await at(2 * dayMs + 1)).toEqual([life.length, 1]);
  // By a clock that was ahead.
  expect(await at(-3 * dayMs)).toEqual([life.length, 1]);
  expect(await at(0, '550')).toEqual([life.length, 1]);
});

it('a batch stays as long as one of its notifications does, and goes with what was said of it', async () => {
  // Both are of one batch, of which one waits.
  const waiting = lifeOf({ ...delivered, isScheduled: true, steps: [] }, 1);
  const ended = lifeOf(delivered, 3);
  const accepted = acceptedOf(ended);
  const history = entriesOf([...waiting, ...ended, accepted]);
  const batches = (of: readonly Forgettable[]) => of.flatMap(({ batchIds }) => [...batchIds]);
  const place = history.at(-1)?.offset;
  const first = await judge(readerOf(await allOf(history)), history, later);
  expect({ batches: batches(first.forgettable), ids: idsOf(first.forgettable).length }).toEqual({
    batches: [],
    ids: 1,
  });
  expect(first.kept).toContain(place);
  const told = forgottenOf(first.forgettable);
  const some = await judge(readerOf(await allOf([...history, ...told])), history.slice(-1), later);
  expect(some).toEqual({ kept: [place], forgettable: [] });
  const none = entriesOf([...ended, accepted]);
  const over = await judge(readerOf(await allOf([...none, ...told])), none.slice(-1), later);
  expect(batches(over.forgettable)).toEqual([accepted.batchId]);
  const after = await allOf([...none, ...told, ...forgottenOf(over.forgettable, told.at(-1)?.event)]);
  expect([...after.keys()].filter((key) => key.startsWith('batches'))).toEqual([]);
});

it('a day that is kept for reports alone ends with the others, and what told of it goes', async () => {
  const life = lifeOf({ ...delivered, channel: 'EMAIL' }, 2);
  const [first] = life;
  if (first?.type !== 'NotificationRequested') throw new Error('it was requested');
  const history = entriesOf([...life, openedOf(first, noon + 3 * dayMs)]);
  const { forgettable } = await judge(readerOf(await allOf(history)), history, later);
  const told = forgottenOf(forgettable);
  const over = { ...later, daysBefore: noon + 9 * dayMs };
  const ended = await judge(readerOf(await allOf([...history, ...told])), told, over);
  const again = forgottenOf(ended.forgettable, told.at(-1)?.event);
  const after = await allOf([...history, ...told, ...again]);
  expect([...after.keys()].filter((key) => key.includes('statistics'))).toEqual([]);
  expect(await judge(readerOf(after), told, over)).toEqual({ kept: [], forgettable: [] });
});

function openedOf({ notificationId, channel }: NotificationRequested, reportedAt: number): ProviderReported {
  const envelope = { eventId: 'report-1' as EventId, occurredAt: reportedAt, tenantId, traceparent: null };
  const what = { provider: 'sendgrid', report: 'opened', permanent: false, reason: null, recipient: 'ada' } as const;
  return { type: 'ProviderReported', ...envelope, notificationId, partition, channel, reportedAt, ...what };
}

function acceptedOf(life: readonly DomainEvent[]): BatchAccepted {
  const [first] = life;
  const batchId = first?.type === 'NotificationRequested' ? first.request.batchId : null;
  if (batchId === null) throw new Error('it came in no batch');
  const envelope = { eventId: 'batch-1' as EventId, occurredAt: noon, tenantId, traceparent: null };
  return { type: 'BatchAccepted', ...envelope, partition, batchId, accepted: 2, rejected: 7 };
}
