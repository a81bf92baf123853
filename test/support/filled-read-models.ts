// Read models filled by their own folds, so that every index has more rows of a tenant than a page may look at.

import type {
  Channel,
  DomainEvent,
  FailureClass,
  NotificationRequested,
  ProviderReported,
} from '../../src/domain/events.ts';
import { priorities } from '../../src/domain/events.ts';
import type { BatchId, EventId, TemplateId, TenantId } from '../../src/domain/ids.ts';
import type { Write } from '../../src/ports/read-model-store.ts';
import type { ReadModelStore } from '../../src/ports/read-model-store.ts';
import { inboxReadModel } from '../../src/projections/inbox/index.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import type { DecodedEntry, ReadModel } from '../../src/projections/read-model.ts';
import { offsetsAfter } from '../../src/projections/read-model.ts';
import { searchReadModel } from '../../src/projections/search/index.ts';
import type { TimersDocument } from '../../src/projections/timers/document.ts';
import { decide, mergeTimerEvent, timersCollection } from '../../src/projections/timers/document.ts';
import { timersReadModel } from '../../src/projections/timers/index.ts';
import { entriesOf, noon, notificationIdFor, partition, requestOf } from '../projections/histories.ts';

export const tenant = 'tnt_a' as TenantId;
export const recipient = 'user-0';
export const template = 'welcome';
export const batch = 'batch_1' as BatchId;
export const provider = 'p';
/** Of all that are delivered. */
export const messageId = 'm-1';
/** Of all that failed. */
export const failureClass: FailureClass = 'recipient';
export const code = '550';
export const minuteMs = 60_000;
/** One a minute from noon on. */
export const notifications = 6000;

const eventsPerBatch = 500;

/** Of each index's leading value, and of each term of a search, more than a page may look at; of the channel SMS a single one, the oldest. */
export async function fillAllButTimers(store: ReadModelStore): Promise<void> {
  const numbers = Array.from({ length: notifications }, (_, i) => i);
  const lives = numbers.flatMap(lifeOf);
  const read = numbers.filter((i) => channelOf(i) === 'IN_APP' && i % 8 === 0).map((i) => notificationIdFor(i + 1));
  for (let at = 0; at < read.length; at += 10) {
    const occurredAt = noon + at;
    const of = { recipient, partition, notificationIds: read.slice(at, at + 10), traceparent: null, tenantId: tenant };
    lives.push({ type: 'InboxRead', eventId: `read-${at}` as EventId, occurredAt, ...of });
  }
  lives.push(...numbers.filter((i) => channelOf(i) === 'EMAIL').map(reportOf));
  const entries = entriesOf(lives);
  await fold(store, notificationsReadModel, entries);
  await fold(store, inboxReadModel, entries);
  await fold(store, searchReadModel, entries);
}

/** Waiting, done for longer than they are kept, and decided: of each more than the scheduler takes at a time. */
export async function fillTimers(store: ReadModelStore, now: number, generation = 1): Promise<void> {
  await store.prepare(timersReadModel.definition);
  let owner = await store.own(timersReadModel.definition.name, partition, { generation });
  const dayMs = 24 * 60 * minuteMs;
  const kinds = [
    (i: number) => timerOf(i, { retryAt: now + dayMs + i }),
    (i: number) => withoutTimer(i, now - 8 * dayMs + i),
    (i: number) => decide(timerOf(i, { retryAt: now - 1 }), { wall: now, steady: now }),
    (i: number) => cancelAskedOf(i, now),
    (i: number) => timerOf(i, { retryAt: now - 1 }),
  ];
  for (let from = 0; from < 3000; from += eventsPerBatch) {
    const writes = Array.from({ length: eventsPerBatch }, (_, i): Write => {
      const document = kinds[i % kinds.length]?.(from + i) ?? null;
      return { collection: timersCollection.name, id: notificationIdFor(from + i + 1), document };
    });
    owner = await store.transact(owner, new Map(), writes);
  }
}

async function fold(store: ReadModelStore, readModel: ReadModel, all: readonly DecodedEntry[]): Promise<void> {
  const { definition, topics, types } = readModel;
  await store.prepare(definition);
  const entries = all.filter(({ topic, event }) => topics.includes(topic) && types?.has(event.type) !== false);
  let owner = await store.own(definition.name, partition, { generation: 1 });
  for (let at = 0; at < entries.length; at += eventsPerBatch) {
    const some = entries.slice(at, at + eventsPerBatch);
    owner = await store.transact(owner, offsetsAfter(some), await readModel.fold(some, store));
  }
}

function channelOf(i: number): Channel {
  if (i === 0) return 'SMS';
  return i % 2 === 0 ? 'IN_APP' : 'EMAIL';
}

function envelopeOf(i: number) {
  return {
    tenantId: tenant,
    traceparent: null,
    notificationId: notificationIdFor(i + 1),
    requestedAt: noon + i * minuteMs,
    occurredAt: noon + i * minuteMs,
    channel: channelOf(i),
    priority: priorities[Math.floor(i / 7) % priorities.length] ?? 'HIGH',
    recipient: i % 10 < 8 ? recipient : 'user-1',
    round: 1,
    partition,
  };
}

const outcome = { attempt: 1, provider, waitedMs: 3, tookMs: 40 };

function lifeOf(i: number): DomainEvent[] {
  const requested: NotificationRequested = {
    type: 'NotificationRequested',
    eventId: `work-${i}` as EventId,
    ...envelopeOf(i),
    request: requestOf({
      template: i % 10 < 7 ? { id: 'tpl_1' as TemplateId, name: template, version: 1 } : null,
      batchId: i % 10 < 6 ? batch : null,
    }),
  };
  if (i % 50 === 4) return [requested];
  const answered = { eventId: `done-${i}` as EventId, ...envelopeOf(i), causeId: requested.eventId, ...outcome };
  if (i % 5 > 2) {
    const why = { failureClass, code, message: 'no', firstAttempt: 1, retryAt: null, request: null };
    return [requested, { type: 'AttemptFailed', ...answered, ...why }];
  }
  return [requested, { type: 'AttemptSucceeded', ...answered, messageId }];
}

function reportOf(i: number): ProviderReported {
  const { tenantId, notificationId, channel, requestedAt: reportedAt, recipient: to, traceparent } = envelopeOf(i);
  const of = { tenantId, notificationId, partition, channel, reportedAt, occurredAt: reportedAt, traceparent };
  const said = { provider: 'p', report: 'delivered', recipient: to, permanent: false, reason: null } as const;
  return { type: 'ProviderReported', eventId: `reported-${i}` as EventId, ...of, ...said };
}

function timerOf(i: number, { retryAt }: { readonly retryAt: number }): TimersDocument {
  const why = { failureClass: 'provider', code: '500', message: 'no' } as const;
  const ids = { eventId: `failed-${i}` as EventId, causeId: `work-${i}` as EventId };
  const retry = { firstAttempt: 1, retryAt, request: requestOf() };
  return told(mergeTimerEvent(null, { type: 'AttemptFailed', ...envelopeOf(i), ...ids, ...outcome, ...why, ...retry }));
}

function withoutTimer(i: number, doneAt: number): TimersDocument {
  const ids = { eventId: `due-${i}` as EventId, causeId: `failed-${i}` as EventId };
  const due = { attempt: 2, firstAttempt: 1, dueAt: doneAt, request: requestOf(), occurredAt: doneAt };
  return told(mergeTimerEvent(null, { type: 'DeliveryDue', ...envelopeOf(i), ...ids, ...due }));
}

/** Of one that is due already, and is to be stopped. */
function cancelAskedOf(i: number, now: number): TimersDocument {
  const cancel = { type: 'CancelRequested', ...envelopeOf(i), eventId: `cancel-${i}` as EventId } as const;
  return told(mergeTimerEvent(withoutTimer(i, now), cancel));
}

function told(document: TimersDocument | null): TimersDocument {
  if (document === null) throw new Error('the event matters to no timer');
  return document;
}
