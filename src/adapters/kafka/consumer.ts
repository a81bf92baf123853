// One consumer of a group: its membership, its claims, and the one fetcher of all their readers.

import type { Topic } from '../../domain/topics.ts';
import type { CommittedPosition, ConsumeOptions, Consumer } from '../../ports/event-log.ts';
import { createClaims } from './claims.ts';
import { createCommits } from './commits.ts';
import type { ConsumingDependencies } from './consuming.ts';
import { createFetcher } from './fetcher.ts';
import type { LogCluster } from './log-cluster.ts';
import { createMembership, type Membership } from './membership.ts';
import { committedOf, offsetsOf } from './offsets-asked.ts';
import { sourceBytesMax } from './reader.ts';

/** Numbers come seconds after whoever had them has gone; one more is not much. An event that comes is here at once whatever this is. */
const idleWaitMs = 1_000;

/** @param asking for offsets and commits: shared by the consumers of a process */
export function startConsumer(deps: ConsumingDependencies, asking: LogCluster, options: ConsumeOptions): Consumer {
  const { names, clusterOf, decoder, partitioning, clock, logger } = deps;
  const group = names.group(options.group);
  const topics = options.topics.map(names.topic);
  const fetcher = createFetcher({
    cluster: clusterOf(topics),
    clock,
    logger,
    gatherMs: options.gatherMs ?? 0,
    idleWaitMs,
    partitionBytesMax: sourceBytesMax(topics.length),
  });

  const committed = async (numbers: readonly number[]) => {
    const places = numbers.flatMap((partition) => topics.map((topic) => ({ topic, partition })));
    const positions = await committedOf(asking, group, places);
    return new Map(
      numbers.map((number, n) => [
        number,
        new Map<Topic, CommittedPosition | null>(
          options.topics.map((topic, t) => [topic, positions[n * topics.length + t] ?? null]),
        ),
      ]),
    );
  };

  const commits = createCommits({
    cluster: asking,
    group,
    clock,
    membership: { identity: () => membership.identity(), check: () => membership.check() },
  });
  const claims = createClaims(options, {
    names,
    clock,
    logger,
    commits,
    committed,
    isCurrent: () => membership.isCurrent(),
    released: () => membership.joinAgain(),
    confirm: () => membership.confirm(),
    reading: {
      fetcher,
      decoder,
      clock,
      logger,
      inOrderOfTime: true,
      types: options.types,
      deleted: options.deleted,
      afterOthers: options.afterOthers,
      bounds: (places, at) => offsetsOf(asking, places, at),
    },
  });
  const membership: Membership = createMembership({
    cluster: clusterOf(topics),
    group,
    topics,
    partitions: partitioning.partitions,
    clock,
    logger,
    held: claims.held,
    assigned: claims.assigned,
    evicted: claims.evicted,
  });

  return {
    async stop() {
      claims.end();
      fetcher.close();
      await membership.stop();
    },
  };
}
