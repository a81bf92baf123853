// Says of a batch that was read to its end how many of its items were accepted.

import type { BatchAccepted } from '../domain/events.ts';
import { eventIdFrom } from '../domain/ids.ts';
import { batchPartition } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, Position } from '../ports/event-log.ts';
import { appendDurably } from './append.ts';

interface Dependencies {
  readonly log: Pick<EventLog, 'append' | 'partitioning'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** @throws DomainError SERVICE_UNAVAILABLE */
export function recordBatch({ log, clock }: Dependencies) {
  return (
    batch: Pick<BatchAccepted, 'tenantId' | 'traceparent' | 'batchId' | 'accepted' | 'rejected'>,
  ): Promise<Position> => {
    const { tenantId, batchId } = batch;
    const eventId = eventIdFrom('batch', batchId);
    const partition = batchPartition(tenantId, batchId, log.partitioning);
    const event: BatchAccepted = { ...batch, type: 'BatchAccepted', eventId, occurredAt: clock.now(), partition };
    return appendDurably(log, event, 'The batch');
  };
}
