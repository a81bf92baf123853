// What every store of idempotency keys promises; each adapter runs this suite.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { keyLifetimeMs } from '../../src/domain/idempotency.ts';
import type { BatchId, NotificationId, TenantId } from '../../src/domain/ids.ts';
import type { IdempotencyStore, KeyEntry } from '../../src/ports/idempotency-store.ts';

export interface IdempotencyStoreHarness {
  readonly store: IdempotencyStore;
  /** Another process' store of the same data, or the same one where there can be but one. */
  readonly other: IdempotencyStore;
  close(): Promise<void>;
}

/** Of today: a store may remove by its own clock what has ended long ago. */
const start = Math.floor(Date.now() / 3_600_000) * 3_600_000;
export const position = { topic: 'notifications.in-app.default', partition: 3, offset: 7 } as const;

export const keyEntry = (of: Partial<KeyEntry> = {}): KeyEntry => ({
  tenantId: 'tnt_a' as TenantId,
  keyHash: 'hash-1',
  fingerprint: 'asked for',
  notificationId: 'notif_0abcdefghjkmnpqrstvwxyz012' as NotificationId,
  batchId: 'batch_0abcdefghjkmnpqrstvwxyz012' as BatchId,
  requestedAt: start,
  leaseUntil: start + 30_000,
  position: null,
  ...of,
});

export function idempotencyStoreContract(name: string, open: () => Promise<IdempotencyStoreHarness>): void {
  describe(`${name}: a store of idempotency keys`, () => {
    let harness: IdempotencyStoreHarness;
    beforeEach(async () => {
      harness = await open();
    });
    afterEach(() => harness.close());

    it('gives a key to one of all who come at once, over processes, and tells the others whose it is', async () => {
      const { store, other } = harness;
      const entries = Array.from({ length: 60 }, (_, i) => keyEntry({ fingerprint: `of ${i}` }));
      const held = await Promise.all(entries.map((entry, i) => (i % 2 === 0 ? store : other).reserve(entry, start)));
      const first = held.indexOf(null);
      expect(held.filter((entry) => entry === null)).toHaveLength(1);
      expect(held.filter((_, i) => i !== first)).toEqual(Array.from({ length: 59 }, () => entries[first]));
    });

    it('keeps tenants and keys apart', async () => {
      const { store } = harness;
      for (const place of [{}, { keyHash: 'hash-2' }, { tenantId: 'tnt_b' as TenantId }])
        expect(await store.reserve(keyEntry(place), start)).toBeNull();
      expect(await store.find(keyEntry({ tenantId: 'tnt_c' as TenantId }), start)).toBeNull();
    });

    it('holds a key for 24 h from its request, settled or not, and gives it to the next then', async () => {
      const { store, other } = harness;
      const settled = keyEntry({ leaseUntil: null, position });
      await store.reserve(keyEntry(), start);
      await store.settle(settled);
      const last = start + keyLifetimeMs - 1;
      expect(await other.find(keyEntry(), last)).toEqual(settled);
      expect(await other.reserve(keyEntry(), last)).toEqual(settled);
      expect(await store.find(keyEntry(), last + 1)).toBeNull();
      const next = keyEntry({ requestedAt: last + 1, leaseUntil: last + 1000 });
      const held = await Promise.all([store.reserve(next, last + 1), other.reserve(next, last + 1)]);
      expect(held.filter((entry) => entry === null)).toHaveLength(1);
      expect(held.filter((entry) => entry !== null)).toEqual([next]);
    });

    it('lets one of several take a reservation over, and nobody a settled one', async () => {
      const { store, other } = harness;
      await store.reserve(keyEntry(), start);
      const taken = await Promise.all([store, other, store].map((one) => one.takeOver(keyEntry(), start + 60_000)));
      expect(taken.filter((isMine) => isMine)).toHaveLength(1);
      expect(await store.find(keyEntry(), start)).toEqual(keyEntry({ leaseUntil: start + 60_000 }));
      const settled = keyEntry({ leaseUntil: null, position });
      await store.settle(settled);
      expect(await other.takeOver(settled, start + 90_000)).toBe(false);
      expect(await other.takeOver(keyEntry({ leaseUntil: start + 60_000 }), start + 90_000)).toBe(false);
      expect(await store.find(keyEntry(), start)).toEqual(settled);
    });

    it('forgets a reservation that is given back, unless it is somebody else’s by now', async () => {
      const { store, other } = harness;
      await store.reserve(keyEntry(), start);
      await other.takeOver(keyEntry(), start + 60_000);
      await store.release(keyEntry());
      expect(await store.find(keyEntry(), start)).not.toBeNull();
      await other.release(keyEntry({ leaseUntil: start + 60_000 }));
      expect(await store.find(keyEntry(), start)).toBeNull();
      await store.settle(keyEntry({ leaseUntil: null, position }));
      await store.release(keyEntry({ leaseUntil: null }));
      expect(await store.find(keyEntry(), start)).not.toBeNull();
    });

    it("removes a tenant's, however many they are, and nobody else's", async () => {
      const { store, other } = harness;
      const others = keyEntry({ tenantId: 'tnt_ab' as TenantId });
      await store.settle(others);
      for (let n = 0; n < 450; n++) await store.settle(keyEntry({ keyHash: `hash-${n}` }));
      await other.removeTenant(keyEntry().tenantId);
      expect(await store.find(keyEntry({ keyHash: 'hash-7' }), start)).toBeNull();
      expect(await store.find(keyEntry({ keyHash: 'hash-449' }), start)).toBeNull();
      expect(await store.find(others, start)).toEqual(others);
    });

    it('knows with which batch a key came, if with any', async () => {
      const none = keyEntry({ leaseUntil: null, batchId: null });
      await harness.store.settle(none);
      expect(await harness.other.find(none, start)).toEqual(none);
      await harness.store.settle(keyEntry({ leaseUntil: null }));
      expect((await harness.other.find(none, start))?.batchId).toBe(keyEntry().batchId);
    });

    it('settles a key that it has lost', async () => {
      const settled = keyEntry({ leaseUntil: null, position });
      await harness.store.settle(settled);
      expect(await harness.other.reserve(keyEntry(), start)).toEqual(settled);
    });
  });
}
