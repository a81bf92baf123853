// Folding read models anew from the log, beside the ones in use: to the position of the old, compared there, then to the end, then swapped in.
// Nothing is decided and nothing appended: a rebuild of the timers fires none.

import type { Topic } from '../domain/topics.ts';
import type { EventLog, LogEntry } from '../ports/event-log.ts';
import type { RebuildableStore, RebuildComparison } from '../ports/read-model-rebuild.ts';
import type { Ownership, ReadModelStore } from '../ports/read-model-store.ts';
import type { ReadModel } from './read-model.ts';
import { foldBytesMax, foldEventsMax, isDecoded } from './read-model.ts';

export interface RebuildProgress {
  readonly readModel: string;
  /** Events of its topics, read so far and in all. */
  readonly done: number;
  readonly total: number;
}

export interface RebuildResult {
  readonly readModel: string;
  readonly events: number;
  /** The old against the new at the position of the old. Timers may differ by what was decided or removed and not said in the log. */
  readonly comparison: RebuildComparison;
}

export interface RebuildDependencies {
  readonly log: EventLog;
  readonly store: RebuildableStore & ReadModelStore;
  readonly readModels: readonly ReadModel[];
  readonly onProgress: (progress: RebuildProgress) => void;
}

/** One read model after the other, while no projector runs. What fails leaves that read model as it was. */
export async function rebuild(deps: RebuildDependencies): Promise<RebuildResult[]> {
  const results: RebuildResult[] = [];
  for (const readModel of deps.readModels) {
    try {
      results.push(await rebuildOne(deps, readModel));
    } catch (error) {
      await deps.store.abandon(readModel.definition);
      throw error;
    }
  }
  return results;
}

async function rebuildOne(
  { log, store, onProgress }: RebuildDependencies,
  readModel: ReadModel,
): Promise<RebuildResult> {
  const { definition, topics } = readModel;
  await store.prepare(definition);
  const ends = await endsOf(log, topics);
  const total = ends.reduce((sum, of) => sum + [...of.values()].reduce((a, b) => a + b, 0), 0);
  const olds = await Promise.all(
    ends.map(async (end, partition) => earlier(await store.positions(definition.name, partition), end)),
  );
  const target = await store.beginRebuild(definition);
  let done = 0;
  const passed = (events: number): void => {
    done += events;
    onProgress({ readModel: definition.name, done, total });
  };
  try {
    const owners: Ownership[] = [];
    for (const [partition, old] of olds.entries()) {
      const owner = await target.own(definition.name, partition);
      owners.push(await foldRange({ log, target, readModel, passed }, owner, new Map(), old));
    }
    const comparison = await store.compare(definition);
    for (const [partition, owner] of owners.entries()) {
      await foldRange(
        { log, target, readModel, passed },
        owner,
        olds[partition] ?? new Map(),
        ends[partition] ?? new Map(),
      );
    }
    await store.swap(definition);
    return { readModel: definition.name, events: total, comparison };
  } finally {
    await target.close();
  }
}

type Offsets = ReadonlyMap<Topic, number>;

interface Folding {
  readonly log: EventLog;
  readonly target: ReadModelStore;
  readonly readModel: ReadModel;
  readonly passed: (events: number) => void;
}

/** Folds [from, to) of each topic; the position is `to` afterwards, also where its last events matter to no fold. */
async function foldRange(folding: Folding, owned: Ownership, from: Offsets, to: Offsets): Promise<Ownership> {
  const { log, target, readModel, passed } = folding;
  const { types } = readModel;
  let owner = owned;
  let batch: LogEntry[] = [];
  let bytes = 0;
  let events = 0;
  const flush = async (offsets: Offsets): Promise<void> => {
    const writes = await readModel.fold(batch.filter(isDecoded), target);
    owner = await target.transact(owner, offsets, writes);
    passed(events);
    [batch, bytes, events] = [[], 0, 0];
  };
  for await (const entry of inOrderOfTime(log, owned.partition, from, to)) {
    events++;
    if (entry.event !== null && types !== undefined && !types.has(entry.event.type)) continue;
    batch.push(entry);
    bytes += entry.size;
    if (batch.length >= foldEventsMax || bytes >= foldBytesMax) await flush(new Map());
  }
  await flush(to);
  return owner;
}

/** Topics side by side, as they grew: a notification's events come near each other and are written once. */
async function* inOrderOfTime(
  log: EventLog,
  partition: number,
  from: Offsets,
  to: Offsets,
): AsyncGenerator<LogEntry, void> {
  const heads: { entry: LogEntry; readonly rest: AsyncIterator<LogEntry> }[] = [];
  for (const [topic, end] of to) {
    const rest = log.read({ topic, partition, from: from.get(topic) ?? 0, to: end })[Symbol.asyncIterator]();
    const first = await rest.next();
    if (first.done !== true) heads.push({ entry: first.value, rest });
  }
  while (heads.length > 0) {
    let least = 0;
    for (let i = 1; i < heads.length; i++) {
      if ((heads[i]?.entry.appendedAt ?? 0) < (heads[least]?.entry.appendedAt ?? 0)) least = i;
    }
    const head = heads[least];
    if (head === undefined) return;
    yield head.entry;
    const next = await head.rest.next();
    if (next.done === true) heads.splice(least, 1);
    else head.entry = next.value;
  }
}

/** By partition number: where each topic ends. */
async function endsOf(log: EventLog, topics: readonly Topic[]): Promise<Map<Topic, number>[]> {
  const byTopic = await Promise.all(topics.map((topic) => log.ends(topic)));
  return Array.from(
    { length: log.partitioning.partitions },
    (_, partition) => new Map(topics.map((topic, i) => [topic, byTopic[i]?.[partition] ?? 0])),
  );
}

/** The stored position, never beyond the log's end. */
function earlier(stored: Offsets, end: Offsets): Map<Topic, number> {
  return new Map([...stored].map(([topic, offset]) => [topic, Math.min(offset, end.get(topic) ?? 0)]));
}
