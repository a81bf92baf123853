// How far reading runs ahead: to the log's end, while what is beyond a tenant's share stays there; and what of it is committed.

import { describe, expect, it } from '@jest/globals';

import { accountLimits } from '../../src/dispatchers/partition-account.ts';
import { createComingBack } from '../../src/dispatchers/coming-back.ts';
import { createReadAhead } from '../../src/dispatchers/read-ahead.ts';
import type { PartitionTracker } from '../../src/dispatchers/read-ahead.ts';
import type { TenantId } from '../../src/domain/ids.ts';

const start = { offset: 0, metadata: '' };
const limits = { laneBytesMax: 1_100, reserveBytes: 100, comeBackMax: 100 };
const clock = { monotonic: () => 0, random: () => 0.5 };
const comingBack = createComingBack({ clock });
const tenants = { weightOf: () => 1, isPaused: () => false, clock, comingBack, accountLimits };
const work = (tenant: string, offset: number, bytes: number) => ({ tenantId: tenant as TenantId, offset, bytes });

function tracked(readAhead: ReturnType<typeof createReadAhead>, topic: string, partition: number): PartitionTracker {
  return readAhead.track({ topic, partition }, start, start);
}

/** Whether a wait is over, without waiting for more than what has happened already. */
async function isOver(wait: Promise<unknown>): Promise<boolean> {
  let over = false;
  void wait.then(() => (over = true));
  for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve));
  return over;
}

/** How many events of 50 bytes a tenant's reader takes. */
function takeAll(tracker: PartitionTracker, tenant: string): number {
  for (let offset = 0; ; offset++) if (tracker.admit(work(tenant, offset, 50)) !== 'taken') return offset;
}

describe('the read-ahead', () => {
  it('lets one tenant of a partition hold half of a lane, and leaves to the next as much as each of the others has', () => {
    const readAhead = createReadAhead(tenants, limits);
    expect(takeAll(tracked(readAhead, 't', 0), 'a') * 50).toBe(500);
    expect(takeAll(tracked(readAhead, 't', 1), 'b') * 50).toBe(250);
    expect(takeAll(tracked(readAhead, 't', 2), 'c') * 50).toBe(100);
  });

  it('reads on past what a tenant may not hold, and takes those of others that come behind it', async () => {
    const tracker = tracked(createReadAhead(tenants, limits), 't', 0);
    const taken = takeAll(tracker, 'flood');
    for (let offset = taken + 1; offset < 30_000; offset++) {
      expect(tracker.admit(work('flood', offset, 50))).toBe('surplus');
      if (offset % 1000 === 0) expect(await tracker.mayReadOn()).toBe(true);
    }
    expect(tracker.admit(work('b', 30_000, 50))).toBe('taken');
  });

  it('never lets one lane wait for memory of another', () => {
    const readAhead = createReadAhead(tenants, limits);
    for (let partition = 0; partition < 12; partition++) takeAll(tracked(readAhead, 'bulk', partition), `${partition}`);
    expect(takeAll(tracked(readAhead, 'high', 0), 'a') * 50).toBe(500);
  });

  it('holds no more than the memory of a lane, however many tenants and partitions', () => {
    const readAhead = createReadAhead(tenants, limits);
    let held = 0;
    for (let i = 0; i < 12; i++) held += takeAll(tracked(readAhead, 't', i), `${i}`) * 50;
    expect(held).toBeLessThanOrEqual(1_100);
  });

  it('comes back to what was left once its tenant holds half of what it may', async () => {
    const tracker = tracked(createReadAhead(tenants, limits), 't', 0);
    takeAll(tracker, 'a');
    const range = tracker.comeBack();
    for (let offset = 0; offset < 3; offset++) tracker.finish(work('a', offset, 50));
    expect(await isOver(range)).toBe(false);
    tracker.finish(work('a', 3, 50));
    expect(await range).toMatchObject({ from: 10, to: 11 });
  });

  it('gives back what a lost partition held, and says so to whoever waits for room in it', async () => {
    const readAhead = createReadAhead(tenants, limits);
    const [lost, other] = [tracked(readAhead, 't', 0), tracked(readAhead, 't', 1)];
    takeAll(lost, 'a');
    expect(lost.admit(work('b', 11, 200))).toBe('taken');
    expect(other.admit(work('c', 0, 450))).toBe('surplus');
    const [lostRange, otherRange] = [lost.comeBack(), other.comeBack()];
    expect(await isOver(otherRange)).toBe(false);
    lost.close();
    expect(await lostRange).toBeNull();
    expect(await lost.mayReadOn()).toBe(false);
    expect(await otherRange).toMatchObject({ from: 0, to: 1 });
    lost.finish(work('a', 0, 50));
    expect(takeAll(tracked(readAhead, 't', 3), 'd') * 50).toBe(500);
  });

  it('has nothing to commit until something moved, and again when a commit failed', () => {
    const tracker = tracked(createReadAhead(tenants, limits), 't', 0);
    expect(tracker.uncommitted()).toBeNull();
    tracker.admit(work('a', 0, 50));
    expect(tracker.uncommitted()).toBeNull();
    tracker.finish(work('a', 0, 50));
    const moved = tracker.uncommitted();
    expect(moved).toEqual({ offset: 1, metadata: '' });
    expect(tracker.uncommitted()).toEqual(moved);
    tracker.noteCommitted(moved ?? start);
    expect(tracker.uncommitted()).toBeNull();
  });

  it('commits even its start when nothing was committed before', () => {
    const tracker = createReadAhead(tenants, limits).track(
      { topic: 't', partition: 0 },
      { offset: 7, metadata: '' },
      null,
    );
    expect(tracker.uncommitted()).toEqual({ offset: 7, metadata: '' });
  });
});
