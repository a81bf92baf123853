// Sharing a Kafka group out: by number over all topics, evenly, and a number stays where it was.

import { describe, expect, it } from '@jest/globals';

import { assign, encodeMember, type MemberState, numbersOf } from '../../../src/adapters/kafka/assigner.ts';
import fc from '../../support/properties.ts';

const partitions = 12;
const topics = ['a', 'b', 'c'];
const equal = () => partitions;

/** The numbers of each member after the leader has shared out. */
function share(members: ReadonlyMap<string, MemberState>): Map<string, number[]> {
  const joined = [...members].map(([memberId, state]) => ({ memberId, memberMetadata: encodeMember(state) }));
  return new Map(
    assign(joined, partitions, equal).map(({ memberId, memberAssignment }) => [
      memberId,
      numbersOf(memberAssignment, members.get(memberId)?.topics ?? []),
    ]),
  );
}

const owning = (owned: readonly number[], generation: number): MemberState => ({ topics, owned, generation });

describe('the assigner', () => {
  it('gives every number to one member, the same in all topics, evenly, and moves none that need not move', () => {
    const steps = fc.array(fc.constantFrom('join', 'leave'), { maxLength: 30 });
    fc.assert(
      fc.property(steps, fc.infiniteStream(fc.nat()), (of, chance) => {
        let members = new Map<string, MemberState>([['m', owning([], -1)]]);
        for (const [generation, step] of of.entries()) {
          const place = (chance.next().value ?? 0) % members.size;
          if (step === 'join') members.set(`m${chance.next().value}-${generation}`, owning([], -1));
          else if (members.size > 1) members.delete([...members.keys()][place] ?? '');
          const before = new Map([...members].map(([id, { owned }]) => [id, owned]));
          const released = share(members);
          for (const [id, numbers] of released) {
            const ofOthers = [...before].flatMap(([other, owned]) => (other === id ? [] : owned));
            expect(numbers.filter((number) => ofOthers.includes(number))).toEqual([]);
          }
          const after = share(new Map([...released].map(([id, numbers]) => [id, owning(numbers, generation)])));

          expect([...after.values()].flat().sort((a, b) => a - b)).toEqual([...Array(partitions).keys()]);
          const sizes = [...after.values()].map((numbers) => numbers.length);
          expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
          for (const [id, numbers] of after) {
            const kept = numbers.filter((number) => before.get(id)?.includes(number));
            expect(kept.length).toBe(Math.min(before.get(id)?.length ?? 0, numbers.length));
          }
          members = new Map([...after].map(([id, numbers]) => [id, owning(numbers, generation)]));
        }
      }),
    );
  });

  it('believes the newer generation when two claim a number', () => {
    const claims = new Map([
      ['a', owning([0, 1, 2, 3, 4, 5], 7)],
      ['b', owning([0, 1, 2, 6, 7, 8], 8)],
    ]);
    const shared = share(claims);
    expect(shared.get('b')).toEqual([0, 1, 2, 6, 7, 8]);
    expect(shared.get('a')).toEqual([3, 4, 5, 9, 10, 11]);
  });

  it('keeps nothing back for a member of an older version, which would not join again', () => {
    const old = encodeMember(owning([...Array(partitions).keys()], 3));
    const told = { generation: 3, owned: [...Array(partitions).keys()] };
    const padded = JSON.stringify(told).padEnd(JSON.stringify({ ...told, releases: true }).length);
    const at = old.indexOf('{"generation"');
    old.write(padded, at);
    const joined = [
      { memberId: 'a', memberMetadata: old },
      { memberId: 'b', memberMetadata: encodeMember(owning([], -1)) },
    ];
    const ofB = assign(joined, partitions, equal).find(({ memberId }) => memberId === 'b');
    expect(numbersOf(ofB?.memberAssignment ?? Buffer.alloc(0), topics)).toHaveLength(6);
  });

  it('gives a member that reads fewer topics its numbers in those', () => {
    const members = new Map([
      ['a', owning([], -1)],
      ['b', { topics: ['b'], owned: [], generation: -1 }],
    ]);
    expect(share(members).get('b')).toEqual([6, 7, 8, 9, 10, 11]);
  });

  it('refuses topics of unequal partition counts, and says which', () => {
    const members = [{ memberId: 'a', memberMetadata: encodeMember(owning([], -1)) }];
    expect(() => assign(members, partitions, (topic) => (topic === 'b' ? 6 : 12))).toThrow(
      'topic b has 6 partitions, not 12',
    );
  });

  it('takes what a member says of itself and can not be read for nothing', () => {
    const [metadata] = [encodeMember(owning([1, 2], 4))];
    const garbled = Buffer.from(metadata);
    garbled.write('!', garbled.length - 3);
    const members = [{ memberId: 'a', memberMetadata: garbled }];
    expect(assign(members, partitions, equal)).toHaveLength(1);
  });
});
