// The partition numbers that this dispatcher owns now, and with each the trackers of its topics.

import type { Claim, TopicCommit } from '../ports/event-log.ts';
import { StaleOwnerError } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import type { PartitionTracker } from './read-ahead.ts';

export interface OwnedNumber {
  readonly claim: Claim;
  /** One per topic that is being read. */
  readonly trackers: PartitionTracker[];
  /** The number is lost or given away, or the dispatcher reads no more: what has not begun is not begun any more. */
  isOver: boolean;
}

export interface Claims {
  add(claim: Claim): OwnedNumber;
  /** A number is about to be given away: nothing of it is begun any more, but what is finished is committed still. */
  release(partition: number): OwnedNumber | null;
  /** Gives a number up: its trackers are closed, so nothing of it is begun or committed any more. */
  drop(partition: number): void;
  all(): Iterable<OwnedNumber>;
  /** False: the group hasn't answered for so long that others may have these numbers. */
  areCurrent(): boolean;
  /** Commits what has moved, each number in one commit. Never rejects: what failed is tried again with the next call. */
  commit(): Promise<void>;
  /** The same of one number. */
  commitOne(number: OwnedNumber): Promise<void>;
}

/** @param onOver called after a number was over */
export function createClaims(by: { group: string; logger: Logger; onOver: () => void }): Claims {
  const { group, logger, onOver } = by;
  const owned = new Map<number, OwnedNumber>();

  function add(claim: Claim): OwnedNumber {
    drop(claim.partition);
    const number: OwnedNumber = { claim, trackers: [], isOver: false };
    owned.set(claim.partition, number);
    return number;
  }

  function drop(partition: number): void {
    const number = owned.get(partition);
    if (number === undefined) return;
    owned.delete(partition);
    number.isOver = true;
    for (const tracker of number.trackers) tracker.close();
    onOver();
  }

  function release(partition: number): OwnedNumber | null {
    const number = owned.get(partition) ?? null;
    if (number !== null) number.isOver = true;
    onOver();
    return number;
  }

  async function commitOne(number: OwnedNumber): Promise<void> {
    const { claim, trackers } = number;
    const commits: TopicCommit[] = [];
    const moved: PartitionTracker[] = [];
    for (const tracker of trackers) {
      const position = tracker.uncommitted();
      if (position === null) continue;
      commits.push({ topic: tracker.topic, ...position });
      moved.push(tracker);
    }
    if (commits.length === 0) return;
    try {
      await claim.commit(commits);
    } catch (err) {
      return noteFailure(number, err);
    }
    commits.forEach((commit, i) => moved[i]?.noteCommitted(commit));
  }

  function noteFailure(number: OwnedNumber, err: unknown): void {
    const { partition } = number.claim;
    if (err instanceof StaleOwnerError) {
      logger.info('a partition number was taken over', { group, partition });
      if (owned.get(partition) === number) drop(partition);
      return;
    }
    logger.warn('a commit failed; trying again', { group, partition, err });
  }

  return {
    add,
    release,
    drop,
    all: () => owned.values(),
    commitOne,
    areCurrent() {
      for (const { claim } of owned.values()) if (!claim.signal.aborted && !claim.isCurrent()) return false;
      return true;
    },
    async commit() {
      await Promise.all([...owned.values()].map(commitOne));
    },
  };
}
