// What the brokers say about offsets: ends, times, what groups have committed, and who is in a group.

import type { Topic } from '../../domain/topics.ts';
import type { CommittedPosition, Trimmed, TrimmedRange } from '../../ports/event-log.ts';
import type { Admins } from './admin.ts';
import type { Names } from './client.ts';

export interface Offsets {
  ends(topic: Topic): Promise<number[]>;
  starts(topic: Topic): Promise<number[]>;
  trim(range: TrimmedRange): Promise<Trimmed>;
  offsetAt(topic: Topic, partition: number, timeMs: number): Promise<number>;
  committed(group: string, topic: Topic): Promise<(CommittedPosition | null)[]>;
  /** How many members a group has now, in all processes. */
  activeMembers(group: string): Promise<number>;
}

export interface OffsetsDependencies {
  readonly admins: Admins;
  readonly names: Names;
  readonly topics: readonly Topic[];
  readonly partitions: number;
}

export function createOffsets({ admins, names, topics, partitions }: OffsetsDependencies): Offsets {
  const nameOf = (topic: Topic) => {
    if (!topics.includes(topic)) throw new Error(`the log has no topic ${topic}`);
    return names.topic(topic);
  };
  const byPartition = <T>(of: (partition: number) => T) =>
    Array.from({ length: partitions }, (_, number) => of(number));

  const boundsOf = async (topic: Topic, at: 'low' | 'high'): Promise<number[]> => {
    const name = nameOf(topic);
    const found = await admins.use((admin) => admin.fetchTopicOffsets(name));
    const offsets = new Map(found.map((of) => [of.partition, Number(of[at])]));
    return byPartition((partition) => known(offsets.get(partition), topic, partition));
  };

  return {
    ends: (topic) => boundsOf(topic, 'high'),
    starts: (topic) => boundsOf(topic, 'low'),
    /** A topic can only lose its beginning. */
    async trim({ topic, partition, from, to, kept }) {
      const start = known((await boundsOf(topic, 'low'))[partition], topic, partition);
      const end = kept[0] ?? to;
      if (from > start || end <= start) return { events: 0 };
      const partitions = [{ partition, offset: String(end) }];
      await admins.use((admin) => admin.deleteTopicRecords({ topic: nameOf(topic), partitions }));
      return { events: end - start };
    },
    async offsetAt(topic, partition, timeMs) {
      const name = nameOf(topic);
      const since = Math.max(Math.ceil(timeMs), 0);
      const found = await admins.use((admin) => admin.fetchTopicOffsetsByTimestamp(name, since));
      const at = found.find((of) => of.partition === partition);
      return known(at === undefined ? undefined : Number(at.offset), topic, partition);
    },
    async committed(group, topic) {
      const of = { groupId: names.group(group), topics: [nameOf(topic)] };
      const found = await admins.use((admin) => admin.fetchOffsets(of));
      const positions = new Map(found[0]?.partitions.map((of) => [of.partition, of]));
      return byPartition((partition) => {
        const of = positions.get(partition);
        const offset = Number(of?.offset ?? -1);
        return offset < 0 ? null : { offset, metadata: of?.metadata ?? '' };
      });
    },
    async activeMembers(group) {
      const { groups } = await admins.use((admin) => admin.describeGroups([names.group(group)]));
      return groups[0]?.members.length ?? 0;
    },
  };
}

function known(offset: number | undefined, topic: Topic, partition: number): number {
  if (offset === undefined || Number.isNaN(offset))
    throw new Error(`the brokers know no partition ${partition} of ${topic}`);
  return offset;
}
