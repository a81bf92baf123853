// What the log alone says of the notifications of one partition number: accepted, ended, or waiting and for whom. Holds those that haven't ended yet.
//
//   work event ──> waits for its dispatcher ──answered with a later time──> waits for the scheduler ──DeliveryDue──> waits for its dispatcher ...
//                                           └─ended────────────────────────> out of the ledger; a retry by hand brings it back, and so does a later attempt
//                                                                              of the round, where an earlier one was made twice and failed for good

import { waitsUntil } from '../domain/delivery-request.ts';
import type { NotificationEvent } from '../domain/events.ts';
import { isNotificationEvent } from '../domain/events.ts';
import type { EventId, NotificationId, TenantId } from '../domain/ids.ts';
import { eventIdFrom } from '../domain/ids.ts';
import type { NotificationFacts } from '../domain/notification.ts';
import { attemptCountOf, mergeEvent, statusOf } from '../domain/notification.ts';
import type { LogEntry, Position } from '../ports/event-log.ts';

export interface Known {
  readonly id: NotificationId;
  readonly tenantId: TenantId;
  /** UTC ms. */
  readonly requestedAt: number;
  readonly round: number;
  /** The first event of it and the last, in the order of time. */
  readonly first: Position;
  readonly last: Position;
  /** When the log took the last one, UTC ms. */
  readonly lastAt: number;
}

export interface Open extends Known {
  /** The event that is to be followed by the next: a work event by its outcome, the setter of a timer by its DeliveryDue. */
  readonly waits: { readonly for: 'dispatcher' | 'scheduler'; readonly since: Position; readonly dueAt: number } | null;
}

export interface Ledger {
  takeIn(entry: LogEntry): void;
  /** How many haven't ended. */
  readonly size: number;
  open(): Iterable<Open>;
}

export interface LedgerEvents {
  accepted(of: Known): void;
  /** Its round ended; again after each retry by hand. */
  ended(of: Known): void;
  /** A round after one that had ended began, or it goes on by a later attempt. */
  reopened(of: Known): void;
}

/** Repeats of an append come within seconds, and brokers' clocks differ by as much: of so many that ended last it is known. */
const recentlyEndedMax = 50_000;

interface Ended {
  readonly round: number;
  readonly isAccepted: boolean;
  /** The attempt that failed for good; null: it ended otherwise, and goes no further. */
  readonly failedAttempt: number | null;
}

interface OpenState {
  known: Known;
  facts: NotificationFacts;
  isAccepted: boolean;
  waits: Open['waits'];
  /** Work events whose answer was seen. */
  readonly answered: Set<EventId>;
  /** Work events that were seen. */
  readonly begun: Set<EventId>;
}

export function createLedger(events: LedgerEvents): Ledger {
  const open = new Map<NotificationId, OpenState>();
  const recentlyEnded = new Map<NotificationId, Ended>();

  const begin = (entry: LogEntry, event: NotificationEvent): OpenState => {
    const before = recentlyEnded.get(event.notificationId);
    const state: OpenState = {
      known: knownOf(entry, event),
      facts: mergeEvent(null, withoutRequest(event)),
      // What is in a later round was accepted, however long ago that ended.
      isAccepted: before?.isAccepted ?? event.round > 1,
      waits: null,
      answered: new Set(),
      begun: new Set(),
    };
    open.set(event.notificationId, state);
    if (event.type === 'RetryRequested' || (before !== undefined && goesOn(before, event)))
      events.reopened(state.known);
    return state;
  };

  const accept = (state: OpenState): void => {
    if (state.isAccepted) return;
    state.isAccepted = true;
    events.accepted(state.known);
  };

  const end = (id: NotificationId, state: OpenState): void => {
    open.delete(id);
    const [oldest] = recentlyEnded.keys();
    if (recentlyEnded.size >= recentlyEndedMax && oldest !== undefined) recentlyEnded.delete(oldest);
    const { round } = state.facts;
    const failedAttempt = statusOf(state.facts) === 'FAILED' ? attemptCountOf(state.facts) : null;
    recentlyEnded.set(id, { round, isAccepted: state.isAccepted, failedAttempt });
    events.ended(state.known);
  };

  return {
    takeIn(entry) {
      const { event } = entry;
      if (event === null || !isNotificationEvent(event)) return;
      const id = event.notificationId;
      const ended = recentlyEnded.get(id);
      if (!open.has(id) && ended !== undefined && event.round <= ended.round && !goesOn(ended, event)) {
        if (event.type === 'NotificationRequested' && !ended.isAccepted) {
          recentlyEnded.set(id, { ...ended, isAccepted: true });
          events.accepted(knownOf(entry, event));
        }
        return;
      }
      const state = open.get(id) ?? begin(entry, event);
      const { topic, partition, offset } = entry;
      state.facts = mergeEvent(state.facts, withoutRequest(event));
      state.known = {
        ...state.known,
        round: state.facts.round,
        last: { topic, partition, offset },
        lastAt: entry.appendedAt,
      };
      if (event.type === 'NotificationRequested') accept(state);
      follow(state, entry, event);
      if (isEnded(state.facts)) end(id, state);
    },
    get size() {
      return open.size;
    },
    *open() {
      for (const { known, waits } of open.values()) yield { ...known, waits };
    },
  };
}

/** What is told of a later attempt of the round is what becomes of it: as with the status. */
function goesOn({ round, failedAttempt }: Ended, event: NotificationEvent): boolean {
  if (event.type !== 'AttemptStarted' && event.type !== 'AttemptFailed' && event.type !== 'AttemptSucceeded')
    return false;
  return failedAttempt !== null && event.round === round && event.attempt > failedAttempt;
}

/** Whom it waits for after this event. */
function follow(state: OpenState, { topic, partition, offset }: LogEntry, event: NotificationEvent): void {
  const since = { topic, partition, offset };
  switch (event.type) {
    case 'NotificationRequested':
    case 'RetryRequested':
    case 'DeliveryDue':
      state.begun.add(event.eventId);
      if (state.answered.has(event.eventId)) return;
      state.waits = { for: 'dispatcher', since, dueAt: dueAtOf(event) };
      return;
    case 'DeliveryDeferred':
    case 'AttemptFailed': {
      const dueAt = event.type === 'DeliveryDeferred' ? event.dueAt : event.retryAt;
      state.answered.add(event.causeId);
      // Its timer has fired already, or the round goes no further.
      if (dueAt === null || state.begun.has(eventIdFrom('due', event.causeId))) return;
      state.waits = { for: 'scheduler', since, dueAt };
      return;
    }
    default:
  }
}

function dueAtOf(
  event: Extract<NotificationEvent, { type: 'NotificationRequested' | 'RetryRequested' | 'DeliveryDue' }>,
) {
  if (event.type === 'DeliveryDue') return event.dueAt;
  return waitsUntil(event) ?? (event.type === 'NotificationRequested' ? event.requestedAt : event.occurredAt);
}

export function isEnded(facts: NotificationFacts): boolean {
  const status = statusOf(facts);
  return status === 'DELIVERED' || status === 'FAILED' || status === 'CANCELLED';
}

function knownOf({ topic, partition, offset, appendedAt }: LogEntry, event: NotificationEvent): Known {
  const { notificationId: id, tenantId, requestedAt, round } = event;
  const at = { topic, partition, offset };
  return { id, tenantId, requestedAt, round, first: at, last: at, lastAt: appendedAt };
}

const nothingToSend = {
  subject: null,
  body: '',
  bodyFormat: 'text' as const,
  rawSubject: null,
  rawBody: null,
  data: '{}',
  metadata: {},
  template: null,
  sendAt: null,
  batchId: null,
  tracestate: null,
  baggage: null,
};

/** What is to be sent plays no part in what becomes of it, and would be held in memory. */
function withoutRequest(event: NotificationEvent): NotificationEvent {
  if (!('request' in event) || event.request === null) return event;
  return { ...event, request: nothingToSend };
}
