// Who owns which partition number of a group, in one process: numbers are shared evenly, and each change of owner raises the number's epoch.

import { shareNumbers } from '../../../domain/number-shares.ts';
import type { Clock } from '../../../ports/clock.ts';
import { releaseMaxMs } from '../../../ports/event-log.ts';

/** A member is told in this order: the old owner that a number is to be released and then that it is lost, the new one that it is owned. No call may throw. */
export interface Member {
  owned(partition: number, epoch: number): void;
  /** Resolves when what is under way is finished; it is waited for `releaseMaxMs` at most. Absent: there is nothing to wait for. */
  releasing?(partition: number): Promise<void>;
  lost(partition: number): void;
}

export interface Groups {
  /** Returns the call that leaves: the member's numbers go to the others, it is told nothing more. */
  join(group: string, member: Member): () => void;
  isOwner(group: string, partition: number, epoch: number): boolean;
  /** Nobody is told anything any more. */
  close(): void;
}

interface Group {
  readonly members: Member[];
  /** By partition number. */
  readonly owners: (Member | null)[];
  readonly epochs: number[];
  /** Numbers that are to move, and who is asked to finish with them. */
  readonly releasing: Map<number, Member>;
}

export function createGroups(partitions: number, clock: Pick<Clock, 'sleep'>): Groups {
  const groups = new Map<string, Group>();
  let closed = false;

  const groupOf = (name: string): Group => {
    const known = groups.get(name);
    if (known !== undefined) return known;
    const group: Group = {
      members: [],
      owners: Array.from({ length: partitions }, () => null),
      epochs: Array.from({ length: partitions }, () => 0),
      releasing: new Map(),
    };
    groups.set(name, group);
    return group;
  };

  const balance = (group: Group) => {
    if (group.members.length === 0) return;
    const moves = [...shareNumbers(group.owners, group.members).entries()].filter(
      ([partition, member]) => group.owners[partition] !== member,
    );
    const free = moves.filter(([partition]) => group.owners[partition]?.releasing === undefined);
    for (const [partition] of moves) {
      const before = group.owners[partition] ?? null;
      if (before?.releasing !== undefined) void release(group, partition, before, before.releasing);
    }
    for (const [partition] of free) {
      const before = group.owners[partition] ?? null;
      giveTo(group, partition, null);
      before?.lost(partition);
    }
    for (const [partition, member] of free) {
      giveTo(group, partition, member);
      member.owned(partition, group.epochs[partition] ?? 0);
    }
  };

  /** Never rejects. */
  const release = async (group: Group, partition: number, owner: Member, ask: NonNullable<Member['releasing']>) => {
    if (group.releasing.get(partition) === owner) return;
    group.releasing.set(partition, owner);
    const waited = new AbortController();
    await Promise.race([ask(partition), clock.sleep(releaseMaxMs, waited.signal)]).catch(() => {});
    waited.abort();
    if (group.releasing.get(partition) === owner) group.releasing.delete(partition);
    if (closed || group.owners[partition] !== owner) return;
    giveTo(group, partition, null);
    owner.lost(partition);
    balance(group);
  };

  return {
    join(name, member) {
      if (closed) throw new Error('the event log is closed');
      const group = groupOf(name);
      group.members.push(member);
      balance(group);
      return () => {
        const place = group.members.indexOf(member);
        if (place < 0 || closed) return;
        group.members.splice(place, 1);
        for (const [partition, owner] of group.owners.entries()) {
          if (owner === member) giveTo(group, partition, null);
        }
        balance(group);
      };
    },

    isOwner(name, partition, epoch) {
      const group = groups.get(name);
      return group !== undefined && group.owners[partition] !== null && group.epochs[partition] === epoch;
    },

    close() {
      closed = true;
    },
  };
}

function giveTo(group: Group, partition: number, owner: Member | null): void {
  group.owners[partition] = owner;
  group.epochs[partition] = (group.epochs[partition] ?? 0) + 1;
}
