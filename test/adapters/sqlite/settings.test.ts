// The SQLite settings store: the contract, and a beginning without tenants.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { describe, expect, it } from '@jest/globals';

import { openSettingsBeside, openSettingsStore } from '../../../src/adapters/sqlite/settings/store.ts';
import type { TemplateId, TenantId } from '../../../src/domain/ids.ts';
import type { SettingsStore } from '../../../src/ports/settings-store.ts';
import {
  settingsStoreContract,
  storedKey,
  storedProvider,
  storedTemplate,
  storedTenant,
} from '../../contracts/settings-store.ts';

const makeHarness = async () => {
  const dir = mkdtempSync(join(tmpdir(), 'herald-settings-'));
  const open = () => openSettingsStore({ path: join(dir, 'settings.db') });
  let store = open();
  return {
    path: join(dir, 'settings.db'),
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

describe('SQLite: changes that come together', () => {
  it('wait for the disk once, and one that fails harms no other', async () => {
    const { store, path, close } = await makeHarness();
    await store.createTenant(storedTenant(), storedKey());
    const beside = new DatabaseSync(path, { readOnly: true });
    const seen = () => Number(beside.prepare('SELECT count(*) AS n FROM templates').get()?.['n']);
    const template = (i: number) => storedTemplate({ id: `tpl_${i}` as TemplateId, name: `name ${i}` });
    const names = Array.from({ length: 20 }, (_, i) => template(i));
    const creating = Promise.allSettled([
      ...names.map((one) => store.createTemplate(one, 100)),
      // Its id is another's.
      store.createTemplate({ ...template(0), name: 'its own' }, 100),
      store.createTemplate({ ...template(21), name: 'name 1' }, 100),
    ]);
    expect(seen()).toBe(0);
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen()).toBe(20);
    const outcomes = (await creating).map((one) => (one.status === 'fulfilled' ? one.value : one.status));
    expect(outcomes).toEqual([...names.map(() => 'created'), 'rejected', 'taken']);
    beside.close();
    await close();
  });
});

describe('SQLite: settings of a version before this one', () => {
  const laterTables = [
    'tenant_shares',
    'tenant_retentions',
    'named_keys',
    'fallback_providers',
    'callback_secrets',
    'earlier_keys',
    'breakers',
    'strict_templates',
    'template_versions',
  ];

  it('are read beside it as they are, whichever tables they lack', async () => {
    const harness = await makeHarness();
    const { store, path } = harness;
    const { revision } = await store.changesSince(0);
    await store.createTenant(storedTenant(), storedKey());
    await store.saveProvider(storedProvider());
    await store.createTemplate(storedTemplate(), 100);
    const settings = await store.settings('tnt_a' as TenantId);
    const template = await store.template('tnt_a' as TenantId, storedTemplate().id);
    await store.close();
    const db = new DatabaseSync(path);
    for (const table of laterTables) db.exec(`DROP TABLE ${table}`);
    const tables = () => db.prepare('SELECT name FROM sqlite_schema ORDER BY name').all();
    const before = tables();
    const beside = openSettingsBeside({ path });
    expect(await beside.settings('tnt_a' as TenantId)).toEqual(settings);
    expect(await beside.template('tnt_a' as TenantId, storedTemplate().id)).toEqual(template);
    expect(await beside.retentions()).toEqual(new Map());
    expect(await beside.breakers('tnt_a' as TenantId)).toEqual([]);
    expect((await beside.changesSince(revision)).tenantIds).toEqual(['tnt_a']);
    await beside.close();
    expect(tables()).toEqual(before);
    db.close();
    await harness.reopen();
    await harness.close();
  });
});

describe('SQLite: settings of a version that knew a provider’s previous key alone', () => {
  const tenantId = 'tnt_a' as TenantId;
  const previous = { sealedPreviousApiKey: 'sealed-before', previousUntil: 80 };
  const earlierKeys = [{ sealedKey: 'sealed-earlier', until: 79 }];
  const stored = async ({ store }: { store: SettingsStore }) => (await store.settings(tenantId))?.providers;

  it('are read as they are, and hold earlier keys from then on', async () => {
    const harness = await makeHarness();
    await harness.store.createTenant(storedTenant(), storedKey());
    await harness.store.saveProvider(storedProvider(previous));
    const db = new DatabaseSync(harness.path);
    db.exec('DROP TABLE earlier_keys');
    db.close();
    await harness.reopen();
    expect(await stored(harness)).toEqual([storedProvider(previous)]);
    await harness.store.saveProvider(storedProvider({ ...previous, earlierKeys }));
    expect(await stored(harness)).toEqual([storedProvider({ ...previous, earlierKeys })]);
    await harness.close();
  });

  it('that is gone back to for a while loses no earlier key of a provider that it saves, and leaves none of one that it deletes', async () => {
    const harness = await makeHarness();
    await harness.store.createTenant(storedTenant(), storedKey());
    await harness.store.saveProvider(storedProvider({ ...previous, earlierKeys }));
    const db = new DatabaseSync(harness.path);
    db.exec("UPDATE providers SET sealed_previous_api_key = 'sealed-later', previous_until = 99");
    const later = { sealedPreviousApiKey: 'sealed-later', previousUntil: 99 };
    expect(await stored(harness)).toEqual([storedProvider({ ...later, earlierKeys })]);
    db.exec('DELETE FROM providers');
    expect(await stored(harness)).toEqual([]);
    await harness.store.forgetPreviousKeys(79);
    expect(db.prepare('SELECT count(*) AS rows FROM earlier_keys').get()).toEqual({ rows: 0 });
    db.close();
    await harness.close();
  });
});
