// Puts a recipient on its tenant's suppression list, and takes it off again.

import { DomainError, notFound } from '../domain/errors.ts';
import type { Channel, SuppressionEvent, SuppressionReason } from '../domain/events.ts';
import type { EventId, TenantId } from '../domain/ids.ts';
import { uuidText } from '../domain/ids.ts';
import {
  comparedRecipient,
  suppressionIdOf,
  suppressionsMax,
  suppressionsOfRecipientsMax,
} from '../domain/suppression.ts';
import { suppressionPartition } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, Position } from '../ports/event-log.ts';
import type { Suppression, SuppressionList } from '../ports/suppressions.ts';
import { appendDurably } from './append.ts';
import { eraseNotifications } from './erase-notifications.ts';
import type { Author } from './record-change.ts';

export interface SuppressionDependencies {
  readonly log: Pick<EventLog, 'append' | 'partitioning'>;
  readonly suppressions: SuppressionList;
  readonly clock: Pick<Clock, 'now' | 'uuidV7' | 'sleep' | 'monotonic'>;
}

export interface SuppressInput {
  readonly tenantId: TenantId;
  /** The `sub` of the token; null: no person's doing. */
  readonly actor: string | null;
  readonly channel: Channel;
  readonly recipient: string;
  readonly reason: SuppressionReason;
}

/** So long an answer waits until this process's list has what was appended; it stands all the same. */
const waitMaxMs = 2000;
const lookEveryMs = 10;

/** The entry, and whether it is new. @throws DomainError CONFLICT, SERVICE_UNAVAILABLE */
export function suppressRecipient(deps: SuppressionDependencies) {
  const { suppressions, clock } = deps;
  return async ({ tenantId, actor, channel, recipient: given, reason }: SuppressInput) => {
    const recipient = comparedRecipient(channel, given);
    const id = suppressionIdOf(tenantId, channel, recipient);
    const there = suppressions.find(tenantId, id);
    if (there !== null) return { entry: there, isNew: false };
    const max = reason === 'manual' ? suppressionsMax : suppressionsOfRecipientsMax;
    if (suppressions.count(tenantId) >= max)
      throw new DomainError('CONFLICT', `A tenant's suppression list has at most ${max} entries.`);
    const occurredAt = clock.now();
    const of = { tenantId, channel, recipient, actor, occurredAt };
    await say(deps, { type: 'RecipientSuppressed', ...envelopeOf(deps, of), ...of, reason });
    const entry: Suppression = { id, channel, recipient, reason, createdAt: occurredAt };
    return { entry: suppressions.find(tenantId, id) ?? entry, isNew: true };
  };
}

/** @throws DomainError NOT_FOUND, SERVICE_UNAVAILABLE */
export function releaseRecipient(deps: SuppressionDependencies) {
  return async ({ tenantId, actor, id }: Author & { readonly id: string }): Promise<void> => {
    const entry = deps.suppressions.find(tenantId, id);
    if (entry === null) throw notFound('suppression');
    const { channel, recipient } = entry;
    const of = { tenantId, channel, recipient, actor, occurredAt: deps.clock.now() };
    await say(deps, { type: 'RecipientReleased', ...envelopeOf(deps, of), ...of });
  };
}

/** Off the list, without a word of whom it was. @throws DomainError SERVICE_UNAVAILABLE */
export function eraseSuppression(deps: SuppressionDependencies) {
  const { log, suppressions } = deps;
  const erase = eraseNotifications(deps);
  return async ({ tenantId, actor, channel, recipient }: Omit<SuppressInput, 'reason'>): Promise<void> => {
    const eventId = suppressions.causeOf(tenantId, suppressionIdOf(tenantId, channel, recipient));
    if (eventId === null) return;
    const partition = suppressionPartition(tenantId, recipient, log.partitioning);
    const position = await erase({ tenantId, actor, partition, notificationIds: [], eventIds: [eventId] });
    await untilListed(deps, position);
  };
}

function envelopeOf(
  { log, clock }: SuppressionDependencies,
  { tenantId, recipient }: Pick<SuppressionEvent, 'tenantId' | 'recipient'>,
): Pick<SuppressionEvent, 'eventId' | 'traceparent' | 'partition'> {
  const eventId = uuidText(clock.uuidV7()) as EventId;
  return { eventId, traceparent: null, partition: suppressionPartition(tenantId, recipient, log.partitioning) };
}

async function say({ log, suppressions, clock }: SuppressionDependencies, event: SuppressionEvent): Promise<void> {
  await untilListed({ log, suppressions, clock }, await appendDurably(log, event, 'The change'));
}

async function untilListed({ suppressions, clock }: SuppressionDependencies, position: Position): Promise<void> {
  const until = clock.monotonic() + waitMaxMs;
  while (!suppressions.hasReached(position) && clock.monotonic() < until) await clock.sleep(lookEveryMs);
}
