// The copy of settings from one store into another: whole, and whole again after it was interrupted.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { openSettingsStore } from '../../src/adapters/sqlite/settings/store.ts';
import type { ApiKeyId, TenantId } from '../../src/domain/ids.ts';
import type { SettingsStore } from '../../src/ports/settings-store.ts';
import { copySettings } from '../../src/replay/copy-settings.ts';
import {
  storedKey,
  storedNamedKey,
  storedProvider,
  storedTemplate,
  storedTenant,
} from '../contracts/settings-store.ts';

const tenantId = 'tnt_a' as TenantId;
let dir: string;
let source: SettingsStore;
let target: SettingsStore;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'herald-copy-'));
  source = openSettingsStore({ path: join(dir, 'source.db') });
  target = openSettingsStore({ path: join(dir, 'target.db') });
  await source.createTenant(storedTenant(), storedKey());
  await source.replaceKey(storedKey({ hash: 'hash-2', createdAt: 2000 }), 9000, 5);
  await source.createNamedKey(storedNamedKey({ lastUsedAt: 7000 }), 9);
  await source.createNamedKey(storedNamedKey({ id: 'key_2' as ApiKeyId, hash: 'hash-n2', scopes: ['inbox'] }), 9);
  await source.saveProvider(storedProvider());
  await source.saveProvider(storedProvider({ role: 'fallback', provider: 'smtp' }));
  await source.createTemplate(storedTemplate(), 1000);
});
afterEach(async () => {
  await source.close();
  await target.close();
  rmSync(dir, { recursive: true });
});

it('brings tenants, keys of both kinds with their last use, providers and templates', async () => {
  expect(await copySettings({ source, target })).toEqual({ tenants: 1, providers: 2, templates: 1 });
  expect(await target.settings(tenantId)).toEqual(await source.settings(tenantId));
  expect(await target.templates(tenantId)).toEqual(await source.templates(tenantId));
  expect(await target.tenantIdByKeyHash('hash-n2')).toBe(tenantId);
});

it('brings what a template was before', async () => {
  const latest = storedTemplate({ version: 2, body: 'two', updatedAt: 2000 });
  await source.updateTemplate(latest);
  await copySettings({ source, target });
  const copied = await target.templateHistory(tenantId, latest.id);
  expect(copied).toEqual(await source.templateHistory(tenantId, latest.id));
  expect(copied?.earlier.map(({ version }) => version)).toEqual([1]);
});

it('run again takes away a fallback that the source has no longer, and the first provider stays', async () => {
  await copySettings({ source, target });
  await source.deleteProvider(tenantId, 'EMAIL', 'fallback');
  await copySettings({ source, target });
  expect((await target.settings(tenantId))?.providers).toEqual([storedProvider()]);
});

it('run again takes away the main keys that were replaced meanwhile without a grace period', async () => {
  await copySettings({ source, target });
  const last = storedKey({ hash: 'hash-3', createdAt: 3000 });
  await source.replaceKey(last, null, 5);
  await copySettings({ source, target });
  expect((await target.settings(tenantId))?.keys).toEqual([last]);
});

it('run again makes of further keys what the source has: new scopes, and none that ended there', async () => {
  await copySettings({ source, target });
  await source.deleteNamedKey(tenantId, 'key_2' as ApiKeyId);
  await source.deleteNamedKey(tenantId, storedNamedKey().id);
  await source.createNamedKey(storedNamedKey({ scopes: ['read'] }), 9);
  await copySettings({ source, target });
  expect((await target.settings(tenantId))?.namedKeys).toEqual([storedNamedKey({ scopes: ['read'] })]);
});

it('run again takes away a tenant that was erased meanwhile, and its person has the other one', async () => {
  await copySettings({ source, target });
  await source.eraseTenant(tenantId);
  const next = 'tnt_b' as TenantId;
  await source.createTenant(storedTenant({ id: next }), storedKey({ tenantId: next, hash: 'hash-b' }));
  expect(await copySettings({ source, target })).toEqual({ tenants: 1, providers: 0, templates: 0 });
  expect([await target.settings(tenantId), await target.templates(tenantId)]).toEqual([null, []]);
  expect(await target.tenantIdByKeyHash('hash-n2')).toBeNull();
  expect(await target.settings(next)).toEqual(await source.settings(next));
});
