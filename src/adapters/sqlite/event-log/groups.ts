// Who owns which partition number of a group, in one process: numbers are shared evenly, and each change of owner raises the number's epoch.

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

/** Everyone keeps the lowest of its numbers up to an even share; the rest goes, ascending, to those who have less, in the order in which they joined. */
function balance(group: Group): void {
  const shares = evenShares(group.owners.length, group.members);
  const kept = new Map<Member, number>();
  const free: number[] = [];
  for (const [partition, owner] of group.owners.entries()) {
    const count = owner === null ? 0 : (kept.get(owner) ?? 0);
    if (owner !== null && count < (shares.get(owner) ?? 0)) kept.set(owner, count + 1);
    else free.push(partition);
  }
  const moves: (readonly [number, Member])[] = [];
  for (const member of group.members) {
    const wanted = (shares.get(member) ?? 0) - (kept.get(member) ?? 0);
    for (const partition of free.splice(0, wanted)) moves.push([partition, member]);
  }
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

function evenShares(partitions: number, members: readonly Member[]): Map<Member, number> {
  const base = Math.floor(partitions / members.length);
  return new Map(members.map((member, i) => [member, base + (i < partitions % members.length ? 1 : 0)]));
}

function giveTo(group: Group, partition: number, owner: Member | null): void {
  group.owners[partition] = owner;
  group.epochs[partition] = (group.epochs[partition] ?? 0) + 1;
}
