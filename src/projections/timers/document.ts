// The timers of one notification, and the pure rules of what events and decisions make of them.
//
//   waiting ──> firing ────> (DeliveryDue folded: gone, its id remembered in `fired`)
//      └──────> cancelled ─> (NotificationCancelled folded: the round has ended, gone)
//
// A cancel that comes once its timer has fired is for the dispatcher (`cancelAsked`), until the attempt has set the next timer or ended the round.
//
// A timer is keyed by the eventId of the DeliveryDue that it becomes, which follows from the work event that its setter answered:
// an attempt made and reported twice sets one timer. When a round ends, by whatever event, its timers and cancels go. Of an attempt that was made twice, by the
// one who lost its number and by the one who has it, one may fail for good when later ones are under way already: those go on, since the last one says how it ends.

import type { StoredRequest } from '../../domain/delivery-request.ts';
import { canonicalRequest } from '../../domain/delivery-request.ts';
import type { AttemptFailed, CancelRequested, DeliveryDeferred, DeliveryDue } from '../../domain/events.ts';
import type { Channel, NotificationEvent, Priority } from '../../domain/events.ts';
import type { EventId, NotificationId, TenantId } from '../../domain/ids.ts';
import { eventIdFrom } from '../../domain/ids.ts';
import type { CollectionDefinition } from '../../ports/read-model-store.ts';

export interface Timer {
  /** The work event that the setter answered, and the setter itself. */
  readonly answered: EventId;
  readonly setBy: EventId;
  readonly round: number;
  readonly attempt: number;
  readonly firstAttempt: number;
  /** UTC ms of the setter, by the clock that `dueAt` was reckoned by; absent in documents of former versions. */
  readonly setAt?: number;
  /** UTC ms. */
  readonly dueAt: number;
  /** firing and cancelled are decided: the event that says so is appended until the fold has seen it. */
  readonly state: 'waiting' | 'firing' | 'cancelled';
  readonly traceparent: string | null;
  readonly request: StoredRequest;
}

export interface TimersDocument {
  readonly notificationId: NotificationId;
  readonly tenantId: TenantId;
  readonly partition: number;
  readonly requestedAt: number;
  readonly channel: Channel;
  readonly priority: Priority;
  readonly recipient: string;
  /** When the next waiting timer is to be decided: its dueAt, or 0 when a cancel is asked for it; null without one. */
  readonly nextDueAt: number | null;
  /** 1 while a timer is decided and the event of it not folded. */
  readonly decided: 1 | null;
  /** 1 while a cancel is asked for and no timer waits for it: what is due is decided by whoever has it in hand. Absent in documents of former versions. */
  readonly cancelAsked?: 1 | null;
  /** Without a timer: the latest occurredAt seen, from which the document is kept for a while; else null. */
  readonly doneAt: number | null;
  readonly updatedAt: number;
  /** A timer was set or a cancel asked; what ended before that says nothing, in whatever order the topics are read. */
  readonly begun: boolean;
  /** The highest round that has ended: no timer and no cancel of it counts any more, but for those of `endedAttempt`. */
  readonly endedRound: number;
  /** Only its attempts up to this one have ended, by one that failed for good: what a later one sets counts. Absent: all of it has. */
  readonly endedAttempt?: number;
  /** Rounds that a person wants stopped and that haven't ended wholly, ascending. */
  readonly cancels: readonly number[];
  /** The DeliveryDues seen of the round that hasn't ended wholly, ascending. */
  readonly fired: readonly EventId[];
  /** By the eventId of the DeliveryDue, ascending. */
  readonly timers: Readonly<Record<string, Timer>>;
}

export const timersCollection: CollectionDefinition = {
  name: 'timers',
  fields: {
    partition: 'number',
    tenantId: 'text',
    priority: 'text',
    nextDueAt: 'number',
    decided: 'number',
    cancelAsked: 'number',
    doneAt: 'number',
  },
  indexes: [
    { fields: ['partition', 'nextDueAt'], sparse: true },
    { fields: ['partition', 'tenantId', 'priority', 'nextDueAt'], sparse: true },
    { fields: ['partition', 'decided'], sparse: true },
    { fields: ['partition', 'cancelAsked'], sparse: true },
    { fields: ['partition', 'doneAt'], sparse: true },
  ],
};

/** The document with one more event told; null when the event matters to no timer. */
export function mergeTimerEvent(before: TimersDocument | null, event: NotificationEvent): TimersDocument | null {
  const document = before ?? emptyDocument(event);
  switch (event.type) {
    case 'DeliveryDeferred':
    case 'AttemptFailed': {
      const timer = timerOf(event);
      if (timer !== null) return withTimer(document, event, timer);
      const isForGood = event.type === 'AttemptFailed' && event.retryAt === null;
      return withEnd(before, event, isForGood ? event.attempt + 1 : undefined);
    }
    case 'AttemptSucceeded':
    case 'NotificationCancelled':
      return withEnd(before, event, undefined);
    case 'CancelRequested':
      return withCancel(document, event);
    case 'DeliveryDue':
      return withFired(document, event);
    default:
      return before;
  }
}

/** What time it is, UTC ms: by the wall clock, and by one that has never gone back. */
export interface Times {
  readonly wall: number;
  readonly steady: number;
}

/**
 * The document with what is to be decided now decided: due timers fire, timers with a cancel asked are cancelled.
 * Null when there is nothing to decide.
 */
export function decide(document: TimersDocument, times: Times): TimersDocument | null {
  let isChanged = false;
  const timers: Record<string, Timer> = {};
  for (const [id, timer] of Object.entries(document.timers)) {
    const state = decidedState(document, timer, times);
    isChanged ||= state !== timer.state;
    timers[id] = state === timer.state ? timer : { ...timer, state };
  }
  return isChanged ? settled(document, document.updatedAt, { timers }) : null;
}

function decidedState(document: TimersDocument, timer: Timer, times: Times): Timer['state'] {
  if (timer.state !== 'waiting') return timer.state;
  if (document.cancels.includes(timer.round)) return 'cancelled';
  return isDue(timer, times) ? 'firing' : 'waiting';
}

/** A `sendAt` and an expiry are times of the wall clock. A retry's delay that was set by a clock that was ahead ends when it has passed. */
function isDue({ dueAt, setAt, request }: Timer, { wall, steady }: Times): boolean {
  const isOfWallClock = dueAt === request.sendAt || dueAt === request.expiresAt;
  const wasSetAhead = !isOfWallClock && setAt !== undefined && setAt > wall;
  return dueAt <= (wasSetAhead ? steady : wall);
}

function timerOf(event: DeliveryDeferred | AttemptFailed): Timer | null {
  const { causeId: answered, eventId: setBy, round, firstAttempt, traceparent, occurredAt: setAt } = event;
  const common = { answered, setBy, round, setAt };
  if (event.request === null) return null;
  const rest = { state: 'waiting' as const, traceparent, request: canonicalRequest(event.request) };
  if (event.type === 'DeliveryDeferred') {
    return { ...common, attempt: event.attempt, firstAttempt, dueAt: event.dueAt, ...rest };
  }
  if (event.retryAt === null) return null;
  return { ...common, attempt: event.attempt + 1, firstAttempt, dueAt: event.retryAt, ...rest };
}

function withTimer(document: TimersDocument, event: DeliveryDeferred | AttemptFailed, timer: Timer): TimersDocument {
  const id = eventIdFrom('due', timer.answered);
  const timers = document.timers[id] === undefined ? { ...document.timers, [id]: timer } : document.timers;
  return settled(document, event.occurredAt, { begun: true, end: begunIn(document, timer.round), timers });
}

/** How far rounds have ended. */
type End = Pick<TimersDocument, 'endedRound' | 'endedAttempt'>;

/** A round begins when the ones before it have ended, whether or not that was seen. */
function begunIn(document: TimersDocument, round: number): End {
  return laterEnd(document, { endedRound: round - 1 });
}

function laterEnd(a: End, b: End): End {
  if (a.endedRound !== b.endedRound) return a.endedRound > b.endedRound ? a : b;
  return (a.endedAttempt ?? Infinity) >= (b.endedAttempt ?? Infinity) ? a : b;
}

function isOver(end: End, { round, attempt }: Pick<Timer, 'round' | 'attempt'>): boolean {
  return isRoundOver(end, round) || (round === end.endedRound && attempt <= (end.endedAttempt ?? Infinity));
}

/** Whether an attempt that is due is over: its round has ended, by whatever. */
export function hasEnded({ endedRound, endedAttempt }: TimersDocument, due: Pick<Timer, 'round' | 'attempt'>): boolean {
  return isOver({ endedRound, ...(endedAttempt === undefined ? {} : { endedAttempt }) }, due);
}

/** Whatever attempt of it sets a timer. */
function isRoundOver({ endedRound, endedAttempt }: End, round: number): boolean {
  return round < endedRound || (round === endedRound && endedAttempt === undefined);
}

/** What is left of those that have fired: all of them are of one round, and go with it. */
function firedOf(document: TimersDocument, end: End): readonly EventId[] {
  const { endedRound, endedAttempt } = document;
  return isRoundOver(end, endedAttempt === undefined ? endedRound + 1 : endedRound) ? [] : document.fired;
}

/** One of a round that has ended says nothing more: its timer doesn't count, whenever it is told. */
function withFired(document: TimersDocument, event: DeliveryDue): TimersDocument {
  const end = begunIn(document, event.round);
  const before = firedOf(document, end);
  const fired = isRoundOver(end, event.round) ? before : added(before, event.eventId);
  return settled(document, event.occurredAt, { end, fired });
}

function withEnd(
  document: TimersDocument | null,
  { round, occurredAt }: { readonly round: number; readonly occurredAt: number },
  endedAttempt: number | undefined,
): TimersDocument | null {
  if (document?.begun !== true) return document;
  const end = endedAttempt === undefined ? { endedRound: round } : { endedRound: round, endedAttempt };
  return settled(document, occurredAt, { end: laterEnd(document, end) });
}

function withCancel(document: TimersDocument, event: CancelRequested): TimersDocument {
  return settled(document, event.occurredAt, {
    begun: true,
    end: begunIn(document, event.round),
    cancels: added(document.cancels, event.round),
  });
}

/** The changes applied, what is over taken away, and the fields of the indexes brought in line; the fields in one order. */
function settled(
  document: TimersDocument,
  occurredAt: number,
  {
    end = document,
    ...changes
  }: Partial<Pick<TimersDocument, 'begun' | 'cancels' | 'fired' | 'timers'>> & { readonly end?: End },
): TimersDocument {
  const { begun, ...told } = { ...document, fired: firedOf(document, end), ...changes };
  const { endedRound, endedAttempt } = end;
  const { fired } = told;
  const updatedAt = Math.max(document.updatedAt, occurredAt);
  const live = Object.entries(told.timers).filter(
    ([id, timer]) => !isOver(end, timer) && !fired.includes(id as EventId),
  );
  const cancels = told.cancels.filter((round) => !isRoundOver(end, round));
  const waiting = live.map(([, timer]) => timer).filter(({ state }) => state === 'waiting');
  const due = waiting.map(({ round, dueAt }) => (cancels.includes(round) ? 0 : dueAt));
  return {
    notificationId: document.notificationId,
    tenantId: document.tenantId,
    partition: document.partition,
    requestedAt: document.requestedAt,
    channel: document.channel,
    priority: document.priority,
    recipient: document.recipient,
    nextDueAt: due.length === 0 ? null : Math.min(...due),
    decided: live.length > waiting.length ? 1 : null,
    cancelAsked: cancels.some((round) => round > endedRound) && live.length === 0 ? 1 : null,
    doneAt: live.length === 0 ? updatedAt : null,
    updatedAt,
    begun,
    endedRound,
    ...(endedAttempt === undefined ? {} : { endedAttempt }),
    cancels,
    fired,
    timers: Object.fromEntries(live.sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

function emptyDocument(event: NotificationEvent): TimersDocument {
  const { notificationId, tenantId, partition, requestedAt, channel, priority, recipient } = event;
  return {
    notificationId,
    tenantId,
    partition,
    requestedAt,
    channel,
    priority,
    recipient,
    nextDueAt: null,
    decided: null,
    cancelAsked: null,
    doneAt: null,
    updatedAt: event.occurredAt,
    begun: false,
    endedRound: 0,
    cancels: [],
    fired: [],
    timers: {},
  };
}

function added<T extends string | number>(values: readonly T[], value: T): readonly T[] {
  if (values.includes(value)) return values;
  return [...values, value].sort((a, b) => (a < b ? -1 : 1));
}
