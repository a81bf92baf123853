// Looks past what fills a partition number for those who don't: their events are folded before their turn, and once more when that comes.
//
//   log      A B A A A A A A A A C A A B A
//            │                           └ ahead: B and C are folded up to here
//            └ position: everybody is folded up to here
//
// So one tenant's million doesn't keep what others of its numbers read: they are as far behind as a batch takes. Nothing but the fold's own law makes it right:
// it comes to the same in whatever order and however often events are folded. The position is as ever, and says what is folded of all.

import { isNotificationEvent } from '../domain/events.ts';
import type { Topic } from '../domain/topics.ts';
import { retentionTopic, settingsTopic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, LogEntry } from '../ports/event-log.ts';
import type { FoldedAhead } from '../ports/folded-ahead.ts';
import type { Logger } from '../ports/logger.ts';
import type { Ownership } from '../ports/read-model-store.ts';
import { createAheadShares } from './ahead-shares.ts';
import type { AheadShares } from './ahead-shares.ts';
import { isLarge } from './batch-rests.ts';
import type { DecodedEntry, ReadModel } from './read-model.ts';
import { foldBytesMax, isDecoded } from './read-model.ts';
import { takenAt } from './taken-at.ts';

/** Offsets of a topic in one look: some 5 ms of the thread where the log is in this process, in turns. A number that gets 4,000 a second is looked through all the same. */
const lookedMax = 8_000;
/** An end that is as old is good enough: it is asked of the log for all numbers together. */
const endsKeptMs = 100;
/** For a look, before the number goes on: a log that doesn't answer holds up nobody. */
const lookWaitMs = 100;
/** Between two looks of a number. */
const lookEveryMs = 100;
/** After a look that failed. */
const restMs = 5_000;

/** What may be folded of others now, and what is folded before its turn once it is. */
export interface Slice {
  readonly entries: readonly LogEntry[];
  readonly ahead: FoldedAhead;
}

interface Looked extends Slice {
  readonly lookedTo: ReadonlyMap<Topic, number>;
}

export interface AheadReader {
  /** What a look has found, past what is folded already; null: it takes longer, or fails, and what is found then comes with a later call. Never rejects. */
  next(owner: Ownership): Promise<Slice | null>;
  /** Nobody waits for others any more: who fills the number is judged anew. */
  reset(): void;
}

/** What is behind by as much, with more behind it. */
const lateMs = 500;

export function keepsOthersWaiting(entries: readonly LogEntry[], now: number): boolean {
  const [oldest] = entries;
  return oldest !== undefined && isLarge(entries) && now - takenAt(oldest, now) >= lateMs;
}

/** Without what had its turn since it was read, and of what was erased since then: that is as the log has it by now when its turn comes. */
export function meantAhead(
  entries: readonly LogEntry[],
  { offsets }: Ownership,
  log: Pick<EventLog, 'isErased' | 'isTenantErased'>,
): readonly DecodedEntry[] {
  return entries.filter(isDecoded).filter(({ topic, offset, event }) => {
    if (offset < (offsets.get(topic) ?? 0) || log.isTenantErased(event.tenantId)) return false;
    return !isNotificationEvent(event) || !log.isErased(event.notificationId);
  });
}

type Ends = () => Promise<ReadonlyMap<Topic, readonly number[]>>;

/** Those of which the order matters to nobody who waits: what is said of settings and what is forgotten have their turn with the position. */
function topicsAhead({ topics }: ReadModel): readonly Topic[] {
  return topics.filter((topic) => topic !== settingsTopic && topic !== retentionTopic);
}

/** Where the topics of a read model end, for all of its numbers. */
export function createRecentEnds(
  { log, clock }: { readonly log: Pick<EventLog, 'ends'>; readonly clock: Pick<Clock, 'monotonic'> },
  readModel: ReadModel,
): Ends {
  const topics = topicsAhead(readModel);
  let asked: { readonly at: number; readonly ends: ReturnType<Ends> } | null = null;

  async function ask(): ReturnType<Ends> {
    const ends = await Promise.all(topics.map((topic) => log.ends(topic)));
    return new Map(topics.map((topic, i) => [topic, ends[i] ?? []]));
  }

  return () => {
    const now = clock.monotonic();
    if (asked === null || now - asked.at > endsKeptMs) asked = { at: now, ends: ask() };
    return asked.ends;
  };
}

export function createAheadReader(of: {
  readonly log: Pick<EventLog, 'survey'>;
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
  readonly logger: Logger;
  readonly readModel: ReadModel;
  readonly partition: number;
  readonly ends: Ends;
}): AheadReader {
  const { log, clock, logger, readModel, partition, ends } = of;
  const topics = topicsAhead(readModel);
  let shares: AheadShares | null = null;
  /** Of each topic, with what was found last: others have nothing more up to here. */
  let lookedTo: ReadonlyMap<Topic, number> = new Map();
  let looking: Promise<void> | null = null;
  let found: Looked | null = null;
  let restsUntil = -Infinity;

  async function slice({ offsets, ahead }: Ownership, by: AheadShares): Promise<Looked> {
    const to = await ends();
    const reached = new Map<Topic, number>();
    const until = new Map<Topic, number>();
    const taken: LogEntry[] = [];
    let bytes = 0;
    // Side by side, since the log gives way to others of its thread while it is read.
    const lookInto = async (topic: Topic): Promise<void> => {
      let folded = Math.max(offsets.get(topic) ?? 0, ahead?.offsets.get(topic) ?? 0);
      let next = Math.max(folded, lookedTo.get(topic) ?? 0);
      const end = Math.min(to.get(topic)?.[partition] ?? 0, next + lookedMax);
      if (next < end) {
        for await (const page of log.survey({ topic, partition, from: next, to: end, types: readModel.types })) {
          if (bytes >= foldBytesMax) break;
          for (const share of page.shares) by.note({ topic, ...share });
          const others = page.shares.filter(({ tenantId }) => !by.behind.has(tenantId));
          const wanted = new Set(others.map(({ tenantId }) => tenantId));
          for (const entry of wanted.size === 0 ? [] : page.entriesOf(wanted)) {
            if (bytes >= foldBytesMax) break;
            taken.push(entry);
            bytes += entry.size;
            next = entry.offset + 1;
            folded = next;
          }
          // What comes behind the last of these has its look later.
          if (bytes >= foldBytesMax) break;
          next = page.to;
          folded = Math.max(folded, ...page.shares.map(({ last }) => last + 1));
        }
      }
      until.set(topic, next);
      reached.set(topic, folded);
    };
    await Promise.all(topics.map(lookInto));
    by.judge();
    const behind = new Set(by.behind);
    const entries = taken.filter(({ head }) => head !== null && !behind.has(head.tenantId));
    return { entries, ahead: { offsets: reached, behind }, lookedTo: until };
  }

  /** Never rejects. */
  async function look(owner: Ownership, by: AheadShares): Promise<void> {
    try {
      const one = await slice(owner, by);
      if (by === shares && !by.isOver) found = one;
    } catch (err) {
      restsUntil = clock.monotonic() + restMs;
      const { name } = readModel.definition;
      logger.warn('others can not be folded before their turn', { readModel: name, partition, err });
    }
    looking = null;
  }

  return {
    async next(owner) {
      shares ??= createAheadShares(owner.ahead);
      const now = clock.monotonic();
      if (found === null && !shares.isOver && now >= restsUntil) {
        restsUntil = now + lookEveryMs;
        if (looking === null) shares.passed(owner.offsets);
        looking ??= look(owner, shares);
        const waited = new AbortController();
        await Promise.race([looking, clock.sleep(lookWaitMs, waited.signal)]);
        waited.abort(null);
      }
      const one = found;
      found = null;
      if (one !== null) ({ lookedTo } = one);
      return one;
    },
    reset() {
      shares = null;
      lookedTo = new Map();
      found = null;
    },
  };
}
