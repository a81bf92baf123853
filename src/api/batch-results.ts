// The result of every item of a batch, by its place in it, and what is to be said of them all.

import { DomainError } from '../domain/errors.ts';
import type { BatchId, NotificationId } from '../domain/ids.ts';
import type { Logger } from '../ports/logger.ts';

/** Past it a rejection says what is wrong in one short sentence, without its details. */
export const resultsBytesMax = 2 * 1024 * 1024;
/** A template may ask for ten names of 256 characters, and each of its items lack them: all sentences of our own are shorter. */
const shortSentenceMax = 250;

export interface TakenIn {
  readonly accepted: number;
  readonly rejected: number;
  /** Of the accepted, those that an item's key had made before. */
  readonly replayed: number;
  /** The other batch that each of the accepted was accepted with before; null: there is no such one. */
  readonly replayOf: BatchId | null;
  /** JSON texts by index, of one item or of several that follow one another. */
  readonly results: readonly string[];
  /** What is to be said of the whole batch, where nothing of it was accepted and one reason says why. */
  readonly refusal: DomainError | null;
}

export type Results = ReturnType<typeof createResults>;

export function createResults(logger: Pick<Logger, 'error'>, batchId: BatchId) {
  const texts: string[] = [];
  let bytes = 0;
  const counts = { accepted: 0, rejected: 0, replayed: 0 };
  /** Of what was replayed. */
  const madeBy = new Set<BatchId | null>();
  let stoppedBy: DomainError | null = null;
  /** Why the log took an item not, by its sentence. */
  const unavailableBy = new Map<string, DomainError>();

  const tell = (at: number, text: string): void => {
    bytes += text.length;
    texts[at] = text;
  };
  const reject = (at: number, { code, message, details }: Pick<DomainError, 'code' | 'message' | 'details'>): void => {
    counts.rejected++;
    const isFull = bytes >= resultsBytesMax;
    const error = isFull ? message.slice(0, shortSentenceMax) : message;
    tell(at, JSON.stringify({ index: at, code, error, details: isFull ? [] : details }));
  };

  return {
    /** In the order of their places: until `end` none of them is told. */
    acceptMany() {
      const run = createRun(tell);
      return {
        accept(at: number, notificationId: NotificationId): void {
          counts.accepted++;
          run.add(at, accepted(at, notificationId));
        },
        /** @param by the batch that made it; null: none, or it isn't known */
        replay(at: number, notificationId: NotificationId, by: BatchId | null): void {
          counts.accepted++;
          counts.replayed++;
          madeBy.add(by);
          run.add(at, by === batchId ? accepted(at, notificationId) : replayed(at, notificationId, by));
        },
        end: run.end,
      };
    },

    reject,

    /** Whatever was thrown. */
    refuse(at: number, error: unknown): void {
      if (!(error instanceof DomainError)) logger.error('an item of a batch failed', { err: error, batchId });
      const refusal = error instanceof DomainError ? error : ourFault();
      reject(at, refusal);
      // What isn't there for this one isn't there for the next ones either.
      if (refusal.code === 'SERVICE_UNAVAILABLE') unavailableBy.set(refusal.message, refusal);
    },

    /** The item and whatever is behind it: nothing of that is read. */
    stop(at: number, error: DomainError): void {
      if (stoppedBy !== null) return;
      stoppedBy = error;
      const sentence = `${error.message} This item and whatever is behind it were not taken.`;
      reject(at, new DomainError(error.code, sentence, { details: error.details }));
    },

    isStopped: () => stoppedBy !== null,

    /** Why the next ones wouldn't be taken; null: nothing is known. */
    unavailable(): DomainError | null {
      for (const error of unavailableBy.values()) return error;
      return null;
    },

    taken(): TakenIn {
      const [onlyReason] = unavailableBy.size === 1 ? unavailableBy.values() : [];
      const reason = counts.rejected <= 1 ? (stoppedBy ?? onlyReason) : onlyReason;
      const refusal = counts.accepted === 0 ? (reason ?? null) : null;
      const [by = null] = madeBy.size === 1 && counts.replayed === counts.accepted ? madeBy : [];
      const replayOf = by === batchId ? null : by;
      return { ...counts, replayOf, results: texts.filter((text) => text !== undefined), refusal };
    },
  };
}

function accepted(at: number, notificationId: NotificationId): string {
  return `{"index":${at},"notificationId":"${notificationId}","status":"queued"}`;
}

function replayed(at: number, notificationId: NotificationId, batchId: BatchId | null): string {
  return `{"index":${at},"notificationId":"${notificationId}","status":"queued","batchId":${JSON.stringify(batchId)}}`;
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

function ourFault(): DomainError {
  return new DomainError('INTERNAL_SERVER_ERROR', 'Something went wrong on our side with this item.');
}
