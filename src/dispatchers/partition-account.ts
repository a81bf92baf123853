// What of one partition was read, what of it is in memory, what is finished, and whose surplus is to be read again from the log.
//
//   read on ──> admit ── room ──> taken ──> finished             a tenant that holds its share lags: what comes of it stays in the log,
//                 └── none ──> surplus ──> come back ──> taken    and is read again, in its order, when there is room
//                          └─> crowded ──> scheduler               where no more may lag, it leaves for the scheduler instead: reading always goes on
//
// The window keeps everyone who doesn't lag; a laggard speaks for itself, and the window counts all of it as finished.

import type { TenantId } from '../domain/ids.ts';
import type { CommittedPosition } from '../ports/event-log.ts';
import type { Bookings } from './bookings.ts';
import { comeBackTo } from './come-back.ts';
import type { ComeBack } from './come-back.ts';
import { decodeFinished } from './finished-bitmap.ts';
import type { Held, Laggard } from './laggard.ts';
import { isBehind, moveOn, noteFinished, noteFinishedBefore, singleRun } from './laggard.ts';
import { createLaggards } from './laggards.ts';
import { createOffsetWindow } from './offset-window.ts';
import { decodePosition, encodePosition, laggardsMax } from './position-text.ts';
import { mayHold } from './shares.ts';
import type { Memory, Work } from './shares.ts';

/**
 * Taken: it is held until it is finished. Surplus: it stays in the log. Crowded: there is no room for it and no more tenants may lag, so it leaves for the
 * scheduler, and is held until that has it. Finished: before the restart.
 */
export type Admission = 'taken' | 'surplus' | 'crowded' | 'finished';

export interface PartitionAccount {
  /** Where it is to be read from. */
  readonly start: number;
  /** All below it was read, or was finished before. */
  readonly readTo: number;
  /** Whether somebody lags still that did so before the restart. */
  isRestoring(): boolean;
  /** Whether somebody's work below the offset is in the log alone. */
  lagsBelow(offset: number): boolean;
  /** What is nobody's work. */
  pass(offset: number): void;
  /** To be asked with each event that is read on, in order. */
  admit(work: Work): Admission;
  finish(work: Work): void;
  /** What is held leaves for the scheduler: in how many ms its turn is. */
  leaveUntilTurn(work: Work): number;
  /** Whether reading waits for what is held of a tenant: the window is full, and no more may lag. */
  isInReadingsWay(work: Work): boolean;
  /** Whether work of a tenant is in memory or left in the log. */
  hasWorkOf(tenantId: TenantId): boolean;
  /** Whether more may be read; false only until what leaves is durable, or what is under way has ended. */
  mayReadOn(): boolean;
  /** Whether what a tenant has here keeps others from being read, or from finding room: hardly anybody more may lag, or hardly anything is free. */
  isInOthersWay(tenantId: TenantId): boolean;
  /** A range of what is to be read again, for whoever has waited longest of those that have room; null: for nobody now. */
  comeBack(offsetsMax: number): ComeBack | null;
  position(): CommittedPosition;
}

export interface AccountLimits {
  /** Events of the window from its mark on: at most 10,000 bits of the 12,288 that a commit has for them. */
  readonly eventsMax: number;
  readonly laggardsMax: number;
  /** Of a tenant that may not lag: as many as are in flight of it at most, and as many that wait, so that the window isn't full before their turn. */
  readonly heldMax: number;
  /** On their way to the scheduler: one more flush of the log's, or one large event, before reading waits. */
  readonly leavingMax: number;
  readonly leavingBytesMax: number;
}

/** So many of those that may lag are hardly less than all, and less of the reserve is hardly enough for who comes next. */
const crowdedPart = 3 / 4;
const scarcePart = 1 / 2;

export const accountLimits: AccountLimits = {
  eventsMax: 10_000,
  laggardsMax,
  heldMax: 64,
  leavingMax: 32,
  leavingBytesMax: 64 * 1024,
};

/** @param memory of the lane, shared with its other partitions */
export function createPartitionAccount(
  committed: CommittedPosition,
  { memory, bookings }: { readonly memory: Memory; readonly bookings: Bookings },
  limits: AccountLimits = accountLimits,
): PartitionAccount {
  const restored = decodePosition(committed);
  const window = createOffsetWindow(restored.window);
  const readBefore = readBeforeOf(restored.window);
  const laggards = createLaggards(restored.laggards, readBefore);
  /** What is on its way to the scheduler. */
  const leaving = new Set<number>();
  let leavingBytes = 0;

  const mayMoreLag = () => laggards.size < limits.laggardsMax;
  /** In memory, and to be begun here. */
  const heldOf = (by: Held) => by.offsets.size - by.leaving;

  function hold(by: Held, { offset, bytes }: Work): void {
    by.offsets.add(offset);
    by.bytes += bytes;
    memory.hold(bytes);
    bookings.note(by.tenantId, heldOf(by), 0);
  }

  function noteLeaving(by: Held, { offset, bytes }: Work): void {
    if (leaving.has(offset)) return;
    leaving.add(offset);
    leavingBytes += bytes;
    by.leaving++;
  }

  /** From now on it speaks for itself, what it holds already included. */
  function lag(by: Held): Laggard {
    for (const offset of by.offsets) window.finish(offset);
    return laggards.add(by);
  }

  function admit(work: Work): Admission {
    const { tenantId, offset, bytes } = work;
    const laggard = laggards.of(tenantId);
    const isNew = window.begin(offset);
    if (laggard !== undefined) {
      if (!isNew) return passKnown(laggard, offset);
      window.finish(offset);
      return admitLate(laggard, work);
    }
    if (!isNew) {
      // Where it lags before it has finished anything later, it says of this one, too, that it is finished.
      const holder = laggards.held(tenantId);
      if (holder !== undefined) noteFinished(holder, offset);
      return 'finished';
    }
    const by = laggards.heldBy(tenantId);
    const hasRoom = mayHold(by, bytes, memory);
    if (!hasRoom && mayMoreLag()) {
      window.finish(offset);
      return admitLate(lag(by), work);
    }
    hold(by, work);
    if (hasRoom && (mayMoreLag() || heldOf(by) <= limits.heldMax)) return 'taken';
    noteLeaving(by, work);
    return 'crowded';
  }

  /** The window counts it as finished: because it was, or because somebody else spoke for it. */
  function passKnown(laggard: Laggard, offset: number): Admission {
    if (laggard.isOfBefore) return 'surplus';
    noteFinishedBefore(laggard, offset);
    return 'finished';
  }

  function admitLate(laggard: Laggard, work: Work): Admission {
    const { offset, bytes } = work;
    if (isBehind(laggard)) {
      laggard.to = offset + 1;
      return leave(laggard, offset);
    }
    const by = laggards.heldBy(work.tenantId);
    const hasRoom = mayHold(by, bytes, memory);
    if (hasRoom) hold(by, work);
    else laggard.nextBytes = bytes;
    laggard.to = offset + 1;
    moveOn(laggard, hasRoom ? offset + 1 : offset);
    return hasRoom ? 'taken' : leave(laggard, offset);
  }

  function leave(laggard: Laggard, offset: number): Admission {
    if (offset < readBefore) laggard.leftAgain.push(singleRun(offset));
    return 'surplus';
  }

  function finish({ tenantId, offset, bytes }: Work): void {
    const by = laggards.held(tenantId);
    if (by === undefined || !by.offsets.delete(offset)) return;
    by.bytes -= bytes;
    memory.hold(-bytes);
    noteFinished(by, offset);
    if (!leaving.delete(offset)) bookings.note(tenantId, heldOf(by), 1);
    else {
      by.leaving--;
      leavingBytes -= bytes;
    }
    const laggard = laggards.of(tenantId);
    if (laggard !== undefined) return laggards.forgetIfDone(laggard);
    window.finish(offset);
    if (by.offsets.size === 0) laggards.release(by);
  }

  function leaveUntilTurn(work: Work): number {
    const by = laggards.heldBy(work.tenantId);
    noteLeaving(by, work);
    return bookings.book(work.tenantId, heldOf(by));
  }

  /** One that hangs stops nobody: where the window is full its tenant speaks for itself, and the window goes on. */
  function mayReadOn(): boolean {
    while (window.length >= limits.eventsMax && mayMoreLag()) {
      const first = laggards.ownerOf(window.mark());
      if (first === null) break;
      lag(first);
    }
    const isLittleLeaving = leaving.size < limits.leavingMax && leavingBytes < limits.leavingBytesMax;
    return isLittleLeaving && window.length < limits.eventsMax;
  }

  /** Of a window that is full the older half, so that it isn't again with the next event. */
  function isInReadingsWay({ tenantId, offset }: Work): boolean {
    if (window.length < limits.eventsMax || mayMoreLag() || laggards.of(tenantId) !== undefined) return false;
    return offset <= (window.mark() + window.readTo) / 2;
  }

  function isInOthersWay(tenantId: TenantId): boolean {
    if (laggards.held(tenantId) !== undefined && memory.free() < memory.reserve * scarcePart) return true;
    if (laggards.size < limits.laggardsMax * crowdedPart) return false;
    return laggards.of(tenantId) !== undefined || bookings.has(tenantId);
  }

  return {
    start: restored.window.offset,
    get readTo() {
      return window.readTo;
    },
    isRestoring() {
      for (const laggard of laggards.all()) if (laggard.isOfBefore) return true;
      return false;
    },
    lagsBelow(offset) {
      for (const laggard of laggards.all()) if (isBehind(laggard) && laggard.next < offset) return true;
      return false;
    },
    pass(offset) {
      if (window.begin(offset)) window.finish(offset);
    },
    admit,
    finish,
    leaveUntilTurn,
    isInReadingsWay,
    hasWorkOf: (tenantId) => laggards.held(tenantId) !== undefined || laggards.of(tenantId) !== undefined,
    mayReadOn,
    isInOthersWay,
    comeBack: (offsetsMax) => comeBackTo({ laggards, memory, hold, offsetsMax, readTo: window.readTo }),
    position: () => encodePosition({ window: window.position(), laggards: laggards.states() }),
  };
}

/** All that was left in the log before the restart is below it: it was read, so the window counts it as finished. */
function readBeforeOf({ offset, metadata }: CommittedPosition): number {
  return Math.max(offset, (decodeFinished(offset, metadata)?.at(-1) ?? -1) + 1);
}
