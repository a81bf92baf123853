// One consumer's claims on partition numbers: made when a number is owned, void when it is lost.

import type { Topic } from '../../../domain/topics.ts';
import { sayDeleted } from '../../../ports/deleted-events.ts';
import type { Claim, CommittedPosition, ConsumeOptions, TopicCommit } from '../../../ports/event-log.ts';
import type { Logger } from '../../../ports/logger.ts';
import type { Catalog } from './catalog.ts';
import type { Ends } from './ends.ts';
import type { Member } from './groups.ts';
import { createReader, type ReadFrom } from './reader.ts';
import type { Rows } from './rows.ts';
import type { Sleeper, Wakeups } from './wakeups.ts';

/** What a commit is of; the epoch says which owner of the number makes it. */
export interface OwnedCommit {
  readonly group: string;
  readonly partition: number;
  readonly epoch: number;
  readonly commits: readonly TopicCommit[];
}

export interface ClaimDependencies {
  readonly catalog: Catalog;
  readonly rows: Rows;
  readonly ends: Ends;
  readonly wakeups: Wakeups;
  readonly logger: Logger;
  /** Durable when it resolves. @throws StaleOwnerError */
  commit(commit: OwnedCommit): Promise<void>;
}

export interface Claims extends Member {
  /** Voids every claim, without a word to the consumer but the signals. */
  end(): void;
}

/** Of a commit's note: what Kafka allows by default. */
const metadataMax = 4096;

export function createClaims(
  options: ConsumeOptions,
  { catalog, rows, ends, wakeups, logger, commit }: ClaimDependencies,
): Claims {
  const { group, topics } = options;
  for (const topic of topics) catalog.slotOf(topic, 0);
  const page = rows.page(options.types);
  const owned = new Map<number, { readonly controller: AbortController; readonly sleepers: Set<Sleeper> }>();

  const end = (partition: number) => {
    const claim = owned.get(partition);
    owned.delete(partition);
    claim?.controller.abort();
    for (const sleeper of claim?.sleepers ?? []) {
      wakeups.remove(sleeper);
      sleeper.wake();
    }
  };

  /** What a position names may be deleted: then it goes on from the start, and says so. */
  const placeOf =
    (partition: number) =>
    ([topic, offset]: readonly [Topic, number]): ReadFrom => {
      const slot = catalog.slotOf(topic, partition);
      const isLast = options.afterOthers?.has(topic) === true;
      const start = rows.start(slot);
      if (start === null || start <= offset) return { slot, topic, offset, isLast };
      sayDeleted(logger, options.deleted, { group, topic, partition, offset, start });
      return { slot, topic, offset: start, isLast };
    };

  const claimOf = (
    partition: number,
    epoch: number,
    owner: { signal: AbortSignal; sleepers: Set<Sleeper> },
  ): Claim => ({
    partition,
    signal: owner.signal,
    isCurrent: () => !owner.signal.aborted,
    generation: epoch,
    committed: new Map<Topic, CommittedPosition | null>(
      topics.map((topic) => [topic, rows.committed(group, catalog.slotOf(topic, partition))]),
    ),
    read(from) {
      return createReader({ page, rows, ends, wakeups }, owner, [...from].map(placeOf(partition)));
    },
    // A commit of nothing: who writes the log holds it against the number's owner.
    confirm: () => commit({ group, partition, epoch, commits: [] }),
    async commit(commits) {
      checkCommits(commits, catalog, partition);
      await commit({ group, partition, epoch, commits });
    },
  });

  return {
    owned(partition, epoch) {
      const controller = new AbortController();
      const sleepers = new Set<Sleeper>();
      owned.set(partition, { controller, sleepers });
      options.owned(claimOf(partition, epoch, { signal: controller.signal, sleepers }));
    },
    releasing: async (partition) => {
      await options.releasing?.(partition);
    },
    lost(partition) {
      end(partition);
      options.lost(partition);
    },
    end() {
      for (const partition of owned.keys()) end(partition);
    },
  };
}

function checkCommits(commits: readonly TopicCommit[], catalog: Catalog, partition: number): void {
  for (const { topic, offset, metadata } of commits) {
    catalog.slotOf(topic, partition);
    if (!Number.isSafeInteger(offset) || offset < 0) throw new Error(`${offset} is no offset to commit`);
    if (metadata.length > metadataMax) {
      throw new Error(`the metadata of a commit holds at most ${metadataMax} characters, not ${metadata.length}`);
    }
  }
}
