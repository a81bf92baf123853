// A cancel at any step of a schedule, a send or a retry: whatever comes when, a round has one ending, and nothing is sent after its cancel.
//
// The real folds and the real decision; the log, the dispatcher and the process that decides are a model, which may stand still between any two steps,
// crash between a decision's write and its events, and be told everything twice.

import { describe, expect, it } from '@jest/globals';

import type { NotificationEvent, NotificationRequested } from '../../src/domain/events.ts';
import type { EventId } from '../../src/domain/ids.ts';
import { eventIdFrom } from '../../src/domain/ids.ts';
import type { NotificationFacts } from '../../src/domain/notification.ts';
import { mergeEvent, statusOf } from '../../src/domain/notification.ts';
import type { TimersDocument } from '../../src/projections/timers/document.ts';
import { decide, mergeTimerEvent } from '../../src/projections/timers/document.ts';
import { decisionsOf } from '../../src/scheduler/decisions.ts';
import fc from '../support/properties.ts';
import { requested } from '../support/requested.ts';

const steps = [
  'dispatch: delivered',
  'dispatch: fails, to be retried',
  'dispatch: fails for good',
  'dispatch: deferred by a breaker',
  'cancel',
  'fold work',
  'fold deliveries',
  'fold deliveries again',
  'decide',
  'decide, and crash before it is said',
  'resume',
  'an hour passes',
] as const;
type Step = (typeof steps)[number];

/** What has happened to one notification, as its partition's log has it. */
function makeWorld(isScheduled: boolean) {
  const start = 1_700_000_000_000;
  let now = start;
  let said = 0;
  const request: NotificationRequested = { ...requested(3, 1), occurredAt: start, requestedAt: start };
  const sendAt = isScheduled ? start + 60_000 : null;
  const first: NotificationRequested = { ...request, request: { ...request.request, sendAt } };
  const log: NotificationEvent[] = [first];
  const seen = new Set<string>([first.eventId]);
  /** Work that no dispatcher has answered yet. */
  const work: { readonly event: NotificationEvent; readonly attempt: number }[] = [];
  /** Of each topic: the two are read side by side, and either may lag. */
  const folded = { work: 0, deliveries: 0 };
  const topicOf = ({ type }: NotificationEvent): keyof typeof folded =>
    type === 'NotificationRequested' || type === 'DeliveryDue' ? 'work' : 'deliveries';
  const eventsOf = (topic: keyof typeof folded) => log.filter((event) => topicOf(event) === topic);
  let timers: TimersDocument | null = null;
  const sentAt: number[] = [];

  /** One with an id that was there is dropped by whoever reads it, as dispatchers do. */
  function append(event: NotificationEvent): void {
    log.push(event);
    if (event.type === 'DeliveryDue' && !seen.has(event.eventId)) work.push({ event, attempt: event.attempt });
    seen.add(event.eventId);
  }

  function tell(type: NotificationEvent['type'], fields: object): void {
    const { request: _, ...envelope } = first;
    append({ ...envelope, type, eventId: `e-${++said}` as EventId, occurredAt: now, ...fields } as NotificationEvent);
  }

  const answering = (attempt: number, causeId: EventId) => ({ causeId, attempt, firstAttempt: 1 });
  if (sendAt !== null)
    tell('DeliveryDeferred', {
      ...answering(1, first.eventId),
      reason: 'scheduled',
      dueAt: sendAt,
      request: first.request,
    });
  else work.push({ event: first, attempt: 1 });

  function dispatch(outcome: 'delivered' | 'retry' | 'final' | 'defer'): void {
    const item = work.shift();
    if (item === undefined) return;
    const answer = answering(item.attempt, item.event.eventId);
    const again = { request: first.request };
    if (outcome === 'defer')
      return tell('DeliveryDeferred', { ...answer, ...again, reason: 'breaker', dueAt: now + 5000 });
    sentAt.push(log.length);
    const tried = { ...answer, provider: 'p', waitedMs: 0, tookMs: 1 };
    if (outcome === 'delivered') return tell('AttemptSucceeded', { ...tried, messageId: null });
    const why = { failureClass: 'provider', code: '500', message: 'no' };
    const next = outcome === 'retry' ? { ...again, retryAt: now + 5000 } : { request: null, retryAt: null };
    tell('AttemptFailed', { ...tried, ...why, ...next });
  }

  function fold(topic: keyof typeof folded, from: number): void {
    const events = eventsOf(topic);
    for (const event of events.slice(from)) timers = mergeTimerEvent(timers, event);
    folded[topic] = events.length;
  }

  function decideNow(isSaid: boolean): void {
    if (timers === null) return;
    const before = timers;
    const after = decide(before, { wall: now, steady: now });
    if (after === null) return;
    timers = after;
    if (isSaid) for (const event of decisionsOf(after, now, before)) append(event);
  }

  /** Whoever takes over folds to the end, then says again what stands decided, with the same ids. */
  function resume(): void {
    for (const topic of ['work', 'deliveries'] as const) fold(topic, folded[topic]);
    if (timers !== null) for (const event of decisionsOf(timers, now, null)) append(event);
  }

  const facts = () =>
    log.reduce<NotificationFacts | null>((known, event) => mergeEvent(known, event), null) as NotificationFacts;

  return {
    log,
    work,
    sentAt,
    facts,
    cancel() {
      const status = statusOf(facts());
      if (status === 'SCHEDULED' || status === 'RETRYING') tell('CancelRequested', {});
    },
    take(step: Step) {
      now += 1000;
      switch (step) {
        case 'dispatch: delivered':
          return dispatch('delivered');
        case 'dispatch: fails, to be retried':
          return dispatch('retry');
        case 'dispatch: fails for good':
          return dispatch('final');
        case 'dispatch: deferred by a breaker':
          return dispatch('defer');
        case 'cancel':
          return this.cancel();
        case 'fold work':
          return fold('work', folded.work);
        case 'fold deliveries':
          return fold('deliveries', folded.deliveries);
        case 'fold deliveries again':
          return fold('deliveries', Math.max(0, folded.deliveries - 2));
        case 'decide':
          return decideNow(true);
        case 'decide, and crash before it is said':
          return decideNow(false);
        case 'resume':
          return resume();
        case 'an hour passes':
          now += 3_600_000;
      }
    },
    /** Nothing fails any more: until nothing is left to do. */
    settle() {
      for (let i = 0; i < 20; i++)
        for (const step of ['resume', 'an hour passes', 'decide', 'resume', 'dispatch: delivered'] as const)
          this.take(step);
    },
  };
}

const endingsOf = (log: readonly NotificationEvent[]): Set<string> =>
  new Set(
    log.flatMap((event) => {
      if (event.type === 'NotificationCancelled') return [`cancelled ${event.eventId}`];
      if (event.type === 'AttemptSucceeded') return [`delivered ${event.causeId}`];
      return event.type === 'AttemptFailed' && event.retryAt === null ? [`failed ${event.causeId}`] : [];
    }),
  );

describe('a cancel at any step', () => {
  it('leaves a round with one ending, of the kind that its record shows, and nothing sent after it', () => {
    let cancelled = 0;
    fc.assert(
      fc.property(fc.boolean(), fc.array(fc.constantFrom(...steps), { maxLength: 40 }), (isScheduled, taken) => {
        const world = makeWorld(isScheduled);
        for (const step of taken) world.take(step);
        world.settle();
        const { log, work, sentAt } = world;
        expect(work).toEqual([]);
        const endings = endingsOf(log);
        expect([...endings]).toHaveLength(1);
        const ending = { delivered: 'DELIVERED', failed: 'FAILED', cancelled: 'CANCELLED' };
        expect(ending[[...endings][0]?.split(' ')[0] as keyof typeof ending]).toBe(statusOf(world.facts()));
        const endsAt = log.findIndex(({ type }) => type === 'NotificationCancelled');
        if (endsAt < 0) return;
        cancelled++;
        expect(sentAt.filter((at) => at > endsAt)).toEqual([]);
        expect(log.slice(endsAt).filter(({ type }) => type === 'DeliveryDue')).toEqual([]);
      }),
      { numRuns: 2000 },
    );
    // The property would hold of a cancel that never works.
    expect(cancelled).toBeGreaterThan(50);
  });

  it('that comes while a timer fires counts for the next one of its round', () => {
    const world = makeWorld(false);
    const all: Step[] = [
      'dispatch: fails, to be retried',
      'fold deliveries',
      'an hour passes',
      'decide',
      'cancel',
      'fold deliveries',
      'decide',
      'fold work',
    ];
    for (const step of all) world.take(step);
    expect(statusOf(world.facts())).toBe('RETRYING');
    world.take('dispatch: fails, to be retried');
    world.take('fold deliveries');
    world.take('decide');
    expect(statusOf(world.facts())).toBe('CANCELLED');
    expect(world.log.at(-1)).toMatchObject({
      type: 'NotificationCancelled',
      eventId: eventIdFrom('cancelled', world.log.find(({ type }) => type === 'DeliveryDue')?.eventId ?? ''),
    });
  });
});
