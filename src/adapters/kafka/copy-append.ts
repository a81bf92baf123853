// Appends copied entries at the very offsets that they have in their own log, however often a produce has to be sent again.
//
// Every batch has the copy's producer id and as sequence number its first offset. So the broker itself refuses whatever doesn't follow what is there, and
// answers a batch that it has already taken as it did before: sent twice by one process, by the one after a crash or by two at once, it is there once.

import type { Topic } from '../../domain/topics.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CopiedEntry, RawEntry } from '../../ports/event-log-copy.ts';
import { CopyRefusedError } from '../../ports/event-log-copy.ts';
import type { Logger } from '../../ports/logger.ts';
import { backOffMaxMs, backOffMs, gaveUp, patienceMs } from './copy-patience.ts';
import { answeredError } from './kafka-errors.ts';
import type { LogCluster } from './log-cluster.ts';
import { offsetsOf } from './offsets-asked.ts';
import { goneKey } from './record-batch.ts';

export interface CopyAppendDependencies {
  readonly cluster: LogCluster;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly producerId: string;
  /** The record's value of an entry. */
  valueOf(entry: RawEntry): Buffer;
  /** Whether exactly this entry stands at its offset. */
  holds(place: CopyPlace, entry: CopiedEntry): Promise<boolean>;
}

export interface CopyPlace {
  readonly topic: Topic;
  /** As the brokers know the topic. */
  readonly name: string;
  readonly partition: number;
}

/** Epoch of a producer id that was just given. */
const producerEpoch = 0;
/** Sequence numbers are 31 bits and begin anew behind the last. */
const sequences = 2 ** 31;
/** How long the leader waits for its replicas: less than a request's own timeout (3 s). */
const replicasTimeoutMs = 2_500;

const outOfOrder = new Set(['OUT_OF_ORDER_SEQUENCE_NUMBER', 'DUPLICATE_SEQUENCE_NUMBER']);
/** However often it is sent. */
const final: ReadonlyMap<string, string> = new Map([
  ['INVALID_TIMESTAMP', 'the time of an event lies in the future: see message.timestamp.after.max.ms of the topic'],
  ['MESSAGE_TOO_LARGE', 'an event is larger than max.message.bytes of the topic'],
  ['RECORD_LIST_TOO_LARGE', 'an event is larger than the segment.bytes of the topic'],
  ['TOPIC_AUTHORIZATION_FAILED', 'the user may not write to the topic'],
  ['CLUSTER_AUTHORIZATION_FAILED', 'the user may not write to the cluster'],
  ['INVALID_RECORD', 'the topic does not take such records (cleanup.policy must be delete)'],
]);

const gone = { key: goneKey, value: null };

/** @throws CopyRefusedError when something else stands there; Error when the broker stays away or refuses an event */
export async function appendCopied(
  deps: CopyAppendDependencies,
  place: CopyPlace,
  entries: readonly CopiedEntry[],
): Promise<void> {
  const { clock, cluster, logger } = deps;
  let rest = entries;
  const giveUpAt = clock.monotonic() + patienceMs;
  let isOutOfOrder = false;
  for (let tries = 0; ; tries++) {
    try {
      if (isOutOfOrder) rest = await withoutThoseThere(deps, place, rest);
      if (rest.length > 0) await produce(deps, place, rest);
      return;
    } catch (error) {
      const told = answeredError(error);
      const why = told === null ? undefined : final.get(told);
      if (why !== undefined) throw new Error(`${placeText(place)}: ${why}`, { cause: error });
      if (error instanceof CopyRefusedError) throw error;
      if (clock.monotonic() > giveUpAt) throw gaveUp(error);
      logger.warn('copied events were not taken: trying again', { ...place, reason: told ?? String(error) });
      await clock.sleep(Math.min(backOffMs * 2 ** tries, backOffMaxMs));
      await cluster.refresh().catch(() => {});
      isOutOfOrder = told === null ? isOutOfOrder : outOfOrder.has(told);
    }
  }
}

async function produce(
  { cluster, producerId, valueOf }: CopyAppendDependencies,
  place: CopyPlace,
  entries: readonly CopiedEntry[],
): Promise<void> {
  const { name: topic, partition } = place;
  const first = entries[0]?.offset ?? 0;
  const messages = entries.map((entry) => ({
    ...(entry.bytes === null ? gone : { key: null, value: valueOf(entry) }),
    timestamp: entry.appendedAt,
    headers: {},
  }));
  await cluster.connect();
  const leader = cluster.leaderOf(topic, partition);
  if (leader === null) throw new Error(`no broker leads ${topic}, partition ${partition}, now`);
  const { topics } = await cluster.ask(leader, (broker) =>
    broker.produce({
      producerId,
      producerEpoch,
      acks: -1,
      timeout: replicasTimeoutMs,
      topicData: [{ topic, partitions: [{ partition, firstSequence: first % sequences, messages }] }],
    }),
  );
  const [answer] = topics.flatMap((of) => (of.topicName === topic ? of.partitions : []));
  if (answer?.partition !== partition) throw new Error('the broker did not say what became of it');
  if (Number(answer.baseOffset) !== first)
    throw new CopyRefusedError(
      `Someone else writes into the target: ${placeText(place)} took the event of offset ${first} at ${answer.baseOffset}. Copy into an empty log.`,
    );
  if (!hasKeptTimes(answer.logAppendTime, entries))
    throw new CopyRefusedError(
      `${placeText(place)} did not keep the time of the event at offset ${first}: its message.timestamp.type was changed. Copy into an empty log.`,
    );
}

/** The broker tells an append time of its own if it gave one; of a batch that it had taken before, the batch's latest time. */
function hasKeptTimes(told: string, entries: readonly CopiedEntry[]): boolean {
  return told === '-1' || Number(told) === entries.reduce((latest, of) => Math.max(latest, of.appendedAt), 0);
}

/** The broker has taken more than we know of: a process before this one, or one beside it. */
async function withoutThoseThere(
  { cluster, holds }: CopyAppendDependencies,
  place: CopyPlace,
  entries: readonly CopiedEntry[],
): Promise<readonly CopiedEntry[]> {
  const [end = 0] = await offsetsOf(cluster, [{ topic: place.name, partition: place.partition }], 'end');
  const last = entries.findLast(({ offset }) => offset < end);
  // It may not be replicated yet, so that its offset isn't told.
  if (last === undefined) return entries;
  if (!(await holds(place, last)))
    throw new CopyRefusedError(
      `Someone else has written into the target: ${placeText(place)} holds another event at offset ${last.offset}. Copy into an empty log.`,
    );
  return entries.filter(({ offset }) => offset >= end);
}

function placeText({ topic, partition }: CopyPlace): string {
  return `${topic}, partition ${partition}`;
}
