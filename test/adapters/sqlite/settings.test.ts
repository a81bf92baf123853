// The SQLite settings store: the contract, and a beginning without tenants.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

import { openSettingsStore } from '../../../src/adapters/sqlite/settings/store.ts';
import type { TenantId } from '../../../src/domain/ids.ts';
import { settingsStoreContract, storedKey, storedTenant } from '../../contracts/settings-store.ts';

const makeHarness = async () => {
  const dir = mkdtempSync(join(tmpdir(), 'herald-settings-'));
  const open = () => openSettingsStore({ path: join(dir, 'settings.db') });
  let store = open();
  return {
    get store() {
      return store;
    },
    async reopen() {
      await store.close();
      store = open();
    },
    async close() {
      await store.close();
      rmSync(dir, { recursive: true });
    },
  };
};

settingsStoreContract('SQLite', makeHarness);

describe('SQLite: a settings store that holds nothing yet', () => {
  it('begins with a revision that the first tenant raises', async () => {
    const { store, close } = await makeHarness();
    const { revision } = await store.changesSince(0);
    await store.createTenant(storedTenant(), storedKey());
    expect((await store.changesSince(revision)).tenantIds).toEqual(['tnt_a']);
    await close();
  });

  it('tells of more changes than one look holds by further looks, each tenant once', async () => {
    const { store, close } = await makeHarness();
    let { revision } = await store.changesSince(0);
    const ids = Array.from({ length: 1100 }, (_, i) => `tnt_${i}` as TenantId);
    for (const id of ids) {
      await store.createTenant(storedTenant({ id, subject: id }), storedKey({ tenantId: id, hash: id }));
    }
    const told: TenantId[] = [];
    for (let looks = 0; looks < 3; looks++) {
      const changes = await store.changesSince(revision);
      told.push(...changes.tenantIds);
      ({ revision } = changes);
    }
    expect(told).toEqual(ids);
    await close();
  });
});
