// Says which partitions of the log have no leader: what is appended there is refused, and nothing of them is read, by whichever process; all else goes on.
// A topic that was deleted or may not be seen isn't in what brokers tell: that is another matter, which no election ends.

import type { Logger } from '../../ports/logger.ts';
import type { Metrics } from '../../ports/metrics.ts';
import type { LogCluster } from './log-cluster.ts';

export interface LeaderlessDependencies {
  /** As the brokers call them. */
  readonly topics: readonly string[];
  readonly partitions: number;
  readonly logger: Logger;
  readonly metrics: Metrics | undefined;
}

const saidMax = 12;

type Told = Pick<LogCluster, 'leaderOf' | 'partitionsOf'>;

/** Whether it was told, and that nobody leads it. */
export function isLeaderless(told: Told, topic: string, partition: number): boolean {
  return partition < told.partitionsOf(topic) && told.leaderOf(topic, partition) === null;
}

/** A line whenever they are others than before. */
export function createLeaderless({ topics, partitions, logger, metrics }: LeaderlessDependencies) {
  let without: readonly string[] = [];
  metrics?.gauge('herald_partitions_without_leader', () => without.length);

  return (told: Told): void => {
    const before = without.join();
    const numbers = Array.from({ length: partitions }, (_, partition) => partition);
    without = topics.flatMap((topic) =>
      numbers.filter((partition) => isLeaderless(told, topic, partition)).map((partition) => `${topic} ${partition}`),
    );
    if (without.join() === before) return;
    const of = { partitions: without.slice(0, saidMax), count: without.length };
    if (without.length > 0) logger.error('no broker leads partitions of the log', of);
    else logger.info('every partition of the log has a leader again');
  };
}
