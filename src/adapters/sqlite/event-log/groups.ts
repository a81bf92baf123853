// Who owns which partition number of a group, in one process: numbers are shared evenly, and each change of owner raises the number's epoch.

import { shareNumbers } from '../../../domain/number-shares.ts';

/** A member is told in this order: the old owner that a number is lost, then the new one that it is owned. Neither call may throw. */
export interface Member {
  owned(partition: number, epoch: number): void;
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
}

export function createGroups(partitions: number): Groups {
  const groups = new Map<string, Group>();
  let closed = false;

  const groupOf = (name: string): Group => {
    const known = groups.get(name);
    if (known !== undefined) return known;
    const group: Group = {
      members: [],
      owners: Array.from({ length: partitions }, () => null),
      epochs: Array.from({ length: partitions }, () => 0),
    };
    groups.set(name, group);
    return group;
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

function balance(group: Group): void {
  if (group.members.length === 0) return;
  const moves = [...shareNumbers(group.owners, group.members).entries()].filter(
    ([partition, member]) => group.owners[partition] !== member,
  );
  for (const [partition] of moves) {
    const before = group.owners[partition] ?? null;
    giveTo(group, partition, null);
    before?.lost(partition);
  }
  for (const [partition, member] of moves) {
    giveTo(group, partition, member);
    member.owned(partition, group.epochs[partition] ?? 0);
  }
}

function giveTo(group: Group, partition: number, owner: Member | null): void {
  group.owners[partition] = owner;
  group.epochs[partition] = (group.epochs[partition] ?? 0) + 1;
}
