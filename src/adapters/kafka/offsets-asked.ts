// Asks the brokers for offsets: ends, offsets of a time, what a group has committed.

import type { CommittedPosition } from '../../ports/event-log.ts';
import { keyOf } from './fetch-session.ts';
import type { LogCluster } from './log-cluster.ts';

export interface Place {
  /** As the brokers call it. */
  readonly topic: string;
  readonly partition: number;
}

/** 'start': the first offset that is still there. 'end': the offset that the next event gets. A time (UTC ms): the first offset whose record was appended then or later, -1 when there is none. */
export async function offsetsOf(
  cluster: LogCluster,
  places: readonly Place[],
  at: 'start' | 'end' | number,
): Promise<readonly number[]> {
  await cluster.connect();
  const byLeader = new Map<number, number[]>();
  for (const [i, { topic, partition }] of places.entries()) {
    const leader = cluster.leaderOf(topic, partition);
    if (leader === null) throw await withoutLeader(cluster, `${topic}, partition ${partition}: no broker leads it now`);
    byLeader.set(leader, [...(byLeader.get(leader) ?? []), i]);
  }
  const offsets: number[] = Array.from({ length: places.length }, () => -1);
  const timestamp = timestampOf(at);
  const askOne = async ([leader, indices]: [number, number[]]) => {
    const topics = byTopic(
      indices.map((i) => places[i] as Place),
      ({ partition }) => ({ partition, timestamp }),
    );
    const { responses } = await cluster.ask(leader, (broker) =>
      broker.listOffsets({ replicaId: -1, isolationLevel: 0, topics }),
    );
    const found = new Map(
      responses.flatMap(({ topic, partitions }) =>
        partitions.map(({ partition, offset }) => [keyOf({ topic, partition }), Number(offset)] as const),
      ),
    );
    for (const i of indices) offsets[i] = found.get(keyOf(places[i] as Place)) ?? -1;
  };
  try {
    await Promise.all([...byLeader].map(askOne));
  } catch (error) {
    await cluster.refresh().catch(() => {});
    throw error;
  }
  return offsets;
}

/** As Kafka means it. */
function timestampOf(at: 'start' | 'end' | number): string {
  switch (at) {
    case 'start':
      return '-2';
    case 'end':
      return '-1';
    default:
      return String(Math.max(0, Math.floor(at)));
  }
}

/** In the order of the places; null: never anything. */
export async function committedOf(
  cluster: LogCluster,
  group: string,
  places: readonly Place[],
): Promise<readonly (CommittedPosition | null)[]> {
  const coordinator = await cluster.coordinatorOf(group);
  const topics = byTopic(places, ({ partition }) => ({ partition }));
  const { responses } = await cluster.ask(coordinator, (broker) => broker.offsetFetch({ groupId: group, topics }));
  const found = new Map(
    responses.flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, offset, metadata }) => {
        const position = Number(offset) < 0 ? null : { offset: Number(offset), metadata: metadata ?? '' };
        return [keyOf({ topic, partition }), position] as const;
      }),
    ),
  );
  return places.map(({ topic, partition }) => found.get(keyOf({ topic, partition })) ?? null);
}

async function withoutLeader(cluster: LogCluster, message: string): Promise<Error> {
  await cluster.refresh().catch(() => {});
  return new Error(message);
}

function byTopic<P>(places: readonly Place[], of: (place: Place) => P): { topic: string; partitions: P[] }[] {
  const topics = new Map<string, P[]>();
  for (const place of places) topics.set(place.topic, [...(topics.get(place.topic) ?? []), of(place)]);
  return [...topics].map(([topic, partitions]) => ({ topic, partitions }));
}
