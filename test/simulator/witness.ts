// Sees everything that happens in a world, and says at once what must never be.

import { namelessProviders } from '../../src/dispatchers/means.ts';
import type { DomainEvent, EventType, NotificationEvent, WorkEvent } from '../../src/domain/events.ts';
import { isNotificationEvent } from '../../src/domain/events.ts';
import type { EventId, NotificationId, TenantId } from '../../src/domain/ids.ts';
import type { NotificationFacts, Status } from '../../src/domain/notification.ts';
import { mergeEvent, statusOf } from '../../src/domain/notification.ts';
import type { Claim, LogEntry } from '../../src/ports/event-log.ts';
import type { Logger } from '../../src/ports/logger.ts';
import type { CommitWitness } from './commits.ts';
import { createCommitWitness } from './commits.ts';
import type { ErasureWitness } from './erasures.ts';
import { createErasureWitness } from './erasures.ts';
import { virtualMs } from './log.ts';
import type { Machine } from './machine.ts';
import type { Plan, TenantPlan } from './plan.ts';
import { isOrderly } from './plan.ts';
import type { AttemptWitness } from './receivers.ts';
import { tooEarly } from './retention.ts';
import type { Trace } from './trace.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface Begun {
  readonly at: number;
  readonly work: WorkEvent;
}

export interface Witness extends AttemptWitness {
  /** What was wrong, in the order in which it was seen. */
  readonly problems: string[];
  /** Notes that something is wrong. */
  readonly fault: (text: string) => void;
  readonly erasures: ErasureWitness;
  readonly begun: (machine: Machine, work: WorkEvent, provider: string) => void;
  readonly begins: readonly Begun[];
  /** Messages by notification, as receivers have taken them. */
  readonly arrivals: ReadonlyMap<NotificationId, number>;
  /** Those that haven't ended, with their status. */
  open(): ReadonlyMap<NotificationId, Status>;
  facts(id: NotificationId): NotificationFacts | undefined;
  all(): ReadonlyMap<NotificationId, NotificationFacts>;
  appended(entry: LogEntry, by: string): void;
  readonly committed: CommitWitness;
  owned(machine: Machine, claim: Claim): void;
  /** The group's coordinator has answered to a member. */
  heard(machine: string): void;
  loggerOf(machine: string): Logger;
}

const endings: ReadonlySet<Status> = new Set(['DELIVERED', 'FAILED', 'CANCELLED']);
/** Of work events by a dispatcher. A cancel that the scheduler says answers none. */
const answering: ReadonlySet<EventType> = new Set<EventType>([
  'AttemptSucceeded',
  'AttemptFailed',
  'DeliveryDeferred',
  'NotificationCancelled',
]);
/** Lines that say that a part of Herald broke. */
const brokenLines: ReadonlySet<string> = new Set([
  'a projector loop broke',
  'a provider threw',
  'an append threw',
  'the dispatcher stops',
  'an event does not decode',
  'a document is too large and is cut',
  'a partition number could not be released',
]);

export function createWitness(by: {
  readonly plan: Plan;
  readonly tenants: ReadonlyMap<TenantId, TenantPlan>;
  readonly time: VirtualTime;
  readonly trace: Trace;
}): Witness {
  const { plan, tenants, time, trace } = by;
  const mayRepeat =
    plan.scenario === 'chaos' ||
    (['jobs', 'erasures', 'keys', 'retention'].includes(plan.scenario) && plan.faults.length > 0) ||
    (plan.scenario === 'crowd' && plan.faults.some(({ kind }) => !isOrderly(kind)));
  const problems: string[] = [];
  const begins: Begun[] = [];
  const arrivals = new Map<NotificationId, number>();
  const facts = new Map<NotificationId, NotificationFacts>();
  const open = new Map<NotificationId, Status>();
  /** By the work event that is answered: when that was durable, and who said so. */
  const answers = new Map<EventId, { readonly at: number; readonly by: string }>();
  /** Of a process on a number, the latest. */
  const claims = new Map<string, { readonly at: number; readonly claim: Claim }>();
  const inFlight = new Map<string, number>();
  const inFlightWork = new Set<string>();
  const heardAt = new Map<string, number>();
  const grants = new Map<TenantId, number>();
  const begunOf = new Map<TenantId, number>();
  const begunWork = new Set<EventId>();
  const forgotten = new Set<NotificationId>();
  /** By which providers a process has tried a work event. */
  const usedBy = new Map<string, Set<string>>();

  const fault = (text: string): void => {
    trace('!', text);
    problems.push(`${time.now.toFixed(0)} ms: ${text}`);
  };
  const count = <K>(counts: Map<K, number>, key: K, by: number): number => {
    const now = (counts.get(key) ?? 0) + by;
    counts.set(key, now);
    return now;
  };

  function checkAnswered(machine: Machine, work: WorkEvent, ownedAt: number): void {
    const answer = answers.get(work.eventId);
    if (answer === undefined) return;
    const what = `${labelOf(work)} is begun by ${machine.name} though its outcome is in the log since ${answer.at.toFixed(0)} ms`;
    if (answer.by === machine.name) fault(`${what}, said by itself`);
    else if (answer.at < ownedAt) fault(`${what}, before its number was taken at ${ownedAt.toFixed(0)} ms`);
  }

  function checkDue(machine: Machine, work: WorkEvent): void {
    // What somebody's clock says is due, another one's may not.
    if (plan.clocksMs === 0 && work.type === 'DeliveryDue' && work.dueAt > machine.clock.now())
      fault(`${labelOf(work)} is begun ${work.dueAt - machine.clock.now()} ms before it is due`);
    const { expiresAt = null } = work.request;
    if (plan.clocksMs === 0 && expiresAt !== null && machine.clock.now() >= expiresAt)
      fault(`${labelOf(work)} is begun ${machine.clock.now() - expiresAt} ms after it has expired`);
    if (work.type === 'NotificationRequested' && work.request.sendAt !== null)
      fault(`${labelOf(work)} is begun, but it has a sendAt`);
  }

  function checkCaps(machine: Machine, { tenantId }: WorkEvent): void {
    if (count(inFlight, machine.name, 1) > plan.inFlightMax) fault(`${machine.name} has more in flight than it may`);
    if (count(inFlight, `${machine.name} ${tenantId}`, 1) > plan.inFlightPerTenantMax)
      fault(`${machine.name} has more in flight of ${tenantId} than it may`);
    const attempts = count(begunOf, tenantId, 1);
    const isLimited = tenants.get(tenantId)?.maxPerSecond != null;
    if (isLimited && attempts > (grants.get(tenantId) ?? 0)) fault(`${tenantId} is sent more than its rate allows`);
  }

  function checkProvider(event: NotificationEvent, machine: string): void {
    if (event.type !== 'AttemptSucceeded' && event.type !== 'AttemptFailed' && event.type !== 'AttemptStarted') return;
    const { causeId, provider } = event;
    const used = usedBy.get(`${machine} ${causeId}`);
    if (!namelessProviders.some((name) => name === provider) && used?.has(provider) !== true)
      fault(`${labelOf(event)} is said to be made by ${provider}: ${machine} has used ${[...(used ?? [])].join(', ')}`);
  }

  const tenantOf = (id: NotificationId) => facts.get(id)?.tenantId;
  const erasures = createErasureWitness({ plan, now: () => time.now, fault, tenantOf });

  return {
    problems,
    fault,
    erasures,
    begins,
    arrivals,
    open: () => open,
    facts: (id) => facts.get(id),
    all: () => facts,
    granted: (tenantId) => void count(grants, tenantId, 1),
    begun(machine, work, provider) {
      trace(machine.name, 'begins', labelOf(work), provider);
      const used = usedBy.get(`${machine.name} ${work.eventId}`) ?? new Set();
      usedBy.set(`${machine.name} ${work.eventId}`, used.add(provider));
      const { at: ownedAt, claim } = claims.get(`${machine.name} ${work.partition}`) ?? nobody;
      if (claim === null || claim.signal.aborted)
        fault(`${labelOf(work)} is begun by ${machine.name}, which has lost its number`);
      checkAnswered(machine, work, ownedAt);
      erasures.begun(machine, work);
      if (forgotten.has(work.notificationId)) fault(`${labelOf(work)} is begun by ${machine.name}, and is forgotten`);
      const silentMs = time.now - (heardAt.get(machine.name) ?? 0);
      if (silentMs > sessionTimeoutMs)
        fault(
          `${labelOf(work)} is begun by ${machine.name}, of which its group has not heard for ${silentMs.toFixed(0)} ms`,
        );
      const key = `${machine.name} ${work.eventId}`;
      if (inFlightWork.has(key)) fault(`${labelOf(work)} is begun by ${machine.name} while it is in flight there`);
      inFlightWork.add(key);
      checkDue(machine, work);
      checkCaps(machine, work);
      if (!mayRepeat && begunWork.has(work.eventId)) fault(`${labelOf(work)} is begun a second time`);
      begunWork.add(work.eventId);
      begins.push({ at: time.now, work });
    },
    arrived: ({ notificationId }) => void count(arrivals, notificationId, 1),
    over(machine, { tenantId, eventId }) {
      inFlightWork.delete(`${machine.name} ${eventId}`);
      count(inFlight, machine.name, -1);
      count(inFlight, `${machine.name} ${tenantId}`, -1);
    },
    appended(entry, machine) {
      const { event, topic, partition, offset } = entry;
      if (event === null) return;
      erasures.appended(event);
      if (event.type === 'TenantErased')
        for (const id of open.keys()) if (tenantOf(id) === event.tenantId) open.delete(id);
      if (event.type === 'NotificationsForgotten') {
        trace(machine, 'forgets', event.partition, event.sequence, ...event.notificationIds.map((id) => id.slice(-6)));
        for (const what of tooEarly(event, facts)) fault(what);
        for (const id of event.notificationIds) forgotten.add(id);
      }
      if (!isNotificationEvent(event)) return;
      trace(machine, 'appends', `${topic.slice('notifications.'.length)}/${partition}@${offset}`, labelOf(event));
      const isAnswer = answering.has(event.type) && 'causeId' in event;
      if (isAnswer && !answers.has(event.causeId)) answers.set(event.causeId, { at: time.now, by: machine });
      checkProvider(event, machine);
      const { notificationId } = event;
      const merged = mergeEvent(facts.get(notificationId) ?? null, event);
      facts.set(notificationId, merged);
      const status = statusOf(merged);
      // Nobody hears of what is an erased tenant's any more.
      if (endings.has(status) || erasures.tenants.has(event.tenantId)) open.delete(notificationId);
      else open.set(notificationId, status);
    },
    committed: createCommitWitness(fault),
    heard: (machine) => void heardAt.set(machine, time.now),
    owned: (machine, claim) => void claims.set(`${machine.name} ${claim.partition}`, { at: time.now, claim }),
    loggerOf(machine) {
      const line =
        (level: string) =>
        (message: string, fields: object = {}) => {
          trace(machine, `[${level}]`, message, shown(fields));
          if (level === 'error' && brokenLines.has(message))
            fault(`${machine} says: ${message} ${JSON.stringify(shown(fields))}`);
        };
      return { debug() {}, info: line('info'), warn: line('warn'), error: line('error') };
    },
  };
}

/** Then a group gives a member's numbers to others. */
const sessionTimeoutMs = 10_000;
const nobody = { at: 0, claim: null };

function shown(fields: object): object {
  const { err, ...others } = fields as { readonly err?: unknown };
  return err === undefined ? others : { ...others, err: err instanceof Error ? (err.stack ?? err.message) : err };
}

/** Enough to find it in a trace. */
export function labelOf(event: DomainEvent): string {
  if (!isNotificationEvent(event)) return event.type;
  const { type, notificationId, tenantId, round, priority } = event;
  const id = notificationId.slice(-6);
  const attempt = 'attempt' in event ? `#${event.attempt}` : '';
  const at = 'dueAt' in event ? ` due ${virtualMs(event.dueAt)}` : '';
  const retryAt = 'retryAt' in event && event.retryAt !== null ? ` retry ${virtualMs(event.retryAt)}` : '';
  return `${type} ${id} ${tenantId} ${priority} round ${round}${attempt}${at}${retryAt} ${event.eventId.slice(0, 8)}`;
}
