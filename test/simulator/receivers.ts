// The tenants' side of a world: receivers that answer as planned, settings that may be away, and the limits of their rates.

import { assertNever } from '../../src/domain/assert-never.ts';
import { createFixedWindows } from '../../src/domain/fixed-windows.ts';
import type { DeliveryOutcome } from '../../src/domain/delivery-outcome.ts';
import type { ProviderRole, WorkEvent } from '../../src/domain/events.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import type { RateLimit } from '../../src/domain/tenant.ts';
import type { Delivery, DeliveryContext, Provider, ProviderRegistry } from '../../src/ports/provider-registry.ts';
import type { RateLimitDecision, RateLimiter } from '../../src/ports/rate-limiter.ts';
import type { DeliveryDirectory } from '../../src/ports/tenant-directory.ts';
import type { Random } from '../chaos/random.ts';
import { secretOf } from './erasures.ts';
import type { Machine } from './machine.ts';
import type { Failure, Plan, TenantPlan } from './plan.ts';
import { failures } from './plan.ts';
import type { VirtualTime } from './virtual-time.ts';

/** Told of each attempt. */
export interface AttemptWitness {
  begun(machine: Machine, work: WorkEvent, provider: string): void;
  /** The receiver has taken the message. */
  arrived(work: WorkEvent): void;
  /** For the one who sent it. */
  over(machine: Machine, work: WorkEvent): void;
  granted(tenantId: TenantId): void;
}

export interface SettingsFaults {
  failUntil: number;
}

export function createReceivers(by: {
  readonly channel: Plan['channel'];
  readonly machine: Machine;
  readonly tenants: ReadonlyMap<TenantId, TenantPlan>;
  readonly time: VirtualTime;
  readonly random: Random;
  readonly witness: AttemptWitness;
  readonly healedAt: number;
}): ProviderRegistry {
  const { channel, machine, tenants, time, random, witness, healedAt } = by;

  function send(name: string, delivery: Delivery, { signal }: DeliveryContext): Promise<DeliveryOutcome> {
    // It is the work event itself.
    const work = delivery as WorkEvent;
    const tenant = tenants.get(work.tenantId);
    if (tenant === undefined) throw new Error(`nobody knows ${work.tenantId}`);
    witness.begun(machine, work, name);
    return new Promise((resolve) => {
      let isOver = false;
      const end = (outcome: DeliveryOutcome) => {
        if (isOver) return;
        isOver = true;
        signal.removeEventListener('abort', cut);
        witness.over(machine, work);
        resolve(outcome);
      };
      const cut = () => end(retryable(null, 'cut'));
      signal.addEventListener('abort', cut);
      const failure = downOf(tenant, name, time.now) ?? failureOf(tenant, random, time.now >= healedAt);
      time.after(random.next() * tenant.answerMs, () => {
        if (failure === null || failure === 'lost') witness.arrived(work);
        // The connection of a dead process is closed; what has arrived has arrived.
        if (failure === 'hang' || failure === 'lost' || !machine.isAlive) return;
        answer(() => end(outcomeOf(failure, secretOf(work.notificationId))));
      });
    });
  }

  const answer = (give: () => void): void => {
    if (machine.isFrozen) time.after(50, () => answer(give));
    else if (machine.isAlive) give();
  };

  const providers = [firstName, secondName].map((name): Provider => {
    const send_ = (delivery: Delivery, context: DeliveryContext) => send(name, delivery, context);
    return { channel, name, check: () => [], keyGoesBy: () => ({}), send: send_ };
  });
  return {
    find: (_, wanted) => providers.find(({ name }) => name === wanted) ?? null,
    builtIn: () => null,
    names: () => [firstName, secondName],
  };
}

const [firstName, secondName] = ['receiver', 'other'];

/** null: it does what it does. */
function downOf({ down }: TenantPlan, name: string, now: number): 'error' | 'credentials' | null {
  return name === firstName && down !== null && now >= down.from && now < down.to ? down.how : null;
}

export function createDirectory(by: {
  readonly channel: Plan['channel'];
  readonly machine: Machine;
  readonly tenants: ReadonlyMap<TenantId, TenantPlan>;
  readonly time: VirtualTime;
  readonly random: Random;
  readonly faults: SettingsFaults;
  /** How long they take to be looked up, at most. */
  readonly settingsMs: number;
}): DeliveryDirectory {
  const { channel, machine, tenants, time, random, faults, settingsMs } = by;
  const ask = <T>(serve: () => T): Promise<T> =>
    machine.ask(async () => {
      if (settingsMs > 0) await new Promise<void>((resolve) => void time.after(random.next() * settingsMs, resolve));
      if (time.now < faults.failUntil) throw new Error('the settings are away');
      return serve();
    });
  const providerOf = (tenantId: TenantId, role: ProviderRole) => {
    const { maxPerSecond: rate = null, hasFallback = false } = tenants.get(tenantId) ?? {};
    if (role === 'fallback' && !hasFallback) return null;
    const config = rate === null ? {} : { maxPerSecond: rate };
    const provider = role === 'primary' ? firstName : secondName;
    const of = { tenantId, channel, role, provider, apiKey: 'whsec_key' } as const;
    return { ...of, config, enabled: true, createdAt: 0, updatedAt: 0 };
  };
  return {
    share: (tenantId) => ask(() => ({ weight: tenants.get(tenantId)?.weight ?? 1, inFlightMax: null })),
    settings: (tenantId) =>
      ask(() => ({
        provider: (_, role) => providerOf(tenantId, role),
        webhookSecret: () => 'whsec_key',
        formerSigners: () => [],
        secrets: () => [],
      })),
    refresh: () => ask(() => undefined),
  };
}

/** One for all processes. */
export function createSharedLimits(time: VirtualTime): (key: string, limit: RateLimit) => RateLimitDecision {
  const windows = createFixedWindows();
  return (key, limit) => windows.pace(key, limit, time.now);
}

export function createLimiter(
  machine: Machine,
  pace: ReturnType<typeof createSharedLimits>,
  witness: AttemptWitness,
): Pick<RateLimiter, 'pace'> {
  return {
    pace: async (key, limit) => {
      // The limiter never rejects: without its server the limit is the process's own; here it is asked again.
      for (;;) {
        try {
          return await machine.ask(() => {
            const decision = pace(key, limit);
            if (decision.allowed) witness.granted((key.split(':')[1] ?? '') as TenantId);
            return decision;
          });
        } catch {
          await machine.clock.sleep(20);
        }
      }
    },
  };
}

/** Once receivers are well again they take everything, but for what they refuse. */
function failureOf({ failing }: TenantPlan, random: Random, isWell: boolean): Failure | null {
  let percent = random.next() * 100;
  for (const failure of failures) {
    percent -= failing[failure];
    if (percent < 0) return isWell && failure !== 'refused' ? null : failure;
  }
  return null;
}

/** @param message what the receiver says, which is of its recipient */
function outcomeOf(failure: 'error' | 'later' | 'refused' | 'credentials' | null, message: string): DeliveryOutcome {
  switch (failure) {
    case null:
      return { kind: 'delivered', messageId: message };
    case 'error':
      return retryable(null, message);
    case 'later':
      return retryable(900, message);
    case 'refused':
      return { kind: 'rejected', reason: { failureClass: 'recipient', code: '410', message } };
    case 'credentials':
      return { kind: 'rejected', reason: { failureClass: 'credentials', code: '401', message } };
    default:
      return assertNever(failure);
  }
}

function retryable(retryAfterMs: number | null, message: string): DeliveryOutcome {
  return { kind: 'retryable', reason: { failureClass: 'provider', code: '500', message }, retryAfterMs };
}
