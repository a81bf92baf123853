// Sharing partition numbers within a process: even, disjoint, fenced, and no more moves than needed.

import { describe, expect, it } from '@jest/globals';

import fc from '../../support/properties.ts';
import { until } from '../../support/until.ts';
import { wallClock } from '../../support/wall-clock.ts';
import { createGroups, type Member } from '../../../src/adapters/sqlite/event-log/groups.ts';

const partitions = 12;

interface Joined extends Member {
  readonly owns: Map<number, number>;
  leave(): void;
}

function start() {
  const groups = createGroups(partitions, wallClock);
  let moves = 0;
  const join = (): Joined => {
    const owns = new Map<number, number>();
    const member: Member = {
      owned(partition, epoch) {
        expect(owns.has(partition)).toBe(false);
        owns.set(partition, epoch);
        moves++;
      },
      lost(partition) {
        expect(owns.delete(partition)).toBe(true);
      },
    };
    return { ...member, owns, leave: groups.join('group', member) };
  };
  return { groups, join, movesSoFar: () => moves };
}

describe('the members of a group', () => {
  it('wait for the owner of a number that is to move, but not for ever', async () => {
    const sleeps: (() => void)[] = [];
    const groups = createGroups(partitions, { sleep: () => new Promise((resolve) => void sleeps.push(resolve)) });
    const [lost, owned]: [number[], number[]] = [[], []];
    groups.join('group', {
      owned() {},
      releasing: (partition) => (partition === 6 ? Promise.resolve() : new Promise(() => {})),
      lost: (partition) => void lost.push(partition),
    });
    groups.join('group', { owned: (partition) => void owned.push(partition), lost() {} });
    await until(() => owned.length === 1);
    expect([lost, owned]).toEqual([[6], [6]]);
    for (const wake of sleeps) wake();
    await until(() => owned.length === 6);
    expect(new Set(lost)).toEqual(new Set(owned));
  });

  it('own every number once, evenly, whoever comes and goes, and nothing moves that need not', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { maxLength: 40 }), (steps) => {
        const { groups, join, movesSoFar } = start();
        const members: Joined[] = [];
        for (const step of steps) {
          const before = movesSoFar();
          const leaver = step < 4 ? members.splice(step, 1)[0] : undefined;
          const left = leaver?.owns.size ?? 0;
          if (leaver === undefined) members.push(join());
          else leaver.leave();

          const owned = members.flatMap(({ owns }) => [...owns.keys()]).sort((a, b) => a - b);
          expect(owned).toEqual(members.length === 0 ? [] : Array.from({ length: partitions }, (_, i) => i));
          const sizes = members.map(({ owns }) => owns.size);
          if (sizes.length > 0) expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
          for (const { owns } of members) {
            for (const [partition, epoch] of owns) expect(groups.isOwner('group', partition, epoch)).toBe(true);
          }
          const newcomers = leaver === undefined ? (members.at(-1)?.owns.size ?? 0) : 0;
          // Beside what the newcomer gets or the leaver leaves, at most one number a member evens out who has the odd ones.
          expect(movesSoFar() - before).toBeLessThanOrEqual(newcomers + left + members.length);
        }
      }),
    );
  });

  it('are fenced by the epoch of a number that moved on, even when it comes back', () => {
    const { groups, join } = start();
    const first = join();
    const epochs = new Map(first.owns);
    const second = join();
    for (const partition of second.owns.keys()) {
      expect(groups.isOwner('group', partition, epochs.get(partition) ?? -1)).toBe(false);
    }
    const moved = [...second.owns.keys()];
    second.leave();
    for (const partition of moved) {
      expect(first.owns.has(partition)).toBe(true);
      expect(groups.isOwner('group', partition, epochs.get(partition) ?? -1)).toBe(false);
    }
  });

  it('share with nobody of another group', () => {
    const { groups, join } = start();
    const { owns } = join();
    groups.join('other', { owned() {}, lost() {} });
    expect(owns.size).toBe(partitions);
    expect(groups.isOwner('unheard of', 0, 1)).toBe(false);
  });
});
