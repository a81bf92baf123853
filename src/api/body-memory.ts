// What the bodies of requests may take of this process: a body has its room before it is read, and keeps it until its request is answered.
//
//   4,000 connections x 256 KiB would be 1 GiB. Whoever finds no room is not read from: what it sends waits in its own socket. A tenant may hold as much
//   as is still free: one of them half, two a third each, nine a tenth; so the next one finds room, whatever the others send, and however slowly. So it is
//   with the places of those that wait.

import { unavailable } from '../domain/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Metrics } from '../ports/metrics.ts';

export const bodyMemoryLimits = {
  /** 40 bodies of the largest kind at once. Parsed and encoded a body is three times that: 24 MiB. */
  totalBytesMax: 8 * 1024 * 1024,
  /** Requests that wait for room; of each Node has read up to 80 KiB: 10 MiB. */
  waitingMax: 128,
  waitMaxMs: 2000,
} as const;

/**
 * Batches have theirs apart, so that no other body waits behind them: eight at once, four of one tenant. One is over in a second or a few, so whoever comes
 * meanwhile waits for that, while the line moves for as long as senders and proxies mostly wait for an answer: 60 s, of which 20 are left to take it in. A
 * hundred of 10,000 items take 20 to 30 s on two cores.
 */
const batchMemoryLimits: BodyMemoryLimits = {
  totalBytesMax: 8 * 3 * 1024 * 1024,
  /** Of 80 KiB, as above: 20 MiB. */
  waitingMax: 256,
  waitMaxMs: 40_000,
};

export type BodyMemoryLimits = { readonly [Name in keyof typeof bodyMemoryLimits]: number };

/** The room of one request. */
export interface BodyRoom {
  /** Whose it is, where that shows only after the request's head: before any of it is taken. */
  belongsTo(owner: string): void;
  /** Waits until there is room for so many bytes, and takes it. @throws DomainError SERVICE_UNAVAILABLE when there is none for long */
  take(bytes: number): Promise<void>;
  /** Gives back what was taken. */
  release(): void;
}

export interface BodyMemory {
  /** @param owner a tenant's id, or '' for whoever is none */
  roomFor(owner: string): BodyRoom;
  /** How many requests wait for room. */
  waiting(): number;
  /** Whoever finds no room from now on is told so at once, and who waits is now. */
  close(): void;
}

interface Waiting {
  readonly owner: string;
  readonly bytes: number;
  /** It has its room, or won't have it. */
  wake(): void;
}

/** Of single bodies, and of batches. @param closing when it is aborted nobody waits any longer: who stops has less time than a batch may wait for */
export function createBodyMemories(clock: Pick<Clock, 'sleep'>, metrics: Pick<Metrics, 'gauge'>, closing: AbortSignal) {
  const [bodies, batches] = [createBodyMemory(clock), createBodyMemory(clock, batchMemoryLimits)];
  metrics.gauge('herald_batches_waiting', batches.waiting);
  closing.addEventListener('abort', () => [bodies, batches].forEach((memory) => memory.close()));
  return { bodies, batches };
}

export function createBodyMemory(
  clock: Pick<Clock, 'sleep'>,
  { totalBytesMax, waitingMax, waitMaxMs }: BodyMemoryLimits = bodyMemoryLimits,
): BodyMemory {
  const heldBy = new Map<string, number>();
  /** In the order in which they came. */
  const waiting = new Set<Waiting>();
  let free = totalBytesMax;
  let isClosed = false;

  function add(owner: string, bytes: number): void {
    free -= bytes;
    const held = (heldBy.get(owner) ?? 0) + bytes;
    if (held > 0) heldBy.set(owner, held);
    else heldBy.delete(owner);
  }

  function tryToTake(owner: string, bytes: number): boolean {
    if ((heldBy.get(owner) ?? 0) + bytes > free) return false;
    add(owner, bytes);
    return true;
  }

  function giveBack(owner: string, bytes: number): void {
    add(owner, -bytes);
    for (const next of waiting) {
      if (!tryToTake(next.owner, next.bytes)) continue;
      waiting.delete(next);
      next.wake();
    }
  }

  async function waitFor(owner: string, bytes: number): Promise<void> {
    const own = [...waiting].filter((place) => place.owner === owner).length;
    if (isClosed || own >= waitingMax - waiting.size) throw noRoom();
    const woken = new AbortController();
    const place: Waiting = { owner, bytes, wake: () => woken.abort() };
    waiting.add(place);
    await clock.sleep(waitMaxMs, woken.signal);
    if (waiting.delete(place)) throw noRoom();
  }

  return {
    waiting: () => waiting.size,
    close() {
      isClosed = true;
      for (const { wake } of waiting) wake();
    },
    roomFor(first) {
      let owner = first;
      let taken = 0;
      return {
        belongsTo(named) {
          if (taken > 0) throw new Error('room that was taken stays whose it is');
          owner = named;
        },
        async take(bytes) {
          if (!tryToTake(owner, bytes)) await waitFor(owner, bytes);
          taken += bytes;
        },
        release() {
          if (taken > 0) giveBack(owner, taken);
          taken = 0;
        },
      };
    },
  };
}

function noRoom() {
  return unavailable('Too many large requests are being received at the moment. Send it again.');
}
