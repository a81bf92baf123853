// Shares the partition numbers of a group out: number p of every topic goes to the same member, and whoever owns a number keeps it up to an even share.
// A number that is to move goes to nobody at first: its owner finishes what is under way, joins again without it, and then it goes to the next.
// In the bytes of Kafka's consumer protocol, so that its own tools show who owns what.

import { AssignerProtocol } from 'kafkajs';

import { shareNumbers } from '../../domain/number-shares.ts';

/** Members of a group agree on it; raised when what they tell each other changes. */
export const assignerName = 'herald-numbers-1';

/** What a member tells of itself when it joins. */
export interface MemberState {
  /** As the brokers call them. */
  readonly topics: readonly string[];
  /** Numbers that it owns, as of `generation`. */
  readonly owned: readonly number[];
  readonly generation: number;
}

interface ToldState extends MemberState {
  /** Whether it joins again once it has finished with a number that was taken from it: older versions don't. */
  readonly releases: boolean;
}

export interface JoinedMember {
  readonly memberId: string;
  readonly memberMetadata: Buffer;
}

const { MemberMetadata, MemberAssignment } = AssignerProtocol;
const version = 0;

export function encodeMember({ topics, owned, generation }: MemberState): Buffer {
  const userData = Buffer.from(JSON.stringify({ generation, owned, releases: true }));
  return MemberMetadata.encode({ version, topics: [...topics], userData });
}

/**
 * What the leader of a group says to each member. Of two that claim a number the one of the newer generation has it. What a member that is there owns
 * is given to nobody else: it goes to nobody as long as that member says that it owns it.
 * @param partitionsOf how many partitions a topic has
 * @throws Error when the topics don't all have `partitions` partitions: numbers would mean nothing
 */
export function assign(
  members: readonly JoinedMember[],
  partitions: number,
  partitionsOf: (topic: string) => number,
): { readonly memberId: string; readonly memberAssignment: Buffer }[] {
  const states = new Map(
    [...members]
      .sort((a, b) => (a.memberId < b.memberId ? -1 : 1))
      .map(({ memberId, memberMetadata }) => [memberId, decodeMember(memberMetadata)]),
  );
  for (const topic of new Set([...states.values()].flatMap(({ topics }) => topics))) {
    const count = partitionsOf(topic);
    if (count !== partitions) {
      throw new Error(`topic ${topic} has ${count} partitions, not ${partitions}: its numbers can't be shared out`);
    }
  }
  const owners = claimedBy(states, partitions);
  const shared = shareNumbers(owners, [...states.keys()]);
  const isFree = (number: number) => {
    const owner = owners[number] ?? null;
    return owner === null || owner === shared[number] || states.get(owner)?.releases !== true;
  };
  return [...states].map(([memberId, { topics }]) => {
    const numbers = shared.flatMap((owner, number) => (owner === memberId && isFree(number) ? [number] : []));
    const assignment = Object.fromEntries(topics.map((topic) => [topic, numbers]));
    return { memberId, memberAssignment: MemberAssignment.encode({ version, assignment, userData: Buffer.alloc(0) }) };
  });
}

/** The numbers that the leader's answer gives to this member, ascending. @throws Error when they aren't the same in all its topics */
export function numbersOf(memberAssignment: Buffer, topics: readonly string[]): number[] {
  const assignment = MemberAssignment.decode(memberAssignment)?.assignment ?? {};
  const [first = [], ...others] = topics.map((topic) => [...(assignment[topic] ?? [])].sort((a, b) => a - b));
  if (others.some((numbers) => numbers.join() !== first.join())) {
    throw new Error('the group was shared out by topic, not by number: is another program in it?');
  }
  return first;
}

function claimedBy(states: ReadonlyMap<string, ToldState>, partitions: number): (string | null)[] {
  const claims: { readonly memberId: string; readonly generation: number }[] = [];
  for (const [memberId, { owned, generation }] of states) {
    for (const number of owned) {
      const claim = claims[number];
      if (claim === undefined || claim.generation < generation) claims[number] = { memberId, generation };
    }
  }
  return Array.from({ length: partitions }, (_, number) => claims[number]?.memberId ?? null);
}

/** What can't be read claims nothing. */
function decodeMember(metadata: Buffer): ToldState {
  const decoded = MemberMetadata.decode(metadata);
  const topics = decoded?.topics ?? [];
  try {
    const said: unknown = JSON.parse(decoded?.userData.toString() ?? '');
    if (typeof said === 'object' && said !== null && 'generation' in said && 'owned' in said) {
      const { generation, owned } = said;
      if (Number.isSafeInteger(generation) && Array.isArray(owned)) {
        const releases = 'releases' in said && said.releases === true;
        return { topics, generation: Number(generation), owned: owned.filter(isNumber), releases };
      }
    }
  } catch {
    // Told by another version, or by nobody.
  }
  return { topics, owned: [], generation: -1, releases: false };
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
