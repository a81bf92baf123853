// The commits of one consumer: those of one turn go to the coordinator in one request, one request at a time, so that a position never goes back.

import type { Clock } from '../../ports/clock.ts';
import { StaleOwnerError } from '../../ports/event-log.ts';
import { withDeadline } from './deadline.ts';
import { answeredError } from './kafka-errors.ts';
import type { LogCluster } from './log-cluster.ts';
import type { Membership } from './membership.ts';

export interface PartitionCommit {
  /** As the brokers call it. */
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly metadata: string;
}

export interface Commits {
  /** @param signal of the claim that commits @throws StaleOwnerError once it has aborted; Error when the commit may be tried again */
  commit(signal: AbortSignal, commits: readonly PartitionCommit[]): Promise<void>;
}

export interface CommitsDependencies {
  readonly cluster: LogCluster;
  readonly group: string;
  readonly clock: Clock;
  readonly membership: Pick<Membership, 'identity' | 'check'>;
}

interface Waiting {
  readonly signal: AbortSignal;
  readonly commits: readonly PartitionCommit[];
  resolve(): void;
  reject(error: Error): void;
}

const commitMaxMs = 5_000;
/** Callers that wait; each owner of a number has one commit under way, so more are a mistake. */
const waitingMax = 1_000;

export function createCommits({ cluster, group, clock, membership }: CommitsDependencies): Commits {
  let waiting: Waiting[] = [];
  let isSending = false;
  let coordinator: number | null = null;

  const flush = async (): Promise<void> => {
    isSending = true;
    while (waiting.length > 0) {
      const batch = waiting.filter(isAlive);
      for (const { reject, signal } of waiting) if (signal.aborted) reject(staleOwner());
      waiting = [];
      if (batch.length === 0) continue;
      try {
        await withDeadline(clock, commitMaxMs, `a commit of group ${group}`, send(batch));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        noteFailure(error);
        for (const { signal, reject } of batch) reject(signal.aborted ? staleOwner() : asError(error));
      }
    }
    isSending = false;
  };

  const send = async (batch: readonly Waiting[]): Promise<void> => {
    const identity = membership.identity();
    if (identity === null) throw new Error(`group ${group} is being joined; the commit may be tried again`);
    const topics = topicsOf(batch);
    coordinator ??= await cluster.coordinatorOf(group);
    await cluster.ask(coordinator, (broker) =>
      broker.offsetCommit({
        groupId: group,
        memberId: identity.memberId,
        groupGenerationId: identity.generation,
        topics,
      }),
    );
  };

  const noteFailure = (error: unknown) => {
    switch (answeredError(error)) {
      case 'ILLEGAL_GENERATION':
      case 'UNKNOWN_MEMBER_ID':
      case 'REBALANCE_IN_PROGRESS':
        membership.check();
        return;
      default:
        coordinator = null;
    }
  };

  const staleOwner = () => new StaleOwnerError(`a partition number of group ${group} has another owner by now`);

  return {
    async commit(signal, commits) {
      if (signal.aborted) throw staleOwner();
      if (commits.length === 0) return;
      if (waiting.length >= waitingMax) throw new Error(`too many commits of group ${group} wait`);
      await new Promise<void>((resolve, reject) => {
        waiting.push({ signal, commits, resolve, reject });
        if (isSending) return;
        isSending = true;
        setImmediate(() => void flush());
      });
    },
  };
}

function isAlive({ signal }: Waiting): boolean {
  return !signal.aborted;
}

/** Of two commits of one partition the later one. */
function topicsOf(batch: readonly Waiting[]) {
  const topics = new Map<string, Map<number, { partition: number; offset: string; metadata: string }>>();
  for (const { commits } of batch) {
    for (const { topic, partition, offset, metadata } of commits) {
      const of = topics.get(topic) ?? new Map<number, { partition: number; offset: string; metadata: string }>();
      of.set(partition, { partition, offset: String(offset), metadata });
      topics.set(topic, of);
    }
  }
  return [...topics].map(([topic, partitions]) => ({ topic, partitions: [...partitions.values()] }));
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
