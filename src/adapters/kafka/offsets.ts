// What the brokers say about offsets: ends, times, what groups have committed, and who is in a group.

import type { Topic } from '../../domain/topics.ts';
import type { EventLog } from '../../ports/event-log.ts';
import type { Admins } from './admin.ts';
import type { Names } from './client.ts';
import type { LogCluster } from './log-cluster.ts';
import { offsetsOf } from './offsets-asked.ts';

export interface Offsets extends Pick<EventLog, 'ends' | 'starts' | 'trim' | 'offsetAt' | 'committed'> {
  /** How many members a group has now, in all processes. */
  activeMembers(group: string): Promise<number>;
}

export interface OffsetsDependencies {
  /** For groups, and to delete. */
  readonly admins: Admins;
  /** For ends and times: each partition is asked of its own leader, so one without takes nothing from the others. */
  readonly cluster: LogCluster;
  readonly names: Names;
  readonly topics: readonly Topic[];
  readonly partitions: number;
}

export function createOffsets({ admins, cluster, names, topics, partitions }: OffsetsDependencies): Offsets {
  const nameOf = (topic: Topic) => {
    if (!topics.includes(topic)) throw new Error(`the log has no topic ${topic}`);
    return names.topic(topic);
  };
  const byPartition = <T>(of: (partition: number) => T) =>
    Array.from({ length: partitions }, (_, number) => of(number));
  const all = byPartition((partition) => partition);

  const boundsOf = async (topic: Topic, at: 'start' | 'end', numbers: readonly number[]): Promise<number[]> => {
    const name = nameOf(topic);
    const asked = numbers.map((partition) => ({ topic: name, partition }));
    const offsets = await offsetsOf(cluster, asked, at);
    const bounds: number[] = [];
    for (const [i, partition] of numbers.entries()) bounds[partition] = known(offsets[i], topic, partition);
    return bounds;
  };

  return {
    ends: (topic, numbers = all) => boundsOf(topic, 'end', numbers),
    starts: (topic, numbers = all) => boundsOf(topic, 'start', numbers),
    /** A topic can only lose its beginning. */
    async trim({ topic, partition, from, to, kept }) {
      const name = nameOf(topic);
      const [start = 0] = await offsetsOf(cluster, [{ topic: name, partition }], 'start');
      const end = kept[0] ?? to;
      if (from > start || end <= start) return { events: 0 };
      const partitions = [{ partition, offset: String(end) }];
      await admins.use(async (admin) => {
        // kafkajs looks for its leaders only here.
        await admin.fetchTopicOffsets(name);
        await admin.deleteTopicRecords({ topic: name, partitions });
      });
      return { events: end - start };
    },
    async offsetAt(topic, partition, timeMs) {
      const place = { topic: nameOf(topic), partition };
      const [at = -1] = await offsetsOf(cluster, [place], Math.ceil(timeMs));
      if (at >= 0) return at;
      const [end] = await offsetsOf(cluster, [place], 'end');
      return known(end, topic, partition);
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
  if (offset === undefined || offset < 0) throw new Error(`the brokers know no partition ${partition} of ${topic}`);
  return offset;
}
