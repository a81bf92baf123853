// Batches: up to 10,000 notifications in one request, read as it comes; and what became of one.

import type { IncomingMessage } from 'node:http';

import type { Commands } from '../../commands/index.ts';
import { badField, notFound } from '../../domain/errors.ts';
import type { BatchId, TenantId } from '../../domain/ids.ts';
import { batchIdOf, isBatchId } from '../../domain/ids.ts';
import { traceContextOfItems } from '../../domain/trace-context.ts';
import type { EventLog, Position } from '../../ports/event-log.ts';
import type { Metrics } from '../../ports/metrics.ts';
import type { ReadModelReader } from '../../ports/read-model-store.ts';
import { countUnsummed, getBatch } from '../../projections/notifications/batches.ts';
import { notificationsReadModel } from '../../projections/notifications/index.ts';
import type { IntakeDependencies, IntakeOf } from '../batch-intake.ts';
import { createIntake, intakeLimits } from '../batch-intake.ts';
import type { BatchFormat, BatchItem } from '../batch-items.ts';
import { batchLimits, batchTooLarge, itemsOf } from '../batch-items.ts';
import { batchSchema } from '../batch-request.ts';
import type { TakenIn } from '../batch-results.ts';
import { resultsBytesMax } from '../batch-results.ts';
import { jsonFormatOf } from '../body.ts';
import type { Input } from '../endpoint.ts';
import { endpoint } from '../endpoint.ts';
import { ClientGoneError } from '../errors.ts';
import { idempotencyKeyHeader } from '../idempotency-key.ts';
import { createFlushTurns } from '../flush-turns.ts';
import { takeOwnTime } from '../own-time.ts';
import type { OwnWrites } from '../own-writes.ts';
import { eventPositionHeader, positionText } from '../position.ts';
import { isoTime } from '../record.ts';
import { ok } from '../respond.ts';

interface Dependencies extends Omit<IntakeDependencies, 'flushTurns'> {
  readonly commands: Pick<Commands, 'acceptNotifications' | 'acceptMade' | 'acceptItemsOnce' | 'recordBatch'>;
  readonly ownWrites: Pick<OwnWrites, 'note' | 'noteAll' | 'follow'>;
  readonly reader: ReadModelReader;
  readonly log: Pick<EventLog, 'partitioning'>;
  readonly metrics: Pick<Metrics, 'increment' | 'gauge'>;
  readonly closing: AbortSignal;
}

export function createBatchHandlers(deps: Dependencies) {
  const { commands, reader, log, metrics, ownWrites, clock, logger, closing } = deps;
  const flushTurns = createFlushTurns(clock);
  // Counted in the items' thread, and from 0 where there is none.
  metrics.increment('herald_items_made_total', {}, 0);
  metrics.gauge('herald_batch_wait_seconds', () => flushTurns.longestWaitMs() / 1000);

  const takeIn = async (of: IntakeOf, { request, room }: Input['unread']): Promise<TakenIn> => {
    const format = jsonFormatOf(request);
    if (Number(request.headers['content-length'] ?? 0) > batchLimits.bytesMax) throw batchTooLarge();
    const timeIsOver = takeOwnTime(request);
    try {
      await room.take(intakeLimits.roomBytes);
      // It went while it waited: nothing would say so a second time.
      if (request.destroyed && !request.complete) throw new ClientGoneError();
      return await readIn(of, request, format);
    } finally {
      timeIsOver();
    }
  };

  /** Whatever ends the reading, what was accepted is accepted: it is counted and recorded. */
  const readIn = async (of: IntakeOf, request: IncomingMessage, format: BatchFormat): Promise<TakenIn> => {
    const intake = createIntake({ ...deps, flushTurns }, of);
    const chunks: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
    const parts = itemsOf(chunks, format);
    let [isGone, isOverdue] = [false, false];
    let taking = Promise.resolve(true);
    const reading = new AbortController();
    const late = (ms: number) => clock.sleep(ms, reading.signal).then(() => 'late' as const);
    const [isSlow, isOver] = [late(intakeLimits.readMaxMs), late(intakeLimits.receivedWithinMs)];
    const isStopped = aborted(closing, reading.signal).then(() => late(intakeLimits.stoppedWithinMs));
    void isStopped.then(() => {
      if (!reading.signal.aborted) intake.stopSoon('The service stops.');
    });
    try {
      for (;;) {
        const arriving = parts.next();
        let part = await Promise.race([isStopped, isOver, arriving]);
        if (part === 'late' && request.complete) part = await arriving;
        isOverdue = part === 'late';
        if (part === 'late' || part.done === true) break;
        taking = intake.take(part.value);
        let goesOn = await Promise.race([taking, isSlow]);
        if (goesOn === 'late') goesOn = await Promise.race([taking, late(intakeLimits.heldMaxMs)]);
        // With all of the body here nobody waits for its room for longer than the log takes.
        if (goesOn === 'late' && request.complete) goesOn = await taking;
        if (goesOn === 'late') intake.stopSoon('Accepting takes too long at the moment.');
        if (goesOn !== true) break;
        if (request.readableLength === 0) intake.rest();
      }
    } catch (error) {
      if (request.complete || !request.destroyed) throw error;
      isGone = true;
    } finally {
      reading.abort();
      void letThrough(parts, request);
    }
    await taking;
    const taken = await intake.end(isOverdue);
    metrics.increment('herald_accepted_total', {}, taken.accepted - taken.replayed);
    metrics.increment('herald_replayed_total', {}, taken.replayed);
    if (taken.refusal !== null) throw taken.refusal;
    if (taken.accepted + taken.rejected === 0 && !isGone)
      throw badField('notifications', 'must have at least one item');
    return taken;
  };

  /** null: nothing is new of it, or the log did not take it; the batch is what its notifications say then, until it is repeated. */
  const record = async (
    { tenantId, batchId, trace: { traceparent } }: IntakeOf,
    taken: TakenIn,
  ): Promise<Position | null> => {
    const { accepted, rejected, replayOf } = taken;
    try {
      const there = replayOf === null ? 0 : await unsummed(tenantId, replayOf);
      if (there === null) return null;
      const counts = { accepted: Math.max(accepted, there), rejected };
      const position = await commands.recordBatch({ tenantId, batchId: replayOf ?? batchId, traceparent, ...counts });
      ownWrites.note(tenantId, position);
      return position;
    } catch (err) {
      logger.warn('a batch was not recorded', { err, batchId: replayOf ?? batchId, accepted, rejected });
      return null;
    }
  };

  /** Of a batch that is repeated, perhaps in part: what was said of the whole of it stays, and is missing where the process of the first died before. */
  const unsummed = async (tenantId: TenantId, batchId: BatchId): Promise<number | null> => {
    await ownWrites.follow(tenantId, [notificationsReadModel]);
    return countUnsummed(reader, tenantId, batchId, log.partitioning.partitions);
  };

  const create = endpoint('apiKey', {
    body: batchSchema,
    bodyIsUnread: true,
    isBatch: true,
    answerBytesMax: resultsBytesMax,
    async handle({ tenant }, { headers: sent, unread }) {
      if (sent[idempotencyKeyHeader] !== undefined)
        throw badField('Idempotency-Key', 'is for one notification: give each item an idempotencyKey');
      const trace = traceContextOfItems(sent);
      const of = { tenantId: tenant.id, batchId: batchIdOf(clock.uuidV7()), trace };
      const taken = await takeIn(of, unread);
      // The repeat of one whose answer was lost is answered as that one: what it made is all that there is.
      const batchId = taken.replayOf ?? of.batchId;
      const position = await record(of, taken);
      if (unread.request.destroyed && !unread.request.complete) throw new ClientGoneError();
      const { accepted, rejected, results } = taken;
      const json = `{"batchId":"${batchId}","accepted":${accepted},"rejected":${rejected},"results":[${results.join(',')}]}`;
      const headers = {
        location: `/api/v1/notify/batch/${batchId}`,
        ...(position === null ? {} : { [eventPositionHeader]: positionText(position) }),
      };
      return { status: 202, json, headers };
    },
  });

  const show = endpoint('apiKey', {
    follows: () => [notificationsReadModel],
    async handle({ tenant }, { params: { id = '' } }) {
      const { partitions } = log.partitioning;
      const batch = isBatchId(id) ? await getBatch(reader, tenant.id, id, partitions) : null;
      if (batch === null) throw notFound('batch');
      return ok({ ...batch, createdAt: isoTime(batch.createdAt) });
    },
  });

  return { create, show };
}

/** Resolves when the one is aborted, or the other, which ends the wait. */
function aborted(signal: AbortSignal, done: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true, signal: done });
    done.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** What comes of a body once nobody reads it any longer; it may be waited for still. */
async function letThrough(parts: AsyncGenerator<Iterable<BatchItem>, void>, request: IncomingMessage): Promise<void> {
  try {
    await parts.return();
  } catch {
    // It is gone.
  }
  if (!request.readableEnded) request.resume();
}
