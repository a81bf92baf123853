// Membership in a group, by a coordinator that the test plays: what a member believes of itself.

import { AssignerProtocol } from 'kafkajs';
import type { Broker } from 'kafkajs/src/cluster/index.js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { LogCluster } from '../../../src/adapters/kafka/log-cluster.ts';
import { createMembership, type Membership } from '../../../src/adapters/kafka/membership.ts';
import { until } from '../../support/until.ts';
import { clock, loggerTo } from './log-world.ts';

const topics = ['work'];
let time: number;
/** What the machine's clocks say apart from each other. */
let pausedMs: number;
let heartbeats: number;
let isFrozen: boolean;
/** Joins are refused: the coordinator is not ready. */
let isLoading: boolean;
let isClosed: boolean;
/** This member shares its group out. */
let isLeader: boolean;
/** Partitions of its topic, as far as it has learnt. */
let known: number;
/** How many members it gave numbers. */
let shared: number[];
/** Rests before another try, which the test ends. */
let rests: { readonly ms: number; end(): void }[];
let joins: (readonly number[])[];
let given: readonly number[];
let held: readonly number[];
let membership: Membership;

beforeEach(() => {
  [time, pausedMs, heartbeats, isFrozen] = [1_000_000, 0, 0, false];
  [isLoading, isClosed, rests] = [false, false, []];
  [isLeader, known, shared] = [false, 12, []];
  [joins, given, held] = [[], [0, 1, 2], []];
  membership = createMembership({
    cluster: coordinator(),
    group: 'dispatcher-email',
    topics,
    partitions: 12,
    clock: {
      ...clock,
      monotonic: () => time,
      now: () => time + pausedMs,
      // A heartbeat comes every 2 ms.
      sleep: (ms, signal) => (ms < 500 ? rest(ms, signal) : clock.sleep(ms === 500 ? 2 : ms, signal)),
    },
    logger: loggerTo([]),
    held: () => held,
    assigned: (numbers) => void (held = numbers),
    evicted: () => void (held = []),
  });
});

afterEach(() => membership.stop());

describe('a member', () => {
  it('is current as long as the coordinator answers', async () => {
    await until(() => heartbeats > 3);
    expect(membership.isCurrent()).toBe(true);
    for (let n = 0; n < 5; n++) {
      time += 9_000;
      const before = heartbeats;
      await until(() => heartbeats > before + 1);
      expect(membership.isCurrent()).toBe(true);
    }
  });

  it.each([
    ['a process that slept', () => (time += 10_001)],
    ['a machine that was paused, whose monotonic clock stood still', () => (pausedMs += 10_001)],
  ])('is not after %s, until the coordinator has answered', async (_, sleep) => {
    await until(() => heartbeats > 1);
    isFrozen = true;
    const before = heartbeats;
    await until(() => heartbeats > before);
    sleep();
    expect(membership.isCurrent()).toBe(false);
    isFrozen = false;
    await until(() => membership.isCurrent());
  });

  it('joins again without the numbers that it has released', async () => {
    await until(() => joins.length === 1);
    await until(() => held.length === 3);
    given = [0, 1];
    held = [0, 1];
    membership.joinAgain();
    await until(() => joins.length === 2);
    expect(joins).toEqual([[], [0, 1]]);
  });

  it('rests longer and longer where its coordinator fails, whoever wants to know meanwhile how things stand', async () => {
    await until(() => heartbeats > 0);
    isLoading = true;
    membership.joinAgain();
    // While it is asked, and while it rests.
    await until(() => joins.length === 2, { everyMs: 0 });
    membership.check();
    await until(() => rests.length > 0);
    time += 10_001;
    expect(membership.isCurrent()).toBe(false);
    membership.joinAgain();
    rests[0]?.end();
    await until(() => rests.length > 1);
    expect(rests.map(({ ms }) => ms)).toEqual([100, 200]);
    expect(joins).toHaveLength(3);
    isLoading = false;
    rests[1]?.end();
    const before = heartbeats;
    await until(() => heartbeats > before);
    expect(membership.isCurrent()).toBe(true);
  });

  it('that leads its group shares it out though a topic had an error as it learnt who leads what', async () => {
    await until(() => heartbeats > 0);
    [isLeader, known] = [true, 0];
    membership.joinAgain();
    await until(() => shared.length > 0);
    expect(shared).toEqual([1]);
    expect(rests).toEqual([]);
  });

  it('ends at once when it is stopped, also while it rests', async () => {
    await until(() => heartbeats > 0);
    isLoading = true;
    membership.joinAgain();
    await until(() => rests.length > 0);
    await membership.stop();
    expect(isClosed).toBe(true);
  });
});

function rest(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    rests.push({ ms, end: resolve });
    signal?.addEventListener('abort', () => resolve());
    if (signal?.aborted === true) resolve();
  });
}

/** One member, which is its group's leader. */
function coordinator(): LogCluster {
  const never = () => Promise.reject(new Error('not asked here'));
  const broker = {
    async joinGroup({ groupProtocols: [{ metadata }] }: { groupProtocols: [{ metadata: Buffer }] }) {
      const told = AssignerProtocol.MemberMetadata.decode(metadata)?.userData.toString() ?? '{}';
      joins.push((JSON.parse(told) as { owned: number[] }).owned);
      await new Promise((resolve) => setImmediate(resolve));
      if (isLoading) throw Object.assign(new Error('loading'), { type: 'GROUP_LOAD_IN_PROGRESS' });
      const members = isLeader ? [{ memberId: 'me', memberMetadata: metadata }] : [];
      return { generationId: joins.length, leaderId: isLeader ? 'me' : 'other', memberId: 'me', members };
    },
    async syncGroup({ groupAssignment }: { groupAssignment: readonly unknown[] }) {
      if (isLeader) shared.push(groupAssignment.length);
      const assignment = { work: [...given] };
      return {
        memberAssignment: AssignerProtocol.MemberAssignment.encode({
          version: 0,
          assignment,
          userData: Buffer.alloc(0),
        }),
      };
    },
    async heartbeat() {
      heartbeats++;
      await until(() => !isFrozen);
    },
    leaveGroup: async () => {},
  };
  return {
    ask: (_, request) => request(broker as unknown as Broker),
    askAnyone: never,
    fetch: never,
    connect: async () => {},
    async refresh() {
      known = 12;
    },
    leaderOf: () => 1,
    partitionsOf: () => known,
    coordinatorOf: async () => 1,
    reset() {},
    close() {
      isClosed = true;
    },
  };
}
