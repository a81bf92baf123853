// Takes the items of a batch in: so many at a time are checked and appended together, so many of these are under way at once, and every item has its own result.

import type { Commands } from '../commands/index.ts';
import { DomainError } from '../domain/errors.ts';
import type { BatchId, TenantId } from '../domain/ids.ts';
import type { TraceContext } from '../domain/trace-context.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { Outbound } from '../ports/outbound.ts';
import type { ThreadTurns } from '../ports/thread-turns.ts';
import type { BatchItem } from './batch-items.ts';
import type { ItemRequest } from './batch-request.ts';
import { batchItem } from './batch-request.ts';
import { parseJson } from './body.ts';
import type { OwnWrites } from './own-writes.ts';
import type { RequestLimits } from './rate-limit.ts';

export const intakeLimits = {
  /** Some 3 ms of the thread: then everybody else has a turn. */
  flushItemsMax: 100,
  flushBytesMax: 128 * 1024,
  /** While one is being appended the next ones are read. */
  flushesMax: 4,
  /** Taken of what bodies may take: four flushes, and the item that is being read. */
  roomBytes: 1024 * 1024,
  /** Past it a rejection says what is wrong in one sentence, without its details. */
  resultsBytesMax: 2 * 1024 * 1024,
} as const;

export interface IntakeDependencies {
  readonly commands: Pick<Commands, 'acceptNotification' | 'acceptOnce'>;
  readonly limits: Pick<RequestLimits, 'items'>;
  readonly ownWrites: Pick<OwnWrites, 'note'>;
  readonly outbound: Pick<Outbound, 'problemWithUrl'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly turns: ThreadTurns;
}

export interface IntakeOf {
  readonly tenantId: TenantId;
  readonly batchId: BatchId;
  readonly trace: TraceContext;
}

export interface TakenIn {
  readonly accepted: number;
  readonly rejected: number;
  /** Of them, those that an item's key had made before. */
  readonly replayed: number;
  /** JSON texts, by index. */
  readonly results: readonly string[];
  /** What is to be said of the whole batch, where nothing of it was accepted and one reason says why. */
  readonly refusal: DomainError | null;
}

interface Waiting {
  readonly index: number;
  readonly bytes: Buffer;
}

interface Checked extends ItemRequest {
  readonly index: number;
}

export function createIntake(deps: IntakeDependencies, { tenantId, batchId, trace }: IntakeOf) {
  const { commands, limits, ownWrites, outbound, clock, logger, turns } = deps;
  const results: string[] = [];
  const underWay = new Set<Promise<void>>();
  let flush: Waiting[] = [];
  let flushBytes = 0;
  let resultsBytes = 0;
  let index = 0;
  const counts = { accepted: 0, rejected: 0, replayed: 0 };
  let stoppedBy: DomainError | null = null;
  /** Why the log took an item not, by its sentence. */
  const unavailable = new Map<string, DomainError>();

  const tell = (at: number, text: string): void => {
    resultsBytes += text.length;
    results[at] = text;
  };
  const reject = (at: number, { code, message, details }: DomainError): void => {
    counts.rejected++;
    const told = resultsBytes < intakeLimits.resultsBytesMax ? details : [];
    tell(at, JSON.stringify({ index: at, code, error: message, details: told }));
  };
  /** The item and whatever is behind it: nothing of that is read. */
  const stop = (at: number, error: DomainError): void => {
    if (stoppedBy !== null) return;
    stoppedBy = error;
    const sentence = `${error.message} This item and whatever is behind it were not taken.`;
    reject(at, new DomainError(error.code, sentence, { details: error.details }));
  };

  const refuse = (at: number, error: unknown): void => {
    if (!(error instanceof DomainError)) logger.error('an item of a batch failed', { err: error, batchId });
    const refusal = error instanceof DomainError ? error : ourFault();
    reject(at, refusal);
    // What isn't there for this one isn't there for the next ones either.
    if (refusal.code === 'SERVICE_UNAVAILABLE') unavailable.set(refusal.message, refusal);
  };

  /** What is asked for; nothing where it is refused. */
  const checked = ({ index: at, bytes }: Waiting): Checked[] => {
    try {
      return [{ index: at, ...batchItem(parseJson(bytes), clock.now(), outbound) }];
    } catch (error) {
      refuse(at, error);
      return [];
    }
  };

  const acceptOne = async ({ index: at, request, key }: Checked): Promise<void> => {
    try {
      const input = { tenantId, trace, ...request };
      const accepted =
        key === null
          ? { ...(await commands.acceptNotification(input, batchId)), isReplayed: false }
          : await commands.acceptOnce({ input, key, batchId });
      counts.accepted++;
      if (accepted.isReplayed) counts.replayed++;
      ownWrites.note(tenantId, accepted.position);
      tell(at, `{"index":${at},"notificationId":"${accepted.notificationId}","status":"queued"}`);
    } catch (error) {
      refuse(at, error);
    }
  };

  const acceptAll = async (items: readonly Waiting[]): Promise<void> => {
    await Promise.all(turns.piece(() => items.flatMap(checked)).map(acceptOne));
  };

  const begin = async (): Promise<void> => {
    if (flush.length === 0) return;
    const items = flush;
    flush = [];
    flushBytes = 0;
    while (underWay.size >= intakeLimits.flushesMax) await Promise.race(underWay);
    for (const error of unavailable.values()) return stop(items[0]?.index ?? index, error);
    const { granted, refusal } = await limits.items(tenantId, items.length);
    const running: Promise<void> = turns
      .as(tenantId, () => acceptAll(items.slice(0, granted)))
      .then(() => void underWay.delete(running));
    underWay.add(running);
    await nextTurn();
    if (refusal !== null) stop(items[granted]?.index ?? index, refusal);
  };

  return {
    /** False: reading stops here. */
    async take(item: BatchItem): Promise<boolean> {
      const at = index++;
      if (item.kind === 'bad') reject(at, item.error);
      if (item.kind === 'end') {
        await begin();
        stop(at, item.error);
      }
      if (item.kind !== 'item') return stoppedBy === null;
      flush.push({ index: at, bytes: item.bytes });
      flushBytes += item.bytes.length;
      if (flush.length >= intakeLimits.flushItemsMax || flushBytes >= intakeLimits.flushBytesMax) await begin();
      return stoppedBy === null;
    },

    /** When all that was taken has its result. */
    async end(): Promise<TakenIn> {
      if (stoppedBy === null) await begin();
      await Promise.all(underWay);
      const [onlyReason] = unavailable.size === 1 ? unavailable.values() : [];
      const reason = counts.rejected <= 1 ? (stoppedBy ?? onlyReason) : onlyReason;
      const refusal = counts.accepted === 0 ? (reason ?? null) : null;
      return { ...counts, results: results.filter((text) => text !== undefined), refusal };
    },
  };
}

function ourFault(): DomainError {
  return new DomainError('INTERNAL_SERVER_ERROR', 'Something went wrong on our side with this item.');
}

/** However fast a body comes, everybody else has a turn of the event loop between two flushes. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
