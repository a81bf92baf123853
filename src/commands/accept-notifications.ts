// Accepts many notifications of one tenant: what of its settings they need is asked for once, nothing is waited for one by one, and a slice is appended together.

import type { NotificationRequested } from '../domain/events.ts';
import { type BatchId, notificationIdOf, type TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { AppendResult, EventLog } from '../ports/event-log.ts';
import type { Accepted, NotificationInput } from './accept-notification.ts';
import { notAppended, requested, withoutKey } from './accept-notification.ts';
import type { AcceptedOnce } from './accept-once.ts';
import type { Preparation, prepareItems, Refused } from './prepare-items.ts';

/** What became of one of them; `error` is what acceptNotification throws. */
export type Outcome =
  | ({ readonly kind: 'accepted' } & ((Accepted & { readonly isReplayed: false }) | AcceptedOnce))
  | Refused;

interface Dependencies {
  readonly prepare: ReturnType<typeof prepareItems>;
  readonly log: Pick<EventLog, 'appendAll' | 'partitioning'>;
  readonly clock: Pick<Clock, 'now' | 'uuidV7'>;
}

/** Outcomes are in the order of the inputs, a slice at a time: of what is behind it nothing is done until it is asked for. */
export function acceptNotifications({ prepare, log, clock }: Dependencies) {
  return async function* (
    tenantId: TenantId,
    inputs: readonly NotificationInput[],
    batchId: BatchId,
  ): AsyncGenerator<readonly Outcome[], void> {
    for await (const slice of prepare(tenantId, inputs)) yield await appended({ log, clock }, slice, batchId);
  };
}

async function appended(
  { log, clock }: Pick<Dependencies, 'log' | 'clock'>,
  slice: readonly Preparation[],
  batchId: BatchId,
): Promise<readonly Outcome[]> {
  const requestedAt = clock.now();
  const events: NotificationRequested[] = [];
  for (const one of slice) {
    if ('kind' in one) continue;
    const notificationId = notificationIdOf(clock.uuidV7());
    events.push(requested(one, { notificationId, requestedAt, batchId }, log));
  }
  const results = await log.appendAll(events);
  let next = 0;
  return slice.map((one) => ('kind' in one ? one : outcomeOf(events[next], results[next++])));
}

function outcomeOf(event: NotificationRequested | undefined, result: AppendResult | undefined): Outcome {
  if (event === undefined || result === undefined) throw new Error('the log has not answered for each event');
  if (result.kind !== 'durable') return { kind: 'refused', error: notAppended(result.kind, withoutKey) };
  const { notificationId } = event;
  return { kind: 'accepted', notificationId, position: result.position, isReplayed: false };
}
