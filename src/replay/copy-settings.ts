// Copies tenants with their keys, providers and templates from one settings store into another; secrets stay sealed as they are.
// What the target has of a tenant already, from a copy that was interrupted, becomes what the source has.

import type { TenantId } from '../domain/ids.ts';
import type { Template } from '../domain/tenant.ts';
import { namedKeysMax } from '../domain/tenant.ts';
import { CopyRefusedError } from '../ports/event-log-copy.ts';
import type { SettingsStore, StoredApiKey, StoredNamedKey, TenantSettings } from '../ports/settings-store.ts';

export interface CopySettingsDependencies {
  readonly source: Pick<SettingsStore, 'changesSince' | 'settings' | 'templates' | 'templateHistory' | 'retentions'>;
  readonly target: SettingsStore;
}

export interface CopiedSettings {
  readonly tenants: number;
  readonly providers: number;
  readonly templates: number;
}

/** A tenant's own, all of it. */
interface Whole extends TenantSettings {
  readonly templates: readonly Template[];
}

type Reading = Pick<SettingsStore, 'settings' | 'templates'>;

/** As the source has, whatever the limits are now. */
const asMany = Number.POSITIVE_INFINITY;
/** Below the revision of any tenant: whatever is there has changed since. */
const firstRevision = 1;

/** @throws CopyRefusedError when a subject has another tenant there */
export async function copySettings({ source, target }: CopySettingsDependencies): Promise<CopiedSettings> {
  const copied = { tenants: 0, providers: 0, templates: 0 };
  for await (const id of allTenants(source)) {
    const whole = await wholeOf(source, id);
    if (whole === null) {
      // Erased since an earlier run, perhaps: what that brought would open, and hold its person's subject.
      await target.eraseTenant(id);
      continue;
    }
    await copyTenant(source, target, whole);
    const there = await wholeOf(target, id);
    if (there === null || !isSame(there, whole))
      throw new Error(`the settings of the tenant ${id} are not in the target as they were written`);
    copied.tenants++;
    copied.providers += whole.providers.length;
    copied.templates += whole.templates.length;
  }
  const [own, there] = [await source.retentions(), await target.retentions()];
  for (const id of there.keys()) if (!own.has(id)) await target.setRetention(id, null);
  for (const [id, keptMs] of own) if (there.get(id) !== keptMs) await target.setRetention(id, keptMs);
  return copied;
}

/** In the order of their last changes. */
export async function* allTenants(source: Pick<SettingsStore, 'changesSince'>): AsyncGenerator<TenantId> {
  for (let since = firstRevision; ;) {
    const { revision, tenantIds } = await source.changesSince(since);
    if (tenantIds.length === 0) return;
    yield* tenantIds;
    since = revision;
  }
}

async function wholeOf(store: Reading, id: TenantId): Promise<Whole | null> {
  const settings = await store.settings(id);
  if (settings === null) return null;
  return { ...settings, keys: settings.keys.toSorted(byAge), templates: await store.templates(id) };
}

async function copyTenant(
  source: Pick<SettingsStore, 'templateHistory'>,
  target: SettingsStore,
  { tenant, share, keys, namedKeys, providers, templates }: Whole,
): Promise<void> {
  const [firstKey, ...laterKeys] = keys;
  if (firstKey === undefined) throw new Error(`the tenant ${tenant.id} has no API key`);
  if (!(await target.createTenant(tenant, firstKey))) {
    const theirs = await target.tenantBySubject(tenant.subject);
    if (theirs?.id !== tenant.id)
      throw new CopyRefusedError(
        `The target's settings hold another tenant for the subject ${tenant.subject}: copy into a database of its own.`,
      );
  }
  const there = await wholeOf(target, tenant.id);
  if (there === null) throw new Error(`the tenant ${tenant.id} is not in the target though it was written`);
  if (!isEqual(there.share, share)) await target.setShare(tenant.id, share);
  await copyKeys(target, there.keys, [firstKey, ...laterKeys]);
  await copyNamedKeys(target, there.namedKeys, namedKeys);
  for (const { channel, role } of there.providers) {
    if (!providers.some((provider) => provider.channel === channel && provider.role === role))
      await target.deleteProvider(tenant.id, channel, role);
  }
  for (const provider of providers) await target.saveProvider(provider);
  await copyTemplates(source, target, there.templates, templates);
}

/** Oldest first: each key ends the one before it when it ended in the source; what the source has removed goes. */
async function copyKeys(
  target: SettingsStore,
  there: readonly StoredApiKey[],
  keys: readonly StoredApiKey[],
): Promise<void> {
  const known = new Set(there.map(({ hash }) => hash));
  for (const [i, key] of keys.entries()) {
    if (!known.has(key.hash)) await target.replaceKey(key, keys[i - 1]?.expiresAt ?? null, asMany);
  }
}

/** One that is there but another in anything is made anew: its scopes decide what it opens. */
async function copyNamedKeys(
  target: SettingsStore,
  there: readonly StoredNamedKey[],
  keys: readonly StoredNamedKey[],
): Promise<void> {
  for (const key of there)
    if (!keys.some((other) => isEqual(other, key))) await target.deleteNamedKey(key.tenantId, key.id);
  for (const key of keys)
    if (!there.some((other) => isEqual(other, key))) await target.createNamedKey(key, namedKeysMax);
}

/** What is another there goes first: its name may be one's that comes. */
async function copyTemplates(
  source: Pick<SettingsStore, 'templateHistory'>,
  target: SettingsStore,
  there: readonly Template[],
  templates: readonly Template[],
): Promise<void> {
  const isThere = (of: Template, among: readonly Template[]) => among.some((other) => isEqual(other, of));
  for (const template of there) {
    if (!isThere(template, templates)) await target.deleteTemplate(template.tenantId, template.id);
  }
  for (const template of templates) {
    if (isThere(template, there)) continue;
    const history = await source.templateHistory(template.tenantId, template.id);
    await target.createTemplate(template, asMany, history?.earlier ?? []);
  }
}

function isSame(there: Whole, whole: Whole): boolean {
  const { createdAt: newest = 0 } = whole.keys.at(-1) ?? {};
  // A key that ended before the newest came may be forgotten: it is refused as an unknown one is.
  const held = (keys: readonly StoredApiKey[]) => keys.filter(({ expiresAt }) => (expiresAt ?? Infinity) >= newest);
  const parts = ({ tenant, share, keys, namedKeys, providers, templates }: Whole) => ({
    tenant,
    share,
    keys: held(keys),
    namedKeys,
    providers: providers.toSorted((a, b) => (`${a.channel} ${a.role}` < `${b.channel} ${b.role}` ? -1 : 1)),
    templates: templates.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  });
  return isEqual(parts(there), parts(whole));
}

function byAge(a: StoredApiKey, b: StoredApiKey): number {
  return a.createdAt - b.createdAt || (a.hash < b.hash ? -1 : 1);
}

/** Of JSON values; the order of an object's keys says nothing. */
function isEqual(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b);
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
