// Histories as the service writes them: notifications through all their turns, with what crashes repeat, as entries of a log.

import type { Channel, DeliveryRequest, DomainEvent, NotificationEvent, Priority } from '../../src/domain/events.ts';
import { channels, priorities } from '../../src/domain/events.ts';
import type { BatchId, EventId, NotificationId, TenantId } from '../../src/domain/ids.ts';
import { eventIdFrom, notificationIdOf } from '../../src/domain/ids.ts';
import type { Topic } from '../../src/domain/topics.ts';
import { topicOf } from '../../src/domain/topics.ts';
import type { DecodedEntry } from '../../src/projections/read-model.ts';
import fc from '../support/properties.ts';

export const noon = Date.UTC(2026, 10, 21, 12);
export const tenants = ['tnt_a', 'tnt_b'] as TenantId[];
/** All test notifications share one partition number. */
export const partition = 5;

/** made twice: the round's first attempt was made by somebody else as well, who only now says that it failed for good. */
export type Step = 'started' | 'retry' | 'final' | 'succeeded' | 'reported twice' | 'made twice';

export interface Plan {
  readonly tenant: number;
  readonly channel: Channel;
  readonly priority: Priority;
  readonly recipient: number;
  readonly template: boolean;
  /** ms after noon. */
  readonly requestedAfterMs: number;
  readonly isScheduled: boolean;
  readonly isCancelled: boolean;
  readonly steps: readonly Step[];
  readonly isRetriedByHand: boolean;
  readonly isRead: boolean;
}

const anyPlan: fc.Arbitrary<Plan> = fc.record({
  tenant: fc.nat(1),
  channel: fc.constantFrom(...channels),
  priority: fc.constantFrom(...priorities),
  recipient: fc.nat(1),
  template: fc.boolean(),
  // Some days, so that cells of all resolutions are touched.
  requestedAfterMs: fc.integer({ min: 0, max: 3 * 24 * 60 * 60 * 1000 }),
  isScheduled: fc.boolean(),
  isCancelled: fc.boolean(),
  steps: fc.array(fc.constantFrom<Step>('started', 'retry', 'final', 'succeeded', 'reported twice', 'made twice'), {
    maxLength: 5,
  }),
  isRetriedByHand: fc.boolean(),
  isRead: fc.boolean(),
});

/** Entries in the order in which the service would have appended them. */
export const anyHistory: fc.Arbitrary<readonly DecodedEntry[]> = fc
  .array(anyPlan, { minLength: 1, maxLength: 8 })
  .map((plans) => entriesOf(plans.flatMap((plan, i) => lifeOf(plan, i + 1))));

/** The same entries with the topics read side by side in another way: each topic still in its order. */
export function interleaved(entries: readonly DecodedEntry[], seed: number): DecodedEntry[] {
  const random = randomOf(seed);
  const byTopic = [...Map.groupBy(entries, ({ topic }) => topic).values()].map((of) => [...of]);
  const result: DecodedEntry[] = [];
  while (result.length < entries.length) {
    const waiting = byTopic.filter((of) => of.length > 0);
    const next = waiting[Math.floor(random() * waiting.length)]?.shift();
    if (next !== undefined) result.push(next);
  }
  return result;
}

/** Some events appended a second time, later and at offsets of their own. */
export function withRepeats(entries: readonly DecodedEntry[], seed: number): DecodedEntry[] {
  const random = randomOf(seed);
  return entriesOf([...entries, ...entries.filter(() => random() < 0.3)].map(({ event }) => event));
}

/** Cut into batches of 1 to 6. */
export function batches(entries: readonly DecodedEntry[], seed: number): DecodedEntry[][] {
  const random = randomOf(seed);
  const result: DecodedEntry[][] = [];
  for (let at = 0; at < entries.length;) {
    const size = 1 + Math.floor(random() * 6);
    result.push(entries.slice(at, at + size));
    at += size;
  }
  return result;
}

export function entriesOf(events: readonly DomainEvent[]): DecodedEntry[] {
  const ends = new Map<Topic, number>();
  return events.map((event, i) => {
    const topic = topicOf(event);
    const offset = ends.get(topic) ?? 0;
    ends.set(topic, offset + 1);
    return { topic, partition, offset, appendedAt: noon + i, size: 500, head: event, event, undecodable: null };
  });
}

export function requestOf(more: Partial<DeliveryRequest> = {}): DeliveryRequest {
  return {
    subject: 'Hello',
    body: 'Hello Ada',
    bodyFormat: 'text',
    rawSubject: null,
    rawBody: null,
    data: '{"name":"Ada"}',
    metadata: { plan: 'gold' },
    template: null,
    sendAt: null,
    batchId: null,
    tracestate: null,
    baggage: null,
    ...more,
  };
}

export function notificationIdFor(number: number): NotificationId {
  const bytes = new Uint8Array(16);
  bytes[14] = number >> 8;
  bytes[15] = number & 255;
  return notificationIdOf(bytes);
}

const second = 1000;

/** The events of one notification in the order of their causes. */
export function lifeOf(plan: Plan, number: number): DomainEvent[] {
  const id = notificationIdFor(number);
  const tenantId = tenants[plan.tenant] ?? ('tnt_a' as TenantId);
  const requestedAt = noon + plan.requestedAfterMs;
  const recipient = `user-${plan.recipient}`;
  const request = requestOf({
    sendAt: plan.isScheduled ? requestedAt + 60 * second : null,
    // Every other one came in a batch of its tenant's.
    batchId: number % 2 === 1 ? (`batch_of_${tenantId}` as BatchId) : null,
    template: plan.template ? { id: 'tpl_1' as never, name: 'welcome', version: 1 } : null,
  });
  const events: DomainEvent[] = [];
  let [round, attempt, firstAttempt, clock, said] = [1, 1, 1, requestedAt, 0];
  const tell = (type: NotificationEvent['type'], fields: object, eventId?: EventId): EventId => {
    clock += 700;
    const id_ = eventId ?? (`${number}-${++said}` as EventId);
    const { channel, priority } = plan;
    const envelope = { eventId: id_, occurredAt: clock, tenantId, traceparent: null, notificationId: id, requestedAt };
    events.push({ type, ...envelope, channel, priority, recipient, round, partition, ...fields } as NotificationEvent);
    return id_;
  };
  const how = { provider: number % 3 === 0 ? 'q' : 'p', waitedMs: 3, tookMs: 40 };
  const why = () => ({ failureClass: 'provider', code: attempt % 3 === 0 ? null : `5${attempt % 2}0`, message: 'no' });
  const fail = (work: EventId, retryAt: number | null, number = attempt): EventId =>
    tell('AttemptFailed', {
      causeId: work,
      attempt: number,
      firstAttempt,
      ...how,
      ...why(),
      retryAt,
      request: retryAt === null ? null : request,
    });
  const fire = (answered: EventId, causeId: EventId, dueAt: number): EventId =>
    tell('DeliveryDue', { causeId, attempt, firstAttempt, dueAt, request }, eventIdFrom('due', answered));
  const succeed = (work: EventId): EventId =>
    tell('AttemptSucceeded', { causeId: work, attempt, ...how, messageId: null });
  const cancel = (causeId: EventId): DomainEvent[] => {
    tell('CancelRequested', {});
    tell('NotificationCancelled', { causeId });
    return events;
  };

  let work = tell('NotificationRequested', { request }, eventIdFrom('requested', id));
  let firstWork = work;
  if (plan.isScheduled) {
    const dueAt = request.sendAt ?? 0;
    const setBy = tell('DeliveryDeferred', {
      causeId: work,
      attempt,
      firstAttempt,
      reason: 'scheduled',
      dueAt,
      request,
    });
    if (plan.isCancelled) return cancel(setBy);
    work = fire(work, setBy, dueAt);
    firstWork = work;
  }
  for (const step of plan.steps) {
    if (step === 'started') tell('AttemptStarted', { causeId: work, attempt, provider: 'p' });
    if (step === 'succeeded') {
      succeed(work);
      if (plan.isRead && plan.channel === 'IN_APP') events.push(readOf(id, tenantId, recipient, clock + second));
      return events;
    }
    if (step === 'final') {
      fail(work, null);
      if (!plan.isRetriedByHand) return events;
      [round, attempt] = [round + 1, attempt + 1];
      firstAttempt = attempt;
      work = tell('RetryRequested', { attempt, request }, eventIdFrom('retry', id, round));
      firstWork = work;
    }
    if (step === 'retry' || step === 'reported twice') {
      const dueAt = clock + 5 * second;
      const setBy = fail(work, dueAt);
      // The process died before it noted what it had finished: the attempt was made and reported again.
      if (step === 'reported twice') fail(work, dueAt + second);
      if (plan.isCancelled) return cancel(setBy);
      attempt++;
      work = fire(work, setBy, dueAt);
    }
    if (step === 'made twice' && attempt > firstAttempt) fail(firstWork, null, firstAttempt);
  }
  return events;
}

function readOf(id: NotificationId, tenantId: TenantId, recipient: string, occurredAt: number): DomainEvent {
  const eventId = `read-${id}` as EventId;
  return {
    type: 'InboxRead',
    eventId,
    occurredAt,
    tenantId,
    traceparent: null,
    recipient,
    partition,
    notificationIds: [id],
  };
}

/** mulberry32: the same numbers for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
