// One partition number of one read model in its owner's hands: taken, read onwards, folded and written, again and again until it works.
// Nothing is passed over: what can't be read, folded or written stops the number, raises a metric and is tried again.

import { isNeverPassedOver } from '../domain/erasure.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Topic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { Claim, EventLog, LogEntry } from '../ports/event-log.ts';
import { StaleOwnerError } from '../ports/event-log.ts';
import type { FoldedAhead } from '../ports/folded-ahead.ts';
import { isPassed } from '../ports/folded-ahead.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { Document, FoldPace, Ownership, Page, Query, ReadModelStore, Write } from '../ports/read-model-store.ts';
import { isHeavy, isLarge, sizeOf } from './batch-rests.ts';
import type { CutDocument } from './cut-documents.ts';
import { transactCutting } from './cut-documents.ts';
import type { Moved } from './cut-documents.ts';
import { appendDeadLetter } from './dead-letters.ts';
import { createAheadReader, keepsOthersWaiting, meantAhead } from './fold-ahead.ts';
import type { createRecentEnds } from './fold-ahead.ts';
import { foldPiece } from './fold-pieces.ts';
import type { FoldReport } from './fold-report.ts';
import { firstOf, inTurn, restOf } from './fold-turns.ts';
import type { ReadModel } from './read-model.ts';
import { takeOver } from './taking-over.ts';
import type { Turns } from './turns.ts';
import { foldBytesMax, isDecoded, offsetsAfter, startingOffsets } from './read-model.ts';

export interface FoldDependencies {
  readonly log: EventLog;
  readonly store: ReadModelStore;
  readonly readModel: ReadModel;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Shared by the read models of a thread; without it none gives way to another. */
  readonly turns?: Turns;
  /** Told what is in hand and what fails. */
  readonly report?: FoldReport;
  /** Where the read model's topics end, for those who are folded before their turn; absent: nobody is. */
  readonly ends?: ReturnType<typeof createRecentEnds>;
  /** Whether a batch that was folded keeps others waiting; absent: as `keepsOthersWaiting` says. */
  readonly keepsOthers?: typeof keepsOthersWaiting;
  /** Which shares out the numbers; absent: the projectors' of the read model. */
  readonly group?: string;
  /** Told of each claim, before its number is taken over. */
  onClaimed?(claim: Claim): void;
  /** Resolves once these may be folded, or when the claim ends; absent: at once. */
  mayFold?(claim: Claim, entries: readonly LogEntry[]): Promise<void>;
  /** While it says so another read model serves in place of this one, says what doesn't decode, and comes first. */
  isBeside?(): boolean;
}

/** Its calls throw StaleOwnerError when somebody else has taken the number over in the store. Whether that is right the claim says: until it ends, the number is to be owned again. */
export interface PartitionFold {
  /** The next entries; null once the claim has ended. None when much was passed over that the read model doesn't want: folded as well, that is noted. */
  take(): Promise<readonly LogEntry[] | null>;
  /** Whether everything that the log held when it was asked has been taken. */
  atEnd(): Promise<boolean>;
  /** What was written for the entries taken last; null when the claim ended before. */
  fold(entries: readonly LogEntry[]): Promise<readonly Write[] | null>;
  /** Behind a batch that keeps others waiting: folds some of them before their turn. False when the claim ended before. */
  foldOthers(): Promise<boolean>;
  /** Documents written beside the fold, fenced as its own are; false when the claim ended before. */
  write(writes: readonly Write[]): Promise<boolean>;
  /** Documents of this read model; null when the claim ended before. */
  find<D extends Document>(query: Query): Promise<Page<D> | null>;
  /** Reads no more. */
  close(): void;
}

/** Takes the claim's number over in the store; null when the claim ended before that worked. @throws StaleOwnerError while it is another's by right of a newer claim */
export async function ownPartition(deps: FoldDependencies, claim: Claim): Promise<PartitionFold | null> {
  const { store, readModel, metrics, logger, clock } = deps;
  const { name } = readModel.definition;
  const pace = readModel.mayLag === true ? slower(store.pace) : store.pace;
  const owned = await retried(deps, claim, 'own', () => takeOver(deps, claim));
  if (owned === null) return null;
  let owner: Ownership = owned;
  const reader = claim.read(startingOffsets(readModel, owner.offsets));
  const onCut = (cut: CutDocument): void => {
    metrics.increment('herald_documents_cut_total', { read_model: name });
    logger.error('a document is too large and is cut', { readModel: name, partition: claim.partition, ...cut });
  };
  /** Up to where each topic is taken or passed over. */
  let reached: ReadonlyMap<Topic, number> = owner.offsets;
  /** The documents of the last batch were that. */
  let lastSize: ReturnType<typeof sizeOf> = 'small';
  /** Before then nothing more is taken, by the monotonic clock. */
  let restsUntil = -Infinity;
  /** The last batch does. */
  let keepsOthers = false;
  const { ends } = deps;
  const others =
    readModel.foldsOthersAhead !== true || ends === undefined
      ? null
      : createAheadReader({ ...deps, ends, partition: claim.partition });

  /** Piece by piece, until all is written; null when the claim ended before. */
  const foldAll = async (
    entries: readonly LogEntry[],
    batch: { readonly isLarge: boolean; readonly isHeavy: boolean },
    movedBy: (piece: readonly LogEntry[], isLast: boolean) => Moved,
  ): Promise<Write[] | null> => {
    const isShown = shownOf(entries, deps.log);
    const written: Write[] = [];
    let left = entries;
    const foldOnce = async () => {
      const { piece, result } = await foldPiece(left, store, (some, by) =>
        some.length === 0 ? Promise.resolve([]) : readModel.fold(some.filter(isShown).filter(isDecoded), by),
      );
      const moved = movedBy(piece, piece.length === left.length);
      return { piece, ...(await transactCutting({ store, readModel, onCut }, owner, moved, result)) };
    };
    const foldInTurn = inTurn(deps, claim.signal, { ...batch, first: entries[0] });
    do {
      const done = await retried(deps, claim, 'fold', () => firstOf(deps, entries, () => foldInTurn(foldOnce)));
      if (done === null) return null;
      owner = done.owner;
      left = left.slice(done.piece.length);
      written.push(...done.writes);
    } while (left.length > 0);
    return written;
  };

  return {
    async take() {
      const rest = restsUntil - clock.monotonic();
      if (rest > 0) await clock.sleep(rest, claim.signal);
      const eventsMax = deps.isBeside?.() === true ? besideEventsMax(pace) : pace.eventsMax;
      const limits = { eventsMax, bytesMax: foldBytesMax, passedMax };
      const entries = await retried(deps, claim, 'read', () => reader.take(limits));
      reached = reader.position();
      return entries === null || (entries.length === 0 && claim.signal.aborted) ? null : entries;
    },
    async atEnd() {
      return (await retried(deps, claim, 'read', () => reader.atEnd())) ?? false;
    },
    async fold(entries) {
      if (deps.mayFold !== undefined) {
        await retried(deps, claim, 'read', async () => deps.mayFold?.(claim, entries));
        if (claim.signal.aborted) return null;
      }
      const isShown = shownOf(entries, deps.log);
      if (!entries.every(isDecoded) && !(await reportUndecodable(deps, claim, entries.filter(isShown)))) return null;
      const isOfLarge = isLarge(entries) || lastSize !== 'small';
      const batch = { isLarge: isOfLarge, isHeavy: isHeavy(entries) || lastSize === 'heavy' };
      const written = await foldAll(entries, batch, (piece, isLast) => {
        const offsets = isLast ? movedSince(owner.offsets, reached) : offsetsAfter(piece);
        const isBehind = owner.ahead !== null && !isPassed(owner.ahead, new Map([...owner.offsets, ...offsets]));
        return { offsets, ahead: isBehind ? owner.ahead : null };
      });
      if (written === null) return null;
      keepsOthers = (deps.keepsOthers ?? keepsOthersWaiting)(entries, clock.now());
      if (!keepsOthers && owner.ahead === null) others?.reset();
      lastSize = sizeOf(written);
      restsUntil = restOf(deps, { entries, isLarge: isOfLarge || lastSize !== 'small' }, pace);
      metrics.increment('herald_folded_events_total', { read_model: name }, entries.length);
      return written;
    },
    async foldOthers() {
      if (others === null || !keepsOthers || deps.isBeside?.() === true) return true;
      const slice = await others.next(owner);
      const entries = slice === null ? [] : meantAhead(slice.entries, owner, deps.log);
      if (slice !== null && entries.length > 0) {
        const batch = { isLarge: isLarge(entries), isHeavy: isHeavy(entries) };
        const written = await foldAll(entries, batch, (piece, isLast) => ({
          offsets: new Map(),
          ahead: isLast ? slice.ahead : aheadAfter(piece, owner.ahead, slice.ahead),
        }));
        if (written === null) return false;
        metrics.increment('herald_folded_ahead_total', { read_model: name }, entries.length);
      }
      return true;
    },
    async write(writes) {
      const next = await retried(deps, claim, 'write', () => store.transact(owner, new Map(), writes));
      if (next !== null) owner = next;
      return next !== null;
    },
    find: <D extends Document>(query: Query) => retried(deps, claim, 'read', () => store.find<D>(query)),
    close: () => reader.close(),
  };
}

/**
 * Events of other types that are passed over before that is noted by itself; any fold notes it as well. So at a start or a rebalance at most so many are
 * read again of each number, in some 20 ms, and a read model that is idle writes nothing.
 */
export const passedMax = 10_000;

/** 10 ms of the thread, where a full batch takes 40: so long those that come first wait. Of a store elsewhere, which they share, some 100 ms. */
const besideEventsMax = ({ inThread }: FoldPace): number => (inThread ? 150 : 300);

/** The topics that have moved, also where nothing of them was wanted. */
function movedSince(before: ReadonlyMap<Topic, number>, now: ReadonlyMap<Topic, number>): Map<Topic, number> {
  return new Map([...now].filter(([topic, offset]) => offset > (before.get(topic) ?? 0)));
}

/** Behind a piece of what is folded ahead, which has all of each topic in its order: whoever doesn't stay behind by now is folded up to its last event, or to where others were before. */
function aheadAfter(piece: readonly LogEntry[], before: FoldedAhead | null, { behind }: FoldedAhead): FoldedAhead {
  return { offsets: new Map([...(before?.offsets ?? []), ...offsetsAfter(piece)]), behind };
}

/** All but those of tenants of which nothing is folded any more. */
function shownOf(entries: readonly LogEntry[], log: Pick<EventLog, 'isTenantErased'>): (entry: LogEntry) => boolean {
  const tenants = new Set<TenantId>();
  for (const { head } of entries) if (head !== null) tenants.add(head.tenantId);
  const ofErased = new Set([...tenants].filter(log.isTenantErased));
  if (ofErased.size === 0) return isAnything;
  return ({ head }) => head === null || !ofErased.has(head.tenantId) || isNeverPassedOver(head.type);
}

function isAnything(): boolean {
  return true;
}

/** What may lag makes a quarter of the transactions. */
function slower(pace: FoldPace): FoldPace {
  return { ...pace, fewMs: 4 * pace.fewMs, manyMs: 4 * pace.manyMs };
}

const retryFirstMs = 50;
const retryMaxMs = 5000;

/** Waits longer after each failure; the wait ends at once when the signal is aborted. */
export async function backOff(clock: Clock, failures: number, signal: AbortSignal): Promise<void> {
  await clock.sleep(Math.min(retryFirstMs * 2 ** Math.min(failures - 1, 10), retryMaxMs), signal);
}

/** The step's result however often it has to be tried; null when the claim ended. @throws StaleOwnerError */
async function retried<T>(
  deps: FoldDependencies,
  claim: Claim,
  step: 'own' | 'read' | 'fold' | 'write',
  run: () => Promise<T>,
): Promise<T | null> {
  const { clock, logger, metrics, readModel, report } = deps;
  const { name } = readModel.definition;
  for (let failures = 1; ; failures++) {
    try {
      const result = await run();
      if (failures > 1) report?.worked(name, claim.partition, step);
      return result;
    } catch (error) {
      if (claim.signal.aborted) return null;
      if (error instanceof StaleOwnerError) throw error;
      // Nobody is answered from what is filled beside another: whether it comes on is told apart (filling.ts).
      if (deps.isBeside?.() !== true) {
        report?.failed(name, claim.partition, step, error);
        metrics.increment('herald_fold_failures_total', { read_model: name });
      }
      logger.error('a read model stands still', {
        readModel: name,
        partition: claim.partition,
        step,
        failures,
        err: error,
      });
    }
    await backOff(clock, failures, claim.signal);
    if (claim.signal.aborted) return null;
  }
}

/** Says which bytes don't decode, durably, before they are passed over; false when the claim ended before. */
async function reportUndecodable(deps: FoldDependencies, claim: Claim, entries: readonly LogEntry[]): Promise<boolean> {
  if (deps.readModel.reportsDeadLetters !== true || deps.isBeside?.() === true) return true;
  for (const entry of entries) {
    if (entry.event !== null) continue;
    const { topic, partition, offset } = entry;
    const reason = entry.undecodable?.reason ?? 'unknown';
    const append = () => appendDeadLetter(deps.log, entry, reason);
    if ((await retried(deps, claim, 'write', append)) === null) return false;
    deps.metrics.increment('herald_dead_letters_total', { topic });
    deps.logger.error('an event does not decode', { topic, partition, offset, reason });
  }
  return true;
}
