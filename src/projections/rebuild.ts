// Folding read models anew from the log, beside the ones in use: to the position of the old, compared there, then to the end, then swapped in.
// Nothing is decided and nothing appended: a rebuild of the timers fires none.

import type { Topic } from '../domain/topics.ts';
import type { FoldedAhead } from '../ports/folded-ahead.ts';
import type { RebuildableStore, RebuildComparison } from '../ports/read-model-rebuild.ts';
import type { Claimed, Ownership, ReadModelStore } from '../ports/read-model-store.ts';
import type { ReadModel } from './read-model.ts';
import type { Offsets, Range } from './in-order-of-time.ts';
import type { RangeFold, ReadableLog } from './rebuild-pass.ts';
import { foldRanges, rangeOf } from './rebuild-pass.ts';

export interface RebuildProgress {
  /** Events read so far, and about how many there are to be read. */
  readonly done: number;
  readonly total: number;
}

export interface RebuildResult {
  readonly readModel: string;
  /** In its topics. */
  readonly events: number;
  /** The old against the new at the position of the old. Timers may differ by what was decided or removed and not said in the log. */
  readonly comparison: RebuildComparison;
}

export interface RebuildDependencies {
  readonly log: ReadableLog;
  readonly store: RebuildableStore & ReadModelStore;
  readonly readModels: readonly ReadModel[];
  readonly onProgress: (progress: RebuildProgress) => void;
}

/** All of them in one pass over the log, while no projector runs. When something fails, those that weren't swapped in yet stay as they were. */
export async function rebuild(deps: RebuildDependencies): Promise<RebuildResult[]> {
  try {
    return await rebuildAll(deps);
  } catch (error) {
    for (const { definition } of deps.readModels) await deps.store.abandon(definition);
    throw error;
  }
}

async function rebuildAll(deps: RebuildDependencies): Promise<RebuildResult[]> {
  const { log, store, readModels, onProgress } = deps;
  const begun: Rebuilding[] = [];
  try {
    for (const readModel of readModels) begun.push(await begin(log, store, readModel));
    const total = eventsToRead(log, begun);
    let done = 0;
    const onRead = (events: number): void => {
      done += events;
      onProgress({ done, total });
    };
    await foldAll(log, begun, toOld, onRead);
    await foldAll(log, begun, toAhead, onRead);
    const results: RebuildResult[] = [];
    for (const { readModel, ends } of begun) {
      const comparison = await store.compare(readModel.definition);
      results.push({ readModel: readModel.definition.name, events: eventsBelow(ends), comparison });
    }
    await foldAll(log, begun, toEnd, onRead);
    for (const { readModel, target } of begun) {
      await target.noteCaughtUp(readModel.definition.name);
      await store.swap(readModel.definition);
      while ((await store.removeRetired(readModel.definition)) === 'more');
    }
    return results;
  } finally {
    for (const { target } of begun) await target.close();
  }
}

interface Rebuilding {
  readonly readModel: ReadModel;
  /** By partition number: where the version in use stands, and where the log ends. */
  readonly olds: readonly Offsets[];
  readonly ends: readonly Offsets[];
  /** What the version in use has folded before its turn. */
  readonly aheads: readonly (FoldedAhead | null)[];
  readonly target: ReadModelStore;
  /** By partition number, of the version that is filled. */
  readonly owners: Ownership[];
}

/** Whatever generation the groups are in: once it is swapped in, any claim may follow. */
const ofNoClaim: Claimed = { generation: 0 };

/** Which events of a partition number are folded, and until where: first to the position of the old version, then to the end. */
type Phase = (of: Rebuilding, partition: number) => Range & Pick<RangeFold, 'isAhead'>;

const toOld: Phase = ({ olds }, partition) => ({ from: new Map(), to: olds[partition] ?? new Map() });
/** As the version in use did, so that both are compared; on the way to the end it is folded once more, as it is there. */
const toAhead: Phase = ({ olds, ends, aheads }, partition) => {
  const from = olds[partition] ?? new Map<Topic, number>();
  const ahead = aheads[partition] ?? null;
  if (ahead === null) return { from, to: from };
  const to = earlier(ahead.offsets, ends[partition] ?? new Map<Topic, number>());
  return { from, to, isAhead: (tenantId) => !ahead.behind.has(tenantId) };
};
const toEnd: Phase = ({ olds, ends }, partition) => ({
  from: olds[partition] ?? new Map(),
  to: ends[partition] ?? new Map(),
});

async function begin(log: ReadableLog, store: RebuildDependencies['store'], readModel: ReadModel): Promise<Rebuilding> {
  const { definition, topics } = readModel;
  await store.prepare(definition);
  const ends = await endsOf(log, topics);
  const olds = await Promise.all(
    ends.map(async (end, partition) => earlier(await store.positions(definition.name, partition), end)),
  );
  const aheads = await Promise.all(ends.map((_, partition) => store.ahead(definition.name, partition)));
  const target = await store.beginRebuild(definition, 'once filled');
  const owners: Ownership[] = [];
  for (const partition of ends.keys()) owners.push(await target.own(definition.name, partition, ofNoClaim));
  return { readModel, olds, ends, aheads, target, owners };
}

async function foldAll(
  log: ReadableLog,
  begun: readonly Rebuilding[],
  phase: Phase,
  onRead: (events: number) => void,
): Promise<void> {
  for (const partition of partitionsOf(log)) {
    const folds = begun.flatMap((one): RangeFold[] => {
      const owner = one.owners[partition];
      const { readModel, target } = one;
      return owner === undefined ? [] : [{ readModel, target, owner, ...phase(one, partition) }];
    });
    const owners = await foldRanges(log, partition, folds, onRead);
    for (const [i, owner] of owners.entries()) begun[i]?.owners.splice(partition, 1, owner);
  }
}

function eventsToRead(log: ReadableLog, begun: readonly Rebuilding[]): number {
  let events = 0;
  for (const partition of partitionsOf(log)) {
    for (const phase of [toOld, toAhead, toEnd]) {
      const { from, to } = rangeOf(begun.map((one) => phase(one, partition)));
      for (const [topic, end] of to) events += end - (from.get(topic) ?? 0);
    }
  }
  return events;
}

function eventsBelow(ends: readonly Offsets[]): number {
  return ends.reduce((sum, of) => sum + [...of.values()].reduce((a, b) => a + b, 0), 0);
}

function partitionsOf(log: ReadableLog): number[] {
  return Array.from({ length: log.partitioning.partitions }, (_, partition) => partition);
}

/** By partition number: where each topic ends. */
async function endsOf(log: ReadableLog, topics: readonly Topic[]): Promise<Map<Topic, number>[]> {
  const byTopic = await Promise.all(topics.map((topic) => log.ends(topic)));
  return partitionsOf(log).map((partition) => new Map(topics.map((topic, i) => [topic, byTopic[i]?.[partition] ?? 0])));
}

/** The stored position, never beyond the log's end. */
function earlier(stored: Offsets, end: Offsets): Map<Topic, number> {
  return new Map([...stored].map(([topic, offset]) => [topic, Math.min(offset, end.get(topic) ?? 0)]));
}
