// Tenants, keys, providers and templates: documents with unique names and conditional writes, since a log that never forgets is no place for a secret.
// Secrets in here are sealed (ports/secret-box.ts); API keys are looked up by their SHA-256.

import type { Channel, ProviderRole } from '../domain/events.ts';
import type { ApiKeyId, TemplateId, TenantId } from '../domain/ids.ts';
import type { Scope, Template, TemplateVersion, Tenant, TenantShare } from '../domain/tenant.ts';

/** The main key, and those that it replaced. */
export interface StoredApiKey {
  readonly tenantId: TenantId;
  /** SHA-256 of the key, in hex. */
  readonly hash: string;
  readonly sealedKey: string;
  readonly createdAt: number;
  /** UTC ms from when on it is refused; null: it holds. */
  readonly expiresAt: number | null;
}

/** A further key, by name; holds until it is deleted. */
export interface StoredNamedKey {
  readonly id: ApiKeyId;
  readonly tenantId: TenantId;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** The key's first characters, to tell it by. */
  readonly prefix: string;
  /** SHA-256 of the key, in hex. */
  readonly hash: string;
  readonly sealedKey: string;
  readonly createdAt: number;
  /** UTC ms; null: never, as far as was noted. */
  readonly lastUsedAt: number | null;
}

/** That a further key was used, the latest time. */
export interface KeyUse {
  readonly tenantId: TenantId;
  readonly id: ApiKeyId;
  readonly at: number;
}

/** What signed before, sealed as its provider's key is, and signs as well. */
export interface StoredFormerKey {
  readonly sealedKey: string;
  /** UTC ms until when it signs. */
  readonly until: number;
}

export interface StoredProvider {
  readonly tenantId: TenantId;
  readonly channel: Channel;
  /** A channel has one of each at most. */
  readonly role: ProviderRole;
  /** `deletedProvider`: it is deleted, and its previous key signs as well. */
  readonly provider: string;
  readonly sealedApiKey: string;
  /** For WEBHOOK: what signed before the last change of what signs, a key or the tenant's own secret; also where this one is disabled. */
  readonly sealedPreviousApiKey: string | null;
  /** UTC ms until when the previous key signs as well. */
  readonly previousUntil: number | null;
  /**
   * What signed before the previous key and signs as well, newest first; apart from that one, which is all that a former version reads. A secret that signed
   * twice is there by the end of each time, also while it signs again. Absent: none.
   */
  readonly earlierKeys?: readonly StoredFormerKey[];
  /** What its reports are verified by. Absent: none. */
  readonly sealedCallbackSecret?: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly enabled: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Newest first. */
export function formerKeysOf({
  sealedPreviousApiKey,
  previousUntil,
  earlierKeys = [],
}: StoredProvider): readonly StoredFormerKey[] {
  if (sealedPreviousApiKey === null) return earlierKeys;
  return [{ sealedKey: sealedPreviousApiKey, until: previousUntil ?? 0 }, ...earlierKeys];
}

/** That a tenant's provider isn't called, as the dispatchers have noted it last. */
export interface BreakerNote {
  readonly tenantId: TenantId;
  readonly channel: Channel;
  readonly role: ProviderRole;
  /** UTC ms from when on it is tried again; null: it is called as usual. */
  readonly until: number | null;
}

export interface StoredTenant extends Tenant {
  /** The `whsec_` secret that every tenant has from the start. */
  readonly sealedWebhookSecret: string;
}

/** All of a tenant that accepting needs, but its templates. */
export interface TenantSettings {
  readonly tenant: StoredTenant;
  readonly share: TenantShare;
  readonly keys: readonly StoredApiKey[];
  /** Oldest first. */
  readonly namedKeys: readonly StoredNamedKey[];
  readonly providers: readonly StoredProvider[];
}

/** What changed since a revision: whose caches are to be dropped. */
export interface SettingsChanges {
  /** To be passed with the next look. */
  readonly revision: number;
  readonly tenantIds: readonly TenantId[];
}

/** What the settings belong to: the id of the log that they are the settings of, and a text that was sealed under the secret that seals all of them. */
export type SettingsMark = 'log' | 'secret';

/** Which of a tenant's templates are asked for. */
export interface TemplatePlace {
  readonly limit: number;
  /** Of subjects and bodies in UTF-8, of one template at least. What doesn't fit is not brought into this process. */
  readonly bytesMax: number;
  /** Those behind it; whether it still exists or not. */
  readonly after?: Pick<Template, 'createdAt' | 'id'>;
}

export interface TemplatePage {
  readonly templates: readonly Template[];
  /** There are more of them. */
  readonly isCut: boolean;
}

/** A template and what it was before. */
export interface TemplateHistory {
  readonly template: Template;
  /** Newest first; those that are kept (`keptVersions`). */
  readonly earlier: readonly TemplateVersion[];
}

/** Every call rejects with an Error when the store is away. Each write but `noteKeyUses`, `noteBreakers`, `forgetPreviousKeys` and those of marks raises the store's revision. */
export interface SettingsStore {
  /** False when the subject has a tenant already; then nothing was written. */
  createTenant(tenant: StoredTenant, key: StoredApiKey): Promise<boolean>;
  /**
   * Everything of the tenant goes: keys, providers, templates, shares, whoever it was. Its id stays, so that those who knew it hear of it; every call then says
   * that there is no such tenant, what would save something of it by DomainError FORBIDDEN, and its subject may have another. False when there was nothing left
   * to go.
   */
  eraseTenant(tenantId: TenantId): Promise<boolean>;
  tenantBySubject(subject: string): Promise<StoredTenant | null>;
  /** By an API key's hash, named ones and expired ones too. */
  tenantIdByKeyHash(hash: string): Promise<TenantId | null>;
  settings(tenantId: TenantId): Promise<TenantSettings | null>;
  /** False when there is no such tenant; then nothing was written. */
  setShare(tenantId: TenantId, share: TenantShare): Promise<boolean>;
  /** For how long, in ms, what the tenant sent is kept; null: as long as everybody's. False when there is no such tenant; then nothing was written. */
  setRetention(tenantId: TenantId, keptMs: number | null): Promise<boolean>;
  /** Of all tenants that have one of their own. */
  retentions(): Promise<ReadonlyMap<TenantId, number>>;
  /**
   * The new key in, every other main key of the tenant expiring at `oldExpiresAt` (or sooner, where it did already); keys that had ended before may be forgotten.
   * null: every other one is removed, so that it opens nothing whatever anybody's clock says. `full`: more than `formerMax` others would still hold; nothing was written.
   */
  replaceKey(key: StoredApiKey, oldExpiresAt: number | null, formerMax: number): Promise<'replaced' | 'full'>;

  /** `full`: the tenant has `max` named keys; nothing was written. */
  createNamedKey(key: StoredNamedKey, max: number): Promise<'created' | 'full'>;
  /** False when there was none. */
  deleteNamedKey(tenantId: TenantId, id: ApiKeyId): Promise<boolean>;
  /** Raises `lastUsedAt`, never lowers it; what is gone is passed over. */
  noteKeyUses(uses: readonly KeyUse[]): Promise<void>;

  saveProvider(provider: StoredProvider): Promise<void>;
  /** False when there was none. */
  deleteProvider(tenantId: TenantId, channel: Channel, role: ProviderRole): Promise<boolean>;
  /** Of all tenants: previous and earlier keys that sign no more at `now` (UTC ms) go, and providers that are deleted with their previous one. */
  forgetPreviousKeys(now: number): Promise<void>;

  /** Each over the one before of its channel and role. */
  noteBreakers(notes: readonly BreakerNote[]): Promise<void>;
  /** Those that are noted and were not closed since. */
  breakers(tenantId: TenantId): Promise<readonly BreakerNote[]>;

  /** Newest first (createdAt, then id). */
  templates(tenantId: TenantId): Promise<readonly Template[]>;
  /** In the same order. */
  templatePage(tenantId: TenantId, place: TemplatePlace): Promise<TemplatePage>;
  template(tenantId: TenantId, id: TemplateId): Promise<Template | null>;
  templateByName(tenantId: TenantId, name: string): Promise<Template | null>;
  templateHistory(tenantId: TenantId, id: TemplateId): Promise<TemplateHistory | null>;
  /**
   * `taken`: the tenant has a template of this name; `full`: it has `max` of them. Then nothing was written.
   * @param earlier what it was before, where it comes from another store; newest first
   */
  createTemplate(
    template: Template,
    max: number,
    earlier?: readonly TemplateVersion[],
  ): Promise<'created' | 'taken' | 'full'>;
  /** Only when the stored version is the one before the given, which becomes an earlier one; `stale` and `gone` say why not. */
  updateTemplate(template: Template): Promise<'updated' | 'taken' | 'stale' | 'gone'>;
  deleteTemplate(tenantId: TenantId, id: TemplateId): Promise<boolean>;

  /**
   * Puts new sealed texts in the place of old ones, wherever the tenant's settings hold them: keys, providers' keys, the webhook secret.
   * What has changed since it was read is left as it is. Resolves with how many were replaced; none is no write.
   */
  replaceSealed(tenantId: TenantId, newByOld: ReadonlyMap<string, string>): Promise<number>;

  mark(name: SettingsMark): Promise<string | null>;
  /** Notes it where there is none yet; resolves with the one that holds. */
  keepMark(name: SettingsMark, value: string): Promise<string>;
  replaceMark(name: SettingsMark, value: string): Promise<void>;

  /** Tenants changed after the revision (0: nothing is reported, only the revision to begin with). */
  changesSince(revision: number): Promise<SettingsChanges>;
  ready(): Promise<boolean>;
  close(): Promise<void>;
}
