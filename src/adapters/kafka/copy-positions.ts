// Writes what groups have finished into a log that was copied: offsets and what is finished beyond them, as they stood.

import type { Clock } from '../../ports/clock.ts';
import type { GroupPosition } from '../../ports/event-log-copy.ts';
import { CopyRefusedError } from '../../ports/event-log-copy.ts';
import type { Names } from './client.ts';
import { answeredError } from './kafka-errors.ts';
import type { LogCluster } from './log-cluster.ts';
import { committedOf } from './offsets-asked.ts';

export interface CopyPositionDependencies {
  readonly cluster: LogCluster;
  readonly names: Names;
  readonly clock: Clock;
}

/** Who commits without being a member; the coordinator refuses it while there is one. */
const noMember = { groupGenerationId: -1, memberId: '' };
const hasMembers = new Set(['UNKNOWN_MEMBER_ID', 'ILLEGAL_GENERATION', 'REBALANCE_IN_PROGRESS']);
/** A coordinator that was just chosen loads its groups first. */
const triesMax = 60;
const tryMs = 500;

/** @throws CopyRefusedError when a group has members */
export async function writePositions(
  deps: CopyPositionDependencies,
  positions: readonly GroupPosition[],
): Promise<void> {
  for (const group of new Set(positions.map((position) => position.group))) {
    await writeGroup(
      deps,
      group,
      positions.filter((position) => position.group === group),
    );
  }
}

async function writeGroup(
  deps: CopyPositionDependencies,
  group: string,
  positions: readonly GroupPosition[],
): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await commit(deps, group, positions);
      return;
    } catch (error) {
      const told = answeredError(error);
      if (told !== null && hasMembers.has(told))
        throw new CopyRefusedError(
          `The group ${deps.names.group(group)} has members: stop every Herald on the target.`,
        );
      if (tries >= triesMax) throw error;
    }
    await deps.clock.sleep(tryMs);
  }
}

/** What isn't read back as it was written is an Error. */
async function commit(
  { cluster, names }: CopyPositionDependencies,
  group: string,
  positions: readonly GroupPosition[],
): Promise<void> {
  const groupId = names.group(group);
  const topics = [...new Set(positions.map(({ topic }) => topic))].map((topic) => ({
    topic: names.topic(topic),
    partitions: positions
      .filter((position) => position.topic === topic)
      .map(({ partition, offset, metadata }) => ({ partition, offset: String(offset), metadata })),
  }));
  await cluster.ask(await cluster.coordinatorOf(groupId), (broker) =>
    broker.offsetCommit({ groupId, ...noMember, topics }),
  );
  const places = positions.map(({ topic, partition }) => ({ topic: names.topic(topic), partition }));
  const there = await committedOf(cluster, groupId, places);
  for (const [i, { topic, partition, offset, metadata }] of positions.entries()) {
    const found = there[i];
    if (found?.offset === offset && found.metadata === metadata) continue;
    throw new Error(`the position of ${groupId} on ${topic}, partition ${partition} is not the one that was written`);
  }
}
