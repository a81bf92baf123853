// Reads and writes single records, where no stream of them is wanted.

import type { LogCluster } from './log-cluster.ts';
import { describeFetchError } from './kafka-errors.ts';
import { offsetsOf, type Place } from './offsets-asked.ts';
import { meaningOf } from './produce-errors.ts';
import { noProducer, produceRequest, produceResponse } from './produce-request.ts';
import { readRecords, type RecordSet, type StoredRecord } from './record-batch.ts';

/** Of each answer; a larger batch comes whole anyway. */
const pageBytes = 256 * 1024;
/** How long the leader waits for its replicas: less than a request's own timeout (3 s). */
const replicasTimeoutMs = 2_500;
const noHeader = Buffer.alloc(0);

/** All records that the partition holds when it is asked. @throws Error when they can't be read now */
export async function allRecords(cluster: LogCluster, place: Place): Promise<readonly StoredRecord[]> {
  const [end = 0] = await offsetsOf(cluster, [place], 'end');
  const all: StoredRecord[] = [];
  for (let offset = 0; offset < end;) {
    const { records, next } = await fetchFrom(cluster, place, offset);
    if (next === offset) throw new Error(`${place.topic} ends at ${end}, but nothing is to be read at ${offset}`);
    all.push(...records);
    offset = next;
  }
  return all;
}

/** null: the partition has no record of that offset. @throws Error when it can't be read now */
export async function recordAt(cluster: LogCluster, place: Place, offset: number): Promise<StoredRecord | null> {
  const { records } = await fetchFrom(cluster, place, offset);
  const [first] = records;
  return first?.offset === offset ? first : null;
}

/** Durable when it resolves. @throws Error when it isn't known to be */
export async function appendRecord(cluster: LogCluster, place: Place, value: Buffer, nowMs: number): Promise<void> {
  const { topic: name, partition } = place;
  const values = [{ header: noHeader, bytes: value }];
  const records = [{ name, partitions: [{ partition, producer: noProducer, values, count: 1 }] }];
  const request = produceRequest(records, replicasTimeoutMs, nowMs);
  const answer = await cluster.ask(await leaderOf(cluster, place), (broker) =>
    broker.connectionPool.send({ request, response: produceResponse }),
  );
  const meaning = meaningOf(answer.partition(name, partition)?.errorCode ?? -1);
  if (meaning.kind !== 'written')
    throw new Error(`${name} could not be written${'reason' in meaning ? `: ${meaning.reason}` : ''}`);
}

async function fetchFrom(cluster: LogCluster, place: Place, offset: number): Promise<RecordSet> {
  const answer = await cluster.fetch(await leaderOf(cluster, place), {
    waitMaxMs: 0,
    bytesMin: 0,
    bytesMax: pageBytes,
    partitionBytesMax: pageBytes,
    sessionId: 0,
    sessionEpoch: -1,
    partitions: [{ ...place, offset }],
    forgotten: [],
  });
  const [fetched] = answer.partitions;
  if (fetched === undefined) throw new Error(`${place.topic}: the broker says nothing of it`);
  if (fetched.errorCode !== 0) throw describeFetchError(fetched.errorCode, fetched);
  return readRecords(fetched.bytes, offset);
}

async function leaderOf(cluster: LogCluster, { topic, partition }: Place): Promise<number> {
  await cluster.connect();
  const leader = cluster.leaderOf(topic, partition);
  if (leader === null) throw new Error(`no broker leads ${topic}, partition ${partition}, now`);
  return leader;
}
