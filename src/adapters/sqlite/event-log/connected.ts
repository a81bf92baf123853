// The event log in a thread that doesn't write it: reads the file by itself, asks the writing thread to append, commit and share out.

import type { Codec } from '../../../codec/index.ts';
import { unpacked } from '../../../codec/packed.ts';
import type { DomainEvent } from '../../../domain/events.ts';
import { topicOf } from '../../../domain/topics.ts';
import type { Clock } from '../../../ports/clock.ts';
import { type AppendResult, type EventLog, StaleOwnerError } from '../../../ports/event-log.ts';
import type { Logger } from '../../../ports/logger.ts';
import { openDatabase } from '../sqlite.ts';
import { createCatalog } from './catalog.ts';
import { type CheckpointsOf, startCheckpoints } from './checkpoints.ts';
import { type ClaimDependencies, type Claims, createClaims } from './claims.ts';
import { createDoorbell } from './doorbell.ts';
import { createEnds } from './ends.ts';
import { createErasureFeed } from './erasure-feed.ts';
import { followTail } from './follow.ts';
import { createRequests } from './requests.ts';
import { readingOf } from './reading.ts';
import { type RecentLimits, recentRows } from './recent-rows.ts';
import { createRows } from './rows.ts';
import type { Answer, SharedEventLog } from './shared.ts';

export interface ConnectedDependencies {
  readonly codec: Codec;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Of the newest events that are kept for a thread's other readers; null where each event has one reader. */
  readonly recentMax?: RecentLimits | null;
  /** Where this thread does the checkpoints in place of the one that writes. */
  readonly checkpoints?: Pick<CheckpointsOf, 'metrics'>;
}

/** Some 2,600 small events: what read models under load are apart from one another, a beat of 100 ms or, the search, of 400. Of bodies of 200 KiB five to ten. */
const recentDefault = { smallBytesMax: 4 * 1024 * 1024, largeBytesMax: 4 * 1024 * 1024 };
/** What close waits for at most, in ms, when the writing thread doesn't answer. */
const closeWaitMs = 10_000;

export async function connectEventLog(
  shared: SharedEventLog,
  { codec, clock, logger, recentMax = recentDefault, checkpoints }: ConnectedDependencies,
): Promise<EventLog> {
  const db = openDatabase(shared.path, { readOnly: true });
  const catalog = createCatalog(shared.topics, shared.partitioning);
  const ends = createEnds(shared.ends);
  const { rows, freshen } = createErasureFeed({ rows: createRows({ db, catalog, codec }), catalog, ends });
  const doorbell = createDoorbell({ asleep: shared.asleep, slots: catalog.slots, ends });
  const { wakeups } = doorbell;
  const members = new Map<number, Claims>();
  const tails = new Set<() => void>();
  const requests = createRequests(shared.port, {
    onWake: doorbell.rung,
    onOwned: (member, partition, epoch) => members.get(member)?.owned(partition, epoch),
    onReleasing: (member, partition) => void release(member, partition),
    onLost: (member, partition) => members.get(member)?.lost(partition),
    // Whatever was owned may have another owner from now on.
    onEnd: () => endClaims(),
  });

  const checkpointing =
    checkpoints === undefined ? null : startCheckpoints({ path: shared.path, clock, logger, ...checkpoints });
  if (checkpointing !== null) void requests.ask({ kind: 'checkpoints' });

  const endClaims = () => {
    for (const claims of members.values()) claims.end();
    members.clear();
  };

  const release = async (member: number, partition: number) => {
    await members.get(member)?.releasing?.(partition);
    await requests.ask({ kind: 'released', member, partition });
  };

  const claimDependencies: ClaimDependencies = {
    catalog,
    // What one read model's reader has decoded the others take as it is.
    rows: recentMax === null ? rows : recentRows(rows, catalog.slots, recentMax),
    ends,
    wakeups,
    logger,
    async commit(commit) {
      throwIfFailed(await requests.ask({ kind: 'commit', commit }));
    },
  };

  const append = async (event: DomainEvent): Promise<AppendResult> => {
    freshen();
    const { type, fingerprint, bytes } = codec.encode(event);
    const slot = catalog.slotOf(topicOf(event), event.partition);
    if (requests.isFull()) return { kind: 'refused', reason: 'too much waits to be appended' };
    if (requests.isClosed()) return { kind: 'refused', reason: 'the event log is closed' };
    // A copy: the memory behind a small Buffer is shared with others and would be sent whole.
    const answer = await requests.ask({ kind: 'append', slot, type, fingerprint, bytes: new Uint8Array(bytes) });
    return answer.kind === 'appended' ? answer.result : { kind: 'unknown', reason: reasonOf(answer) };
  };

  return {
    partitioning: shared.partitioning,
    append,
    // What is asked in one turn of the event loop goes as one message.
    appendAll: (events) => Promise.all(events.map(append)),
    appendEncoded: async (_, events) => Promise.all(unpacked(codec, events).map(append)),
    async consume(options) {
      const claims = createClaims(options, claimDependencies);
      const { id, answer } = requests.begin({ kind: 'join', group: options.group });
      members.set(id, claims);
      throwIfFailed(await answer);
      return {
        async stop() {
          claims.end();
          if (members.delete(id)) await requests.ask({ kind: 'leave', member: id });
        },
      };
    },
    tail(topics, listener) {
      const end = followTail({ catalog, rows, ends, wakeups, logger }, topics, listener);
      tails.add(end);
      return () => {
        tails.delete(end);
        end();
      };
    },
    ...readingOf({ catalog, rows, ends, erasures: codec.erasures }),
    isErased(id) {
      freshen();
      return codec.erasures.has(id);
    },
    isTenantErased(id) {
      freshen();
      return codec.erasures.hasTenant(id);
    },
    async trim(range) {
      const answer = await requests.ask({ kind: 'trim', range });
      if (answer.kind === 'trimmed') return answer.trimmed;
      throw new Error(reasonOf(answer));
    },
    async ready() {
      if (requests.isClosed()) return false;
      const answer = await requests.ask({ kind: 'ready' });
      return answer.kind === 'readiness' && answer.ready;
    },
    async close() {
      if (!db.isOpen) return;
      for (const end of tails) end();
      endClaims();
      const waiting = new AbortController();
      if (!requests.isIdle()) await Promise.race([requests.idle(), clock.sleep(closeWaitMs, waiting.signal)]);
      waiting.abort();
      requests.close();
      doorbell.close();
      checkpointing?.close();
      if (db.isOpen) db.close();
    },
  };
}

function throwIfFailed(answer: Answer): void {
  if (answer.kind !== 'failed') return;
  throw answer.isStaleOwner ? new StaleOwnerError(answer.message) : new Error(answer.message);
}

function reasonOf(answer: Answer): string {
  return answer.kind === 'failed' ? answer.message : `an answer of another kind came: ${answer.kind}`;
}
