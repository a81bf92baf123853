// Where a notification goes, forever: vectors of the partition number, and what must hold for all of them.

import { describe, expect, it } from '@jest/globals';

import { channels } from '../../src/domain/events.ts';
import type { Channel } from '../../src/domain/events.ts';
import type { NotificationId, TenantId } from '../../src/domain/ids.ts';
import {
  allTopics,
  defaultPartitioning,
  inboxPartition,
  partitionOf,
  partitionsOfTenant,
  workTopics,
} from '../../src/domain/topics.ts';
import fc from '../support/properties.ts';

function partition(tenantId: string, channel: Channel, recipient: string, id: string): number {
  return partitionOf(
    { tenantId: tenantId as TenantId, channel, recipient, notificationId: id as NotificationId },
    defaultPartitioning,
  );
}

const anyPartitioning = fc.record({
  partitions: fc.integer({ min: 1, max: 64 }),
  shards: fc.integer({ min: 1, max: 8 }),
});

describe('the partition number', () => {
  it.each([
    ['tnt_a', 'WEBHOOK', 'x', 'notif_1', 2],
    ['tnt_a', 'WEBHOOK', 'x', 'notif_2', 1],
    ['tnt_a', 'WEBHOOK', 'x', 'notif_3', 2],
    ['tnt_b', 'EMAIL', 'x', 'notif_1', 9],
    ['tnt_b', 'IN_APP', 'user-1', 'notif_1', 6],
    ['tnt_b', 'IN_APP', 'user-1', 'notif_2', 6],
    ['tnt_b', 'IN_APP', 'Zoë', 'notif_2', 6],
  ] as const)('of %s %s to %s, %s is the one written down', (tenantId, channel, recipient, id, expected) => {
    expect(partition(tenantId, channel, recipient, id)).toBe(expected);
  });

  it('stays the same however many other tenants are asked for in between, and by whichever partitioning', () => {
    const of = (i: number, by = defaultPartitioning) => inboxPartition(`tnt_${i}` as TenantId, 'x', by);
    const tenants = Array.from({ length: 12_000 }, (_, i) => i);
    const numbers = tenants.map((i) => of(i));
    expect(of(0, { partitions: 1, shards: 1 })).toBe(0);
    expect(tenants.map((i) => of(i))).toEqual(numbers);
  });

  it('is one of those that the tenant can have, and there are no more of these than shards', () => {
    fc.assert(
      fc.property(
        anyPartitioning,
        fc.string(),
        fc.string(),
        fc.string(),
        fc.constantFrom(...channels),
        (by, t, id, recipient, channel) => {
          const tenantId = t as TenantId;
          const numbers = partitionsOfTenant(tenantId, by);
          expect(numbers).toContain(
            partitionOf({ tenantId, channel, recipient, notificationId: id as NotificationId }, by),
          );
          expect(numbers.length).toBeLessThanOrEqual(by.shards);
          expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
          for (const number of numbers) expect(number).toBeLessThan(by.partitions);
        },
      ),
    );
  });

  it("of every in-app notification of a recipient is that of the recipient's inbox", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (tenantId, recipient, id) => {
        const inbox = inboxPartition(tenantId as TenantId, recipient, defaultPartitioning);
        expect(partition(tenantId, 'IN_APP', recipient, id)).toBe(inbox);
      }),
    );
  });

  it('spreads tenants over all numbers', () => {
    const seen = new Set<number>();
    for (let i = 0; i < 200; i++) seen.add(partition(`tnt_${i}`, 'EMAIL', 'x', 'notif_1'));
    expect(seen.size).toBe(defaultPartitioning.partitions);
  });
});

describe('the topics', () => {
  it('are a work topic per channel and priority, and four more', () => {
    expect(workTopics).toHaveLength(12);
    expect(workTopics).toContain('notifications.in-app.bulk');
    expect(allTopics).toHaveLength(17);
    expect(new Set(allTopics).size).toBe(17);
  });
});
