// Requests with an Idempotency-Key in a world: each process takes them in as the API does, callers repeat them until they are answered, and what must hold of the
// answers.

import { createHash } from 'node:crypto';

import { openIdempotencyStore } from '../../src/adapters/sqlite/idempotency/store.ts';
import { createNotificationRecords } from '../../src/api/notification-records.ts';
import type { NotificationInput } from '../../src/commands/accept-notification.ts';
import { appendNotification, preparePlain } from '../../src/commands/accept-notification.ts';
import type { AcceptedOnce } from '../../src/commands/accept-once.ts';
import { acceptOnce } from '../../src/commands/accept-once.ts';
import { DomainError } from '../../src/domain/errors.ts';
import type { NotificationId, TenantId } from '../../src/domain/ids.ts';
import { noTrace } from '../../src/domain/trace-context.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { EventLog } from '../../src/ports/event-log.ts';
import type { IdempotencyStore } from '../../src/ports/idempotency-store.ts';
import type { Logger } from '../../src/ports/logger.ts';
import type { ReadModelStore } from '../../src/ports/read-model-store.ts';
import { recipientOf } from './erasures.ts';
import type { Machine } from './machine.ts';
import type { KeyedPlan } from './plan.ts';
import { unfoldedIn } from './verdict.ts';
import type { World } from './world.ts';

/** What all processes and callers share. */
export interface SharedKeys {
  readonly store: IdempotencyStore;
  readonly answered: Answered[];
  /** Callers that have no answer yet. */
  readonly waiting: Set<KeyedPlan>;
}

interface Answered {
  readonly wish: KeyedPlan;
  /** null: the key was used for something else. */
  readonly accepted: AcceptedOnce | null;
}

/** As a process takes one in. */
export type AcceptKeyed = (wish: KeyedPlan) => Promise<AcceptedOnce>;

export function createSharedKeys(): SharedKeys {
  return {
    store: openIdempotencyStore({ path: ':memory:', history: { id: 'log', opening: 'first', reachOf: () => null } }),
    answered: [],
    waiting: new Set(),
  };
}

export function createKeyedAccepting(
  { plan, time, random, faults }: World,
  by: {
    readonly machine: Machine;
    readonly shared: SharedKeys;
    readonly log: EventLog;
    readonly store: ReadModelStore;
    readonly logger: Logger;
  },
): AcceptKeyed {
  const { machine, shared, log, store, logger } = by;
  /** The hour of those who take requests in: it may be midnight for them while all this happens. */
  const clock: Clock = { ...machine.clock, now: () => machine.clock.now() + plan.keyedAheadMs };
  const ask = <T>(serve: () => Promise<T>): Promise<T> =>
    machine.ask(async () => {
      const fails = time.now < faults.failsUntil && random.between(1, faults.failOneIn) === 1;
      const isServed = !fails || random.between(0, 1) === 1;
      const answer = isServed ? { value: await serve() } : null;
      if (fails || answer === null) throw new Error('the keys are away');
      return answer.value;
    });
  const keys: IdempotencyStore = {
    reserve: (entry, now) => ask(() => shared.store.reserve(entry, now)),
    find: (place, now) => ask(() => shared.store.find(place, now)),
    takeOver: (entry, leaseUntil) => ask(() => shared.store.takeOver(entry, leaseUntil)),
    settle: (entry) => ask(() => shared.store.settle(entry)),
    release: (entry) => ask(() => shared.store.release(entry)),
    removeTenant: (tenantId) => ask(() => shared.store.removeTenant(tenantId)),
    close: () => Promise.resolve(),
  };
  const accept = acceptOnce({
    prepare: async (input) => preparePlain(input) ?? Promise.reject(new Error('nothing is to be filled in here')),
    append: appendNotification({ log }),
    keys,
    records: createNotificationRecords({ reader: store, log, clock }),
    digest: (text) => createHash('sha256').update(text).digest(),
    limiter: { take: () => Promise.resolve({ allowed: true, remaining: 1, resetMs: 0 }) },
    keyLimit: { limit: 1, windowMs: 1 },
    clock,
    logger,
  });
  return async (wish) => {
    // It arrives, unless nobody is there any more; a process that sleeps takes it in when it wakes.
    await machine.clock.sleep(0);
    return accept({
      input: { ...inputOf(plan.tenants[wish.tenant]?.id, wish), channel: plan.channel },
      key: keyOf(wish),
      batchId: null,
    });
  };
}

function keyOf({ key }: KeyedPlan): string {
  return `key-${key}`;
}

function inputOf(
  tenantId: TenantId = 'tnt_0' as TenantId,
  { priority, content, key, tenant }: KeyedPlan,
): NotificationInput {
  return {
    tenantId,
    channel: 'WEBHOOK',
    recipient: recipientOf(0),
    priority,
    template: null,
    subject: null,
    body: `content ${content}`,
    data: null,
    dataText: '{}',
    metadata: { bytes: '500', key: labelOf({ tenant, key }) },
    strict: null,
    sendAt: null,
    expiry: null,
    replyTo: null,
    cc: [],
    bcc: [],
    transactional: false,
    resendOf: null,
    trace: noTrace,
  };
}

function labelOf({ tenant, key }: Pick<KeyedPlan, 'tenant' | 'key'>): string {
  return `${tenant} ${key}`;
}

/** As long as a caller waits before it asks again, whoever answers then. */
const restMaxMs = 1_500;

/** Asks until it is answered, each time whichever process is there. */
export async function callWithKey(world: World, shared: SharedKeys, wish: KeyedPlan): Promise<void> {
  const { time, random, nodes, trace, witness } = world;
  const after = (ms: number) => new Promise<void>((resolve) => void time.after(ms, resolve));
  shared.waiting.add(wish);
  for (;;) {
    const alive = nodes.filter(({ machine }) => machine.isAlive);
    if (alive.length > 0) {
      const node = random.of(alive);
      const asked = node.acceptKeyed?.(wish) ?? Promise.reject(new Error('nobody takes keys'));
      const answer = await Promise.race([
        asked.catch((error: unknown) => (error instanceof Error ? error : new Error(String(error)))),
        after(wish.patienceMs).then(() => null),
      ]);
      if (answer !== null) trace('caller', labelOf(wish), wish.content, node.machine.name, shown(answer));
      if (answer !== null && (!(answer instanceof Error) || isReused(answer))) {
        shared.answered.push({ wish, accepted: answer instanceof Error ? null : answer });
        shared.waiting.delete(wish);
        return;
      }
      if (answer !== null && !(answer instanceof DomainError) && !isOfStore(answer))
        witness.problems.push(`a caller is told: ${answer.stack}`);
    }
    await after(random.next() * restMaxMs);
  }
}

/** Once the records have what the log has: whatever is in neither of the two nobody can know. */
export function loseKeys(world: World, shared: SharedKeys): void {
  const { time, trace, plan } = world;
  if (unfoldedIn(world).length > 0) {
    time.after(10, () => loseKeys(world, shared));
    return;
  }
  trace('fault', 'the keys are lost');
  for (const { id } of plan.tenants) void shared.store.removeTenant(id);
}

function isReused(error: Error): boolean {
  return error instanceof DomainError && error.code === 'IDEMPOTENCY_KEY_REUSED';
}

/** Answered with 503 by the API. */
function isOfStore({ message }: Error): boolean {
  return message.endsWith('away') || message === 'the connection was lost';
}

function shown(answer: AcceptedOnce | Error): string {
  if (answer instanceof Error) return answer instanceof DomainError ? answer.code : answer.message;
  return `${answer.notificationId}${answer.isReplayed ? ' again' : ''}`;
}

/** Callers that nobody has answered. */
export function unansweredIn({ keys }: World): string[] {
  return [...(keys?.waiting ?? [])].map((wish) => `nobody has answered who asked with key ${labelOf(wish)}`);
}

/** One key is one notification, which has what its first caller asked for; what was accepted is in the log. */
export function keysWrongIn({ keys, plan, brokers }: World): string[] {
  const wrong: string[] = [];
  if (keys === null) return wrong;
  const inLog = new Map<string, Map<NotificationId, string[]>>();
  for (const { event } of brokers.all) {
    const label = event?.type === 'NotificationRequested' ? event.request.metadata['key'] : undefined;
    if (event?.type !== 'NotificationRequested' || label === undefined) continue;
    const ofKey = inLog.get(label) ?? new Map<NotificationId, string[]>();
    inLog.set(label, ofKey);
    ofKey.set(event.notificationId, [...(ofKey.get(event.notificationId) ?? []), event.request.body]);
  }
  const isQuiet = plan.faults.length === 0 && plan.keysLostAt === null && plan.clocksMs === 0;
  for (const [label, ofKey] of inLog) {
    if (ofKey.size > 1)
      wrong.push(`key ${label} has made ${ofKey.size} notifications: ${[...ofKey.keys()].join(', ')}`);
    for (const [id, bodies] of ofKey) {
      if (new Set(bodies).size > 1) wrong.push(`${id} of key ${label} was accepted as ${bodies.join(' and ')}`);
      if (isQuiet && bodies.length > 1) wrong.push(`${id} of key ${label} was appended ${bodies.length} times`);
    }
  }
  for (const [label, ofKey] of Map.groupBy(keys.answered, ({ wish }) => labelOf(wish))) {
    const accepted = ofKey.flatMap((one) => one.accepted ?? []);
    if (accepted.length === 0) wrong.push(`of those who asked with key ${label} nobody was accepted`);
    for (const { notificationId } of accepted)
      if (inLog.get(label)?.has(notificationId) !== true)
        wrong.push(`${notificationId} of key ${label} was accepted, and is not in the log`);
    for (const { wish, accepted: answer } of ofKey) {
      const body = answer === null ? null : inLog.get(label)?.get(answer.notificationId)?.[0];
      const asked = `content ${wish.content}`;
      if (body != null && body !== asked) wrong.push(`who asked for ${asked} with key ${label} was given ${body}`);
      // The other one may have been refused by the log afterwards.
      const isContested = plan.keyed.some((other) => labelOf(other) === label && other.content !== wish.content);
      if (answer === null && !isContested)
        wrong.push(`who asked for ${asked} with key ${label} was told that it was used for something else`);
    }
    if (isQuiet && accepted.filter(({ isReplayed }) => !isReplayed).length !== 1)
      wrong.push(`key ${label} was new to ${accepted.filter(({ isReplayed }) => !isReplayed).length}`);
  }
  return wrong;
}
