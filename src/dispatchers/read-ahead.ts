// How far reading may run ahead of delivering, in bytes as they are held: the tenants of a lane share its memory by their weights, each holds at most what
// is still free (shares.ts), and what is beyond that stays in the log. So reading goes on to the log's end, whatever slow tenants keep.
//
// A lane is a topic, so HIGH waits for no memory of DEFAULT or BULK.

import type { TenantId } from '../domain/ids.ts';
import type { Topic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { CommittedPosition } from '../ports/event-log.ts';
import { createBookings } from './bookings.ts';
import type { ComeBack } from './come-back.ts';
import type { ComingBack } from './coming-back.ts';
import { pulsed } from './position-text.ts';
import { createPartitionAccount } from './partition-account.ts';
import type { AccountLimits, Admission } from './partition-account.ts';
import type { Memory, Work } from './shares.ts';

export interface ReadAheadLimits {
  /** Bytes that the tenants of one topic, a lane, may hold together, over all its partitions: read and unfinished. */
  readonly laneBytesMax: number;
  /** Of them, for tenants that hold nothing yet. */
  readonly reserveBytes: number;
  /** Offsets of one pass over what was left in the log. */
  readonly comeBackMax: number;
}

const kibibyte = 1024;

/**
 * Of a channel: 3 lanes x 5.5 MiB = 16.5 MiB, 66 MiB for the four. One tenant on its two numbers holds a third of 4.5 MiB on each, some 1,000 small
 * events; the largest event takes 0.6 MiB (200 KiB of body and 64 KiB of data, two bytes a character). A pass of 1,000 small events is one fetch on Kafka.
 */
const readAheadLimits: ReadAheadLimits = {
  laneBytesMax: 5_632 * kibibyte,
  reserveBytes: 1_024 * kibibyte,
  comeBackMax: 1_000,
};

/** One partition of one claim: what of it was read, what is finished, whether more may be read. */
export interface PartitionTracker {
  readonly topic: Topic;
  readonly partition: number;
  /** Where it is to be read from. */
  readonly start: number;
  /** All below it was read, or was finished before. */
  readonly readTo: number;
  /** The claim is lost: what isn't in flight is not begun any more, what is finished is not committed any more. */
  readonly isClosed: boolean;
  /** Goes up with each attempt that is begun, each event that is finished, and while a tenant is kept waiting. */
  readonly moves: number;
  /** Whether somebody lags still that did so before the restart. */
  isRestoring(): boolean;
  /** Whether somebody's work below the offset is in the log alone. */
  lagsBelow(offset: number): boolean;
  /** What is nobody's work was read. */
  pass(offset: number): void;
  /** Notes work that was read, in the order of the log. */
  admit(work: Work): Admission;
  finish(work: Work): void;
  /** What was taken leaves for the scheduler: in how many ms its turn is. */
  leaveUntilTurn(work: Work): number;
  /** Whether reading waits for what was taken of a tenant. */
  isInReadingsWay(work: Work): boolean;
  /** An attempt of it is being sent. */
  noteAttempt(): void;
  /** A tenant's work is kept from being begun, and that is meant: whoever looks for standstills sees that it is looked after. */
  noteKept(tenantId: TenantId): void;
  /** Whether others of its lane or number wait for what a tenant has here. */
  isInOthersWay(tenantId: TenantId): boolean;
  /** Waits until more may be read; false once it is closed. */
  mayReadOn(): Promise<boolean>;
  /** Waits until somebody has room for what he left in the log; null once it is closed. */
  comeBack(): Promise<ComeBack | null>;
  uncommitted(): CommittedPosition | null;
  noteCommitted(position: CommittedPosition): void;
  close(): void;
}

export interface ReadAhead {
  /** @param committed what is durable already; null when even the start is to be committed */
  track(
    place: { readonly topic: Topic; readonly partition: number },
    start: CommittedPosition,
    committed: CommittedPosition | null,
  ): PartitionTracker;
}

export function createReadAhead(
  of: Pick<Memory, 'weightOf' | 'isPaused'> & {
    readonly clock: Pick<Clock, 'monotonic'>;
    readonly comingBack: ComingBack;
    readonly accountLimits: AccountLimits;
  },
  limits: ReadAheadLimits = readAheadLimits,
): ReadAhead {
  const { weightOf, isPaused, accountLimits } = of;
  const lanes = new Map<Topic, Lane>();

  function laneOf(topic: Topic): Lane {
    const lane = lanes.get(topic) ?? createLane(limits.laneBytesMax);
    lanes.set(topic, lane);
    return lane;
  }

  return {
    track(place, start, committed) {
      const lane = laneOf(place.topic);
      let held = 0;
      const memory = {
        free: lane.free,
        reserve: limits.reserveBytes,
        weightOf,
        isPaused,
        hold(bytes: number) {
          held += bytes;
          lane.hold(bytes);
        },
      };
      const account = createPartitionAccount(start, { memory, bookings: createBookings(of) }, accountLimits);
      let moves = 0;
      let isPulsed = false;
      let isClosed = false;
      let hasMoved = false;
      let latest = start;
      let durable = committed;

      return {
        ...place,
        start: account.start,
        get readTo() {
          return account.readTo;
        },
        get isClosed() {
          return isClosed;
        },
        get moves() {
          return moves;
        },
        isRestoring: account.isRestoring,
        lagsBelow: account.lagsBelow,
        pass(offset) {
          hasMoved = true;
          account.pass(offset);
        },
        admit(work) {
          hasMoved = true;
          const admission = account.admit(work);
          if (admission === 'surplus') lane.noteChange();
          return admission;
        },
        finish(work) {
          if (isClosed) return;
          moves++;
          hasMoved = true;
          isPulsed = false;
          account.finish(work);
          lane.noteChange();
        },
        leaveUntilTurn: account.leaveUntilTurn,
        isInReadingsWay: (work) => !isClosed && account.isInReadingsWay(work),
        noteAttempt: () => void moves++,
        noteKept(tenantId) {
          if (isClosed || !account.hasWorkOf(tenantId)) return;
          moves++;
          isPulsed = !isPulsed;
          hasMoved = true;
          // Whoever finds no room beside those that are kept is looked at again as often as they are.
          lane.noteChange();
        },
        isInOthersWay: (tenantId) => !isClosed && account.isInOthersWay(tenantId),
        async mayReadOn() {
          lane.noteChange();
          for (;;) {
            if (isClosed || account.mayReadOn()) return !isClosed;
            await lane.changed();
          }
        },
        async comeBack() {
          hasMoved = true;
          for (;;) {
            const range = isClosed ? null : account.comeBack(limits.comeBackMax);
            if (isClosed || range !== null) return range;
            await lane.changed();
          }
        },
        uncommitted() {
          if (hasMoved) latest = isPulsed ? pulsed(account.position()) : account.position();
          hasMoved = false;
          return durable?.offset === latest.offset && durable.metadata === latest.metadata ? null : latest;
        },
        noteCommitted(position) {
          durable = position;
        },
        close() {
          if (isClosed) return;
          isClosed = true;
          lane.hold(-held);
          lane.noteChange();
        },
      };
    },
  };
}

interface Lane {
  free(): number;
  hold(bytes: number): void;
  noteChange(): void;
  /** Resolves after the next changes, those of one turn of the event loop together. */
  changed(): Promise<void>;
}

function createLane(bytesMax: number): Lane {
  let bytes = 0;
  let waiting = Promise.withResolvers<void>();
  let isWaited = false;

  return {
    free: () => bytesMax - bytes,
    hold(more) {
      bytes += more;
    },
    noteChange() {
      if (!isWaited) return;
      isWaited = false;
      const { resolve } = waiting;
      waiting = Promise.withResolvers<void>();
      setImmediate(resolve);
    },
    changed() {
      isWaited = true;
      return waiting.promise;
    },
  };
}
