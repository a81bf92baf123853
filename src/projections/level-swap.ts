// The next version of a read model comes level with the one in use and is swapped in, while others fold and query: after it nothing is missing that was shown,
// and at the swap both stand at the same offsets.
//
//   next is filled behind the one in use ──> both are held ──> what is between them is folded, by the holder alone ──> swapped
//                                             └──too long, or away──> released: tried again

import type { Clock } from '../ports/clock.ts';
import type { Claim, LogEntry } from '../ports/event-log.ts';
import type { HeldVersions, RebuildableStore } from '../ports/read-model-rebuild.ts';
import type { Ownership, ReadModelReader, ReadModelStore } from '../ports/read-model-store.ts';
import { NewerOwnerError } from '../ports/read-model-store.ts';
import type { Topic } from '../domain/topics.ts';
import { offsetsAfter } from './read-model.ts';
import type { ReadModel } from './read-model.ts';
import type { RangeFold, ReadableLog } from './rebuild-pass.ts';
import { foldRanges } from './rebuild-pass.ts';

export interface LevelSwap {
  readonly log: ReadableLog;
  readonly store: ReadModelStore & RebuildableStore;
  readonly readModel: ReadModel;
  readonly clock: Clock;
}

export interface Swapping {
  /** Of the next version. */
  readonly version: number;
  /** This one included. */
  readonly tries: number;
  /** Called when both stand at the same offsets, before the swap. */
  whenLevel(next: HeldVersions['next']): Promise<void>;
}

/** Nothing is folded into what serves for so long at most: half of what it may be behind; where that doesn't do, twice as long each time. */
const heldMaxMs = 1000;
const heldMaxDoubled = 3;

/** `not now`: it isn't the next version any more, or somebody else holds it; `ahead`: what serves has folded some before their turn. @throws Error when log or store are away, or it takes too long: what was held is released */
export async function swapLevel(
  of: LevelSwap,
  { version, tries, whenLevel }: Swapping,
): Promise<'swapped' | 'not now' | 'ahead'> {
  if (await isAhead(of)) return 'ahead';
  const held = await of.store.hold(of.readModel.definition, version);
  if (held === null) return 'not now';
  try {
    await level(of, held, heldMaxMs * 2 ** Math.min(tries - 1, heldMaxDoubled));
    await whenLevel(held.next);
    return (await held.swap()) === 'swapped' ? 'swapped' : 'not now';
  } catch (error) {
    await held.release();
    throw error;
  } finally {
    await held.next.close();
  }
}

/** What is folded before its turn the next version hasn't, and what others are shown must not go again: it is passed as soon as no tenant fills a number. */
async function isAhead({ log, store, readModel }: LevelSwap): Promise<boolean> {
  const numbers = Array.from({ length: log.partitioning.partitions }, (_, partition) => partition);
  const aheads = await Promise.all(numbers.map((partition) => store.ahead(readModel.definition.name, partition)));
  return aheads.some((ahead) => ahead !== null);
}

/** The next version has what the one in use has, of each number and topic. */
async function level(
  { log, store, readModel, clock }: LevelSwap,
  { next }: HeldVersions,
  maxMs: number,
): Promise<void> {
  const { name } = readModel.definition;
  const until = clock.monotonic() + maxMs;
  const onRead = (): void => {
    if (clock.monotonic() > until) throw new Error(`${name} is too far from level to be held for so long`);
  };
  const levelNumber = async (partition: number): Promise<void> => {
    const stored = await store.positions(name, partition);
    if ((await store.ahead(name, partition)) !== null)
      throw new Error(`${name} is folded ahead on number ${partition}`);
    const owner = await ownHeld(next, name, partition);
    onRead();
    if (![...stored].some(([topic, offset]) => offset > (owner.offsets.get(topic) ?? 0))) return;
    const fold: RangeFold = { readModel, target: next, owner, from: owner.offsets, to: later(stored, owner.offsets) };
    await foldRanges(log, partition, [fold], onRead);
  };
  await Promise.all(Array.from({ length: log.partitioning.partitions }, (_, partition) => levelNumber(partition)));
}

/** Of no claim, whose work any may take over: the owners of the version in use do, once it is that. */
async function ownHeld(next: ReadModelStore, readModel: string, partition: number): Promise<Ownership> {
  try {
    return await next.own(readModel, partition, { generation: 0 });
  } catch (error) {
    if (!(error instanceof NewerOwnerError)) throw error;
    return next.own(readModel, partition, { generation: 0, after: error.generation });
  }
}

/** By topic the greater one. */
function later(a: ReadonlyMap<Topic, number>, b: ReadonlyMap<Topic, number>): Map<Topic, number> {
  return new Map([...b, ...[...a].map(([topic, offset]) => [topic, Math.max(offset, b.get(topic) ?? 0)] as const)]);
}

/** Whoever fills isn't waited for. */
const servedRestMs = 100;

/** A batch of the next version waits until the version in use has all of it. */
export function createServedFirst(of: {
  readonly store: Pick<ReadModelReader, 'positions'>;
  readonly readModel: ReadModel;
  readonly clock: Clock;
}): (claim: Claim, entries: readonly LogEntry[]) => Promise<void> {
  const { store, readModel, clock } = of;
  /** By number, as it was read last. */
  const served = new Map<number, ReadonlyMap<Topic, number>>();
  return async ({ partition, signal }, entries) => {
    const wanted = offsetsAfter(entries);
    const areServed = (): boolean =>
      [...wanted].every(([topic, offset]) => (served.get(partition)?.get(topic) ?? 0) >= offset);
    while (!areServed() && !signal.aborted) {
      served.set(partition, await store.positions(readModel.definition.name, partition));
      if (!areServed()) await clock.sleep(servedRestMs, signal);
    }
  };
}
