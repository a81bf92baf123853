// Recipients and tenants that are erased in a world: who asks for it, what each process knows of it, and what must never happen from then on.

import { createSecretBox } from '../../src/adapters/node/secret-box.ts';
import { eraseRecords } from '../../src/commands/erase-records.ts';
import { eraseTenant, startTenantErasure } from '../../src/commands/erase-tenant.ts';
import { startErasure } from '../../src/commands/start-erasure.ts';
import { startJob } from '../../src/commands/start-job.ts';
import type { Erasures } from '../../src/domain/erasure.ts';
import type { DomainEvent, WorkEvent } from '../../src/domain/events.ts';
import type { NotificationId, TenantId } from '../../src/domain/ids.ts';
import type { NotificationFacts } from '../../src/domain/notification.ts';
import { noTrace } from '../../src/domain/trace-context.ts';
import type { EventLog, LogEntry } from '../../src/ports/event-log.ts';
import { createSimulatedJobs, type SharedJobs } from './jobs.ts';
import type { Machine } from './machine.ts';
import type { ErasurePlan, Plan } from './plan.ts';
import type { World } from './world.ts';

/** Of all processes. */
export const secretBox = createSecretBox('a secret of the simulated worlds');

/** The host of all recipients: whatever has it shows one. */
const receiverHost = 'receiver.example';

export function recipientOf(number: number): string {
  return `https://${receiverHost}/${number}`;
}

/** What only this notification says: in its body, its metadata, and what its receiver answers. */
export function secretOf(id: NotificationId): string {
  return Array.from(id.slice(-16)).toReversed().join('');
}

/** An entry as a process sees it by what it knows: decoding an erasure notes it. */
export function seenBy(erasures: Erasures, entry: LogEntry): LogEntry {
  const { event } = entry;
  if (event === null) return entry;
  return {
    ...entry,
    get event() {
      erasures.note(event);
      return erasures.shown(event);
    },
  };
}

/** Asks for what the plan wants, as the API and the command do for their callers. */
export function createErasingClient(
  { plan, time, random, faults, witness }: World,
  { machine, log, shared }: { readonly machine: Machine; readonly log: EventLog; readonly shared: SharedJobs },
) {
  const jobs = createSimulatedJobs({ machine, shared, time, random, faults });
  const { clock } = machine;
  const takeOn = startErasure({ log, secretBox, startJob: startJob({ jobs, clock }) });
  const eraseThese = eraseRecords({ log, clock });
  const ofTenant = tenantErasing({ machine, log, jobs });

  const recordsOf = (tenantId: TenantId, recipient: string): NotificationFacts[] =>
    [...witness.all().values()].filter((facts) => facts.tenantId === tenantId && facts.recipient === recipient);

  return async ({ tenant, recipient: number, isAtOnce }: ErasurePlan): Promise<void> => {
    const tenantId = plan.tenants[tenant]?.id ?? ('tnt_0' as TenantId);
    if (number === null) {
      if ((await startTenantErasure({ jobs, clock })(tenantId, 0)) !== null) await ofTenant(tenantId);
      return;
    }
    const recipient = recipientOf(number);
    const records = isAtOnce ? recordsOf(tenantId, recipient) : [];
    const of = { tenantId, actor: null };
    const asked = { ...of, channel: plan.channel, recipient, total: records.length, ratePerSecond: 20 } as const;
    await takeOn({ ...asked, trace: noTrace });
    if (records.length > 0) await eraseThese({ ...of, records, traceparent: null });
  };
}

/** The settings and the keys go elsewhere: nothing is decided by them here. */
export function tenantErasing(by: {
  readonly machine: Machine;
  readonly log: EventLog;
  readonly jobs: ReturnType<typeof createSimulatedJobs>;
}) {
  const { machine, log, jobs } = by;
  const settings = { eraseTenant: () => machine.ask(() => true) };
  const idempotency = { removeTenant: () => machine.ask(() => undefined) };
  return eraseTenant({ log, settings, idempotency, jobs, clock: machine.clock });
}

/** What is erased, as the log has it, and who acts against it. */
export interface ErasureWitness {
  /** All of them, by when that was durable. */
  readonly notifications: ReadonlyMap<NotificationId, number>;
  readonly tenants: ReadonlyMap<TenantId, number>;
  appended(event: DomainEvent): void;
  /** A process with its knowledge, from its start on. */
  knows(machine: string, erasures: Erasures): void;
  /** Of a process that is about to send this. */
  begun(machine: Machine, work: WorkEvent): void;
  /** A document as it is stored from now on; null: it is gone. */
  written(collection: string, id: string, text: string | null): void;
}

/** Where nothing goes wrong every process has heard of an erasure within so long; where something did, since it was mended. */
const [heardWithinMs, mendedWithinMs] = [250, 5_000];

export function createErasureWitness(by: {
  readonly plan: Plan;
  readonly now: () => number;
  readonly fault: (text: string) => void;
  readonly tenantOf: (id: NotificationId) => TenantId | undefined;
}): ErasureWitness {
  const { plan, now, fault, tenantOf } = by;
  const notifications = new Map<NotificationId, number>();
  const tenants = new Map<TenantId, number>();
  const knowing = new Map<string, { readonly erasures: Erasures; readonly since: number }>();
  /** Documents of what is erased that showed nothing of it any more. */
  const cleaned = new Set<string>();
  const gone = new Set<string>();

  return {
    notifications,
    tenants,
    appended(event) {
      if (event.type === 'TenantErased' && !tenants.has(event.tenantId)) tenants.set(event.tenantId, now());
      if (event.type !== 'RecipientErased') return;
      for (const id of event.notificationIds) if (!notifications.has(id)) notifications.set(id, now());
    },
    knows: (machine, erasures) => void knowing.set(machine, { erasures, since: now() }),
    begun({ name }, { notificationId, tenantId, recipient }) {
      if (recipient === '') fault(`${notificationId} is begun by ${name} without a recipient`);
      const at = Math.min(notifications.get(notificationId) ?? Infinity, tenants.get(tenantId) ?? Infinity);
      const known = knowing.get(name);
      if (at === Infinity || known === undefined) return;
      const what = `${notificationId} of ${tenantId} is begun by ${name}, though it is erased since ${at.toFixed(0)} ms`;
      if (known.erasures.has(notificationId) || known.erasures.hasTenant(tenantId)) fault(`${what}, as that knows`);
      if (known.since > at) fault(`${what}, before that has started`);
      const heardBy = plan.faults.length === 0 ? at + heardWithinMs : Math.max(at, plan.healedAt) + mendedWithinMs;
      if (now() > heardBy) fault(`${what}, of which that should have heard`);
    },
    written(collection, id, text) {
      const tenantId = tenantOf(id as NotificationId);
      const key = `${collection}/${id}`;
      if (tenantId !== undefined && tenants.has(tenantId)) {
        if (text === null) gone.add(key);
        else if (gone.has(key)) fault(`${key} of ${tenantId} was gone, and is there again: ${text}`);
      }
      if (!notifications.has(id as NotificationId)) return;
      if (text === null || !shows(text, id as NotificationId)) cleaned.add(key);
      else if (cleaned.has(key)) fault(`${key} was erased, and is shown again: ${text}`);
    },
  };
}

/** Whether a document of this notification shows anything of it. */
export function shows(text: string, id: NotificationId): boolean {
  return text.includes(receiverHost) || text.includes(secretOf(id));
}
