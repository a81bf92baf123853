// Takes the items of a batch in: so many at a time are checked and appended together, so many of these are under way at once, and every item has its own result.

import type { NotificationInput } from '../commands/accept-notification.ts';
import type { Commands } from '../commands/index.ts';
import { DomainError, unavailable } from '../domain/errors.ts';
import type { BatchId, NotificationId, TenantId } from '../domain/ids.ts';
import type { TraceContext } from '../domain/trace-context.ts';
import type { Clock } from '../ports/clock.ts';
import type { Position } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import type { Outbound } from '../ports/outbound.ts';
import type { ThreadTurns } from '../ports/thread-turns.ts';
import type { BatchItem } from './batch-items.ts';
import { batchItem } from './batch-request.ts';
import { parseText } from './body.ts';
import type { FlushTurns } from './flush-turns.ts';
import type { OwnWrites } from './own-writes.ts';
import type { RequestLimits } from './rate-limit.ts';

export const intakeLimits = {
  /** Checked in one go, some 2 ms of the thread at most: then everybody else has a turn. Small items are 1 ms. */
  pieceItemsMax: 250,
  pieceBytesMax: 64 * 1024,
  /** Appended together: as many as one transaction of the embedded log holds. */
  flushItemsMax: 500,
  flushBytesMax: 128 * 1024,
  /** While one is being appended the next ones are read. */
  flushesMax: 2,
  /** Taken of what bodies may take: three flushes with their last pieces (576 KiB), a piece, and the item that is being read. */
  roomBytes: 1024 * 1024,
  /**
   * So long a body is read at the log's pace; past it the log may hold the reading up for a second at a time, and what holds it up for longer ends it: the
   * rest of the body is let through, unlooked at. After 30 s (`requestTimeout`) the request would be cut, and its sender not know what was accepted.
   */
  readMaxMs: 20_000,
  heldMaxMs: 1000,
  /** Past it a rejection says what is wrong in one sentence, without its details. */
  resultsBytesMax: 2 * 1024 * 1024,
} as const;

/** What an item is whose text is filled in, or that has a key, as a share of a flush: it takes so many times as long. */
const dearItems = 5;

export interface IntakeDependencies {
  readonly commands: Pick<Commands, 'acceptNotifications' | 'acceptOnce'>;
  readonly limits: Pick<RequestLimits, 'items'>;
  readonly ownWrites: Pick<OwnWrites, 'note' | 'noteAll'>;
  readonly outbound: Pick<Outbound, 'problemWithUrl'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly turns: ThreadTurns;
  readonly flushTurns: FlushTurns;
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
  /** JSON texts by index, of one item or of several that follow one another. */
  readonly results: readonly string[];
  /** What is to be said of the whole batch, where nothing of it was accepted and one reason says why. */
  readonly refusal: DomainError | null;
}

interface Waiting {
  readonly index: number;
  readonly text: string;
}

interface Checked {
  readonly index: number;
  readonly input: NotificationInput;
  readonly key: string | null;
}

export function createIntake(deps: IntakeDependencies, { tenantId, batchId, trace }: IntakeOf) {
  const { commands, limits, ownWrites, outbound, clock, logger, turns, flushTurns } = deps;
  const results: string[] = [];
  const underWay = new Set<Promise<void>>();
  const piece = createHeap<Waiting>(intakeLimits.pieceItemsMax, intakeLimits.pieceBytesMax);
  const flush = createHeap<Checked>(intakeLimits.flushItemsMax, intakeLimits.flushBytesMax);
  let resultsBytes = 0;
  /** How often something was to be taken. */
  let takes = 0;
  let index = 0;
  const counts = { accepted: 0, rejected: 0, replayed: 0 };
  let stoppedBy: DomainError | null = null;
  let isToStop = false;
  /** Why the log took an item not, by its sentence. */
  const unavailableBy = new Map<string, DomainError>();

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
    if (refusal.code === 'SERVICE_UNAVAILABLE') unavailableBy.set(refusal.message, refusal);
  };

  /** What is asked for goes into the flush. */
  const check = ({ index: at, text }: Waiting): void => {
    try {
      const { request, key } = batchItem(parseText(text), clock.now(), outbound);
      const isDear = key !== null || request.template !== null || request.data !== null;
      const input = Object.assign(request, { tenantId, trace });
      flush.add({ index: at, input, key }, text.length, isDear ? dearItems : 1);
    } catch (error) {
      refuse(at, error);
    }
  };

  const acceptKeyed = async ({ index: at, input, key }: Checked & { key: string }): Promise<void> => {
    try {
      const { notificationId, position, isReplayed } = await commands.acceptOnce({ input, key, batchId });
      if (isReplayed) counts.replayed++;
      ownWrites.note(tenantId, position);
      counts.accepted++;
      tell(at, accepted(at, notificationId));
    } catch (error) {
      refuse(at, error);
    }
  };

  const acceptTogether = async (items: readonly Checked[]): Promise<void> => {
    if (items.length === 0) return;
    const inputs = items.map(({ input }) => input);
    const outcomes = await commands.acceptNotifications(tenantId, inputs, batchId);
    const positions: Position[] = [];
    const run = createRun(tell);
    for (const [i, outcome] of outcomes.entries()) {
      const at = items[i]?.index ?? 0;
      if (outcome.kind === 'refused') refuse(at, outcome.error);
      else {
        positions.push(outcome.position);
        counts.accepted++;
        run.add(at, accepted(at, outcome.notificationId));
      }
    }
    run.end();
    ownWrites.noteAll(tenantId, positions);
  };

  /** Those with a key, a fifth as many, may wait for others of their key: the turn doesn't. */
  const acceptAll = async (items: readonly Checked[], giveTurnBack: () => void): Promise<void> => {
    const keyed = items.filter((item): item is Checked & { key: string } => item.key !== null);
    const others = keyed.length === 0 ? items : items.filter(({ key }) => key === null);
    const together = acceptTogether(others)
      .catch((error: unknown) => {
        for (const { index: at } of others) refuse(at, error);
      })
      .finally(giveTurnBack);
    await Promise.all([together, ...keyed.map(acceptKeyed)]);
  };

  const beginFlush = async (): Promise<void> => {
    while (underWay.size >= intakeLimits.flushesMax) await Promise.race(underWay);
    const giveTurnBack = await flushTurns.take(tenantId);
    const items = flush.takeAll();
    if (items.length === 0) return giveTurnBack();
    const accepting = turns.as(tenantId, () => acceptAll(items, giveTurnBack));
    const running: Promise<void> = accepting.then(() => void underWay.delete(running));
    underWay.add(running);
  };

  const checkPiece = async (): Promise<void> => {
    const items = piece.takeAll();
    if (isToStop) return stop(items[0]?.index ?? index, tooSlow());
    if (items.length === 0) return;
    for (const error of unavailableBy.values()) return stop(items[0]?.index ?? index, error);
    const { granted, refusal } = await limits.items(tenantId, items.length);
    const taken = granted < items.length ? items.slice(0, granted) : items;
    turns.as(tenantId, () => turns.piece(() => taken.forEach(check)));
    if (flush.isFull()) await beginFlush();
    await nextTurn();
    if (refusal !== null) stop(items[granted]?.index ?? index, refusal);
  };

  return {
    /** False: reading stops here. */
    async take(items: Iterable<BatchItem>): Promise<boolean> {
      takes++;
      for (const item of items) {
        const at = index++;
        if (item.kind === 'bad') reject(at, item.error);
        if (item.kind === 'item') piece.add({ index: at, text: item.text }, item.text.length);
        if (item.kind === 'end' || piece.isFull()) await checkPiece();
        if (item.kind === 'end') stop(at, item.error);
        if (stoppedBy !== null) return false;
      }
      return true;
    },

    /** What is under way is taken, and nothing after it; all else that `take` was given is said not to be. */
    stopSoon(): void {
      isToStop = true;
    },

    /** Nothing more has come for now: what was checked waits for it over a turn of the event loop, in which a body that is on its way comes on. */
    rest(): void {
      const resting = takes;
      const begin = () => {
        if (resting === takes) void beginFlush();
      };
      setImmediate(() => setImmediate(begin));
    },

    /** When all that was taken has its result. */
    async end(): Promise<TakenIn> {
      takes++;
      if (stoppedBy === null) await checkPiece();
      await beginFlush();
      await Promise.all(underWay);
      const [onlyReason] = unavailableBy.size === 1 ? unavailableBy.values() : [];
      const reason = counts.rejected <= 1 ? (stoppedBy ?? onlyReason) : onlyReason;
      const refusal = counts.accepted === 0 ? (reason ?? null) : null;
      return { ...counts, results: results.filter((text) => text !== undefined), refusal };
    },
  };
}

/** What is gathered until it is full, by its number or its bytes. */
function createHeap<T>(itemsMax: number, bytesMax: number) {
  let items: T[] = [];
  let weight = 0;
  let bytes = 0;
  return {
    add(item: T, itemBytes: number, itemWeight = 1): void {
      items.push(item);
      weight += itemWeight;
      bytes += itemBytes;
    },
    isFull: () => weight >= itemsMax || bytes >= bytesMax,
    takeAll(): readonly T[] {
      const taken = items;
      items = [];
      weight = 0;
      bytes = 0;
      return taken;
    },
  };
}

function accepted(at: number, notificationId: NotificationId): string {
  return `{"index":${at},"notificationId":"${notificationId}","status":"queued"}`;
}

/** Results that follow one another are told as one text: what is kept until the batch ends is one string for hundreds of items, not several of each. */
function createRun(tell: (at: number, text: string) => void) {
  let texts: string[] = [];
  let next = 0;
  const end = (): void => {
    if (texts.length > 0) tell(next - texts.length, texts.join(','));
    texts = [];
  };
  return {
    add(at: number, text: string): void {
      if (at !== next) end();
      texts.push(text);
      next = at + 1;
    },
    end,
  };
}

function tooSlow(): DomainError {
  return unavailable('Accepting takes too long at the moment.');
}

function ourFault(): DomainError {
  return new DomainError('INTERNAL_SERVER_ERROR', 'Something went wrong on our side with this item.');
}

/** However fast a body comes, everybody else has a turn of the event loop between two flushes. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
