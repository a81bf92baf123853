// The collections of the settings. A tenant is one document with its keys and providers, so that it is read whole and
// changed whole; its templates are documents of their own, since there may be many and they may be long.

import type { Collection, Db } from 'mongodb';

import type { Channel, ProviderRole } from '../../../domain/events.ts';
import type { TenantId } from '../../../domain/ids.ts';
import type { Template, TemplateVersion, TenantShare } from '../../../domain/tenant.ts';
import type { SettingsMark, StoredApiKey, StoredNamedKey } from '../../../ports/settings-store.ts';
import type { StoredProvider, StoredTenant } from '../../../ports/settings-store.ts';

export interface TenantDocument extends Omit<StoredTenant, 'id'> {
  readonly _id: TenantId;
  /** Absent: everybody's. */
  readonly share?: TenantShare;
  /** Main keys and further ones alike, so that one index finds all. */
  readonly keys: readonly KeyDocument[];
  readonly providers: readonly ProviderDocument[];
  /** The channels' second providers, apart, so that a version without them reads the first ones as ever. Absent: none. */
  readonly fallbacks?: readonly ProviderDocument[];
  /** For how long, in ms, what it sent is kept; absent: as long as everybody's. */
  readonly keptMs?: number;
  /** The store's revision when anything of the tenant changed last, its templates included. */
  readonly revision: number;
}

export type KeyDocument = Omit<StoredApiKey, 'tenantId'> & { readonly named?: NamedPart };

/** What a further key has beside what every key has. */
export type NamedPart = Pick<StoredNamedKey, 'id' | 'name' | 'scopes' | 'prefix' | 'lastUsedAt'>;

/** The config as JSON text, so that it comes back as it was saved whatever its fields are named. */
export type ProviderDocument = Omit<StoredProvider, 'tenantId' | 'role' | 'config'> & { readonly config: string };

export interface TemplateDocument extends Omit<Template, 'id' | 'strict'> {
  readonly _id: Template['id'];
  /** Absent from those that a former version has made: false. */
  readonly strict?: boolean;
  /** What it was before, the newest first; absent: nothing is kept. In here, so that it goes with the template. */
  readonly earlier?: readonly TemplateVersion[];
}

export interface RevisionDocument {
  readonly _id: 'settings';
  readonly revision: number;
}

export interface BreakerDocument {
  /** Tenant, channel and role. */
  readonly _id: string;
  readonly tenantId: TenantId;
  readonly channel: Channel;
  readonly role: ProviderRole;
  readonly until: number;
}

export interface MarkDocument {
  readonly _id: SettingsMark;
  readonly value: string;
}

/** @throws Error, each of them, once the store is closed */
export interface Collections {
  tenants(): Collection<TenantDocument>;
  templates(): Collection<TemplateDocument>;
  revisions(): Collection<RevisionDocument>;
  marks(): Collection<MarkDocument>;
  breakers(): Collection<BreakerDocument>;
}

export function collectionsIn(db: Db, isClosed: () => boolean): Collections {
  const unlessClosed = <T>(collection: T) => {
    return () => {
      if (isClosed()) throw new Error('the settings store is closed');
      return collection;
    };
  };
  return {
    tenants: unlessClosed(db.collection<TenantDocument>('settings_tenants')),
    templates: unlessClosed(db.collection<TemplateDocument>('settings_templates')),
    revisions: unlessClosed(db.collection<RevisionDocument>('settings_revisions')),
    marks: unlessClosed(db.collection<MarkDocument>('settings_marks')),
    breakers: unlessClosed(db.collection<BreakerDocument>('settings_breakers')),
  };
}

/** Collections, indexes and the revision to begin with, where they aren't there yet. */
export async function prepare({ tenants, templates, revisions, breakers }: Collections): Promise<void> {
  await tenants().createIndexes([
    { key: { subject: 1 }, unique: true },
    { key: { 'keys.hash': 1 }, unique: true },
    { key: { revision: 1, _id: 1 } },
    { key: { keptMs: 1 }, sparse: true },
    { key: { 'providers.previousUntil': 1 }, sparse: true },
    { key: { 'providers.earlierKeys.until': 1 }, sparse: true },
  ]);
  await templates().createIndexes([
    { key: { tenantId: 1, name: 1 }, unique: true },
    { key: { tenantId: 1, createdAt: -1, _id: -1 } },
  ]);
  await breakers().createIndex({ tenantId: 1 });
  // From 1: a look since 0 asks for the revision to begin with.
  await revisions().updateOne({ _id: 'settings' }, { $setOnInsert: { revision: 1 } }, { upsert: true });
}
