// A consumer group as Kafka's coordinator keeps one: members join, one of them shares out, who is silent for too long is left out; and its commits.

import type { GroupMember } from 'kafkajs/src/cluster/index.js';

import type { CommittedPosition } from '../../src/ports/event-log.ts';
import { keyOf } from '../../src/adapters/kafka/fetch-session.ts';
import type { Commit } from './commits.ts';
import type { Pending, VirtualTime } from './virtual-time.ts';

/** As kafkajs says what a broker refuses. */
class Refusal extends Error {
  readonly type: string;

  constructor(type: string) {
    super(type);
    this.type = type;
  }
}

export interface Joined {
  readonly generationId: number;
  readonly leaderId: string;
  readonly memberId: string;
  readonly members: readonly GroupMember[];
}

export interface Group {
  readonly committed: Map<string, CommittedPosition>;
  join(machine: string, memberId: string, metadata: Buffer): Promise<Joined>;
  sync(of: {
    generationId: number;
    memberId: string;
    groupAssignment: readonly { memberId: string; memberAssignment: Buffer }[];
  }): Promise<{ memberAssignment: Buffer }>;
  heartbeat(of: { groupGenerationId: number; memberId: string }): void;
  leave(memberId: string): void;
  commit(of: { groupGenerationId: number; memberId: string }, commits: readonly Commit[]): void;
  /** Leaves the members of a machine out, as if they had been silent for too long. */
  evict(machine: string): void;
  /** Nobody is known any more, and generations begin again. */
  forgetAll(): void;
}

interface Member {
  readonly id: string;
  readonly machine: string;
  metadata: Buffer;
  join: PromiseWithResolvers<Joined> | null;
  sync: PromiseWithResolvers<{ memberAssignment: Buffer }> | null;
  session: Pending | null;
}

const sessionTimeoutMs = 10_000;
const rebalanceTimeoutMs = 10_000;

export function createGroup(time: VirtualTime, onCommit: (commits: readonly Commit[]) => void): Group {
  const committed = new Map<string, CommittedPosition>();
  const members = new Map<string, Member>();
  let state: 'stable' | 'joining' | 'sharing' = 'stable';
  let generation = 0;
  let made = 0;
  let leaderId = '';
  let assignments = new Map<string, Buffer>();
  let patience: Pending | null = null;

  const known = (memberId: string): Member => {
    const member = members.get(memberId);
    if (member === undefined) throw new Refusal('UNKNOWN_MEMBER_ID');
    return member;
  };
  const inGeneration = (memberId: string, of: number): Member => {
    const member = known(memberId);
    if (of !== generation) throw new Refusal('ILLEGAL_GENERATION');
    return member;
  };

  const touch = (member: Member): void => {
    member.session?.cancel();
    member.session = time.after(sessionTimeoutMs, () => {
      if (member.join === null && member.sync === null) remove(member);
      else touch(member);
    });
  };

  const remove = (member: Member): void => {
    if (!members.delete(member.id)) return;
    member.session?.cancel();
    member.join?.reject(new Refusal('UNKNOWN_MEMBER_ID'));
    member.sync?.reject(new Refusal('UNKNOWN_MEMBER_ID'));
    if (state === 'joining') completeIfAll();
    else if (members.size > 0) begin();
  };

  const begin = (): void => {
    state = 'joining';
    for (const member of members.values()) {
      member.sync?.reject(new Refusal('REBALANCE_IN_PROGRESS'));
      member.sync = null;
    }
    patience?.cancel();
    patience = time.after(rebalanceTimeoutMs, () => {
      for (const member of members.values()) if (member.join === null) remove(member);
    });
  };

  const completeIfAll = (): void => {
    for (const member of members.values()) if (member.join === null) return;
    patience?.cancel();
    if (members.size === 0) {
      state = 'stable';
      return;
    }
    state = 'sharing';
    generation++;
    if (!members.has(leaderId)) leaderId = [...members.keys()][0] ?? '';
    const all = [...members.values()].map(({ id, metadata }) => ({ memberId: id, memberMetadata: metadata }));
    for (const member of members.values()) {
      touch(member);
      const { id } = member;
      member.join?.resolve({
        generationId: generation,
        leaderId,
        memberId: id,
        members: id === leaderId ? all : [],
      });
      member.join = null;
    }
  };

  return {
    committed,
    join(machine, memberId, metadata) {
      const member = memberId === '' ? newMember(machine) : known(memberId);
      member.metadata = metadata;
      member.join?.reject(new Refusal('REBALANCE_IN_PROGRESS'));
      member.join = Promise.withResolvers();
      touch(member);
      const { promise } = member.join;
      if (state !== 'joining') begin();
      completeIfAll();
      return promise;
    },
    async sync({ generationId, memberId, groupAssignment }) {
      const member = inGeneration(memberId, generationId);
      if (state === 'joining') throw new Refusal('REBALANCE_IN_PROGRESS');
      touch(member);
      if (state === 'sharing' && memberId === leaderId) {
        assignments = new Map(groupAssignment.map((of) => [of.memberId, of.memberAssignment]));
        state = 'stable';
        for (const other of members.values()) {
          other.sync?.resolve({ memberAssignment: assignments.get(other.id) ?? Buffer.alloc(0) });
          other.sync = null;
        }
      }
      if (state === 'stable') return { memberAssignment: assignments.get(memberId) ?? Buffer.alloc(0) };
      member.sync = Promise.withResolvers();
      return member.sync.promise;
    },
    heartbeat({ groupGenerationId, memberId }) {
      touch(inGeneration(memberId, groupGenerationId));
      if (state === 'joining') throw new Refusal('REBALANCE_IN_PROGRESS');
    },
    leave: (memberId) => remove(known(memberId)),
    commit({ groupGenerationId, memberId }, commits) {
      inGeneration(memberId, groupGenerationId);
      if (state === 'sharing') throw new Refusal('REBALANCE_IN_PROGRESS');
      for (const { topic, partition, offset, metadata } of commits)
        committed.set(keyOf({ topic, partition }), { offset, metadata });
      onCommit(commits);
    },
    evict(machine) {
      for (const member of members.values()) if (member.machine === machine) remove(member);
    },
    forgetAll() {
      for (const member of members.values()) remove(member);
      generation = 0;
    },
  };

  function newMember(machine: string): Member {
    const member: Member = {
      id: `${machine}-${made++}`,
      machine,
      metadata: Buffer.alloc(0),
      join: null,
      sync: null,
      session: null,
    };
    members.set(member.id, member);
    return member;
  }
}
