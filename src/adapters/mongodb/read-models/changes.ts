// Hears of what other processes write: one change stream on the positions, which every transaction moves, however many listen here.
//
//   first listener ──> follow the stream ──broken──> look every 200 ms, for 5 s ──┐
//                        ^────────────────────────────────────────────────────────┘
//
// A stream begins at a time that was asked of the server, and everybody is called once it has: nothing falls between two streams.

import type { ChangeStream, Db } from 'mongodb';

import type { Clock } from '../../../ports/clock.ts';
import type { Logger } from '../../../ports/logger.ts';
import type { ReadModelReader } from '../../../ports/read-model-store.ts';
import type { Listeners } from './listeners.ts';
import { type PositionDocument, positionsOf, readModelOf } from './positions.ts';
import { anyId } from './stored-collection.ts';
import type { View } from './versions.ts';

export interface ChangesDependencies {
  readonly db: Db;
  readonly view: View;
  readonly listeners: Listeners;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends everything. */
  readonly signal: AbortSignal;
}

export type Changes = Pick<ReadModelReader, 'onChange'>;

/** An idle stream asks the server this often. */
const awaitMs = 5000;
const lookEveryMs = 200;
/** 25 looks: 5 s. */
const looksPerBreak = 25;

export function createChanges(deps: ChangesDependencies): Changes {
  const { listeners, signal } = deps;
  const hear = createHearing(deps);
  let isRunning = false;
  return {
    onChange(readModel, listener) {
      const remove = listeners.add(readModel, listener);
      if (!isRunning && !signal.aborted) {
        isRunning = true;
        void run(deps, hear);
      }
      return remove;
    },
  };
}

/** Never rejects; ends with the signal. */
async function run(deps: ChangesDependencies, hear: (positionId: string) => void): Promise<void> {
  const { signal, logger } = deps;
  while (!signal.aborted) {
    try {
      await follow(deps, hear);
    } catch (error) {
      if (signal.aborted) return;
      logger.warn('the change stream of the read models broke: looking for changes instead', { err: error });
    }
    await lookFor(deps, hear);
  }
}

async function follow({ db, listeners, signal }: ChangesDependencies, hear: (id: string) => void): Promise<void> {
  const { operationTime } = await db.command({ ping: 1 });
  const stream = positionsOf(db).watch<PositionDocument, PositionMoved>([{ $project: { documentKey: 1 } }], {
    startAtOperationTime: operationTime,
    maxAwaitTimeMS: awaitMs,
  });
  const end = () => void closed(stream);
  signal.addEventListener('abort', end, { once: true });
  try {
    listeners.changedAll();
    // A stream whose collection was dropped ends; who was closed before there was a stream is told by the signal alone.
    while (!stream.closed && !signal.aborted) {
      const moved = await stream.tryNext();
      if (moved?.documentKey !== undefined) hear(moved.documentKey._id);
    }
  } finally {
    signal.removeEventListener('abort', end);
    await closed(stream);
  }
}

interface PositionMoved {
  readonly _id: unknown;
  readonly operationType: 'update';
  readonly documentKey?: { readonly _id: string };
}

async function closed(stream: ChangeStream<PositionDocument, PositionMoved>): Promise<void> {
  try {
    await stream.close();
  } catch {
    // It is gone in any case.
  }
}

/** Compares what the positions are with what they were, for a while. */
async function lookFor({ db, clock, signal }: ChangesDependencies, hear: (id: string) => void): Promise<void> {
  let seen: ReadonlyMap<string, string> = new Map();
  for (let looks = 0; looks < looksPerBreak && !signal.aborted; looks++) {
    try {
      const found = await positionsOf(db)
        .find(anyId, { projection: { epoch: 1, sequence: 1 } })
        .toArray();
      const now = new Map(found.map(({ _id, epoch, sequence }) => [_id, `${epoch}:${sequence}`]));
      for (const [id, mark] of now) if (seen.get(id) !== mark) hear(id);
      seen = now;
    } catch {
      // Away: a later look will tell.
    }
    await clock.sleep(lookEveryMs, signal);
  }
}

/**
 * What moves a version in use is told at once. What moves another one is a rebuild's, or the view is older than a swap: looked at when the view's time is up,
 * and a view that finds another version tells of it.
 */
function createHearing({ view, listeners, clock, signal }: ChangesDependencies): (positionId: string) => void {
  let isLooking = false;
  const lookLater = async (readModel: string): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    await clock.sleep(view.maxAgeMs(), signal);
    isLooking = false;
    // Away or not prepared: the next move will tell.
    await view.model(readModel).catch(() => undefined);
  };
  return (positionId) => {
    const { readModel, version } = readModelOf(positionId);
    const versionSeen = view.versionSeen(readModel);
    if (versionSeen === undefined || versionSeen === version) listeners.changed(readModel);
    if (versionSeen !== version) void lookLater(readModel);
  };
}
