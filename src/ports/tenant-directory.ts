// Settings as the hot path sees them: from memory for a warm tenant, opened secrets included, in force within 5 s of a change on any node.

import type { Channel, ProviderRole } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import type { ProviderSettings, Scope, Template, Tenant, TenantShare } from '../domain/tenant.ts';

/** Whose an API key is, and what it may do. */
export interface KeyHolder {
  readonly tenant: Tenant;
  readonly scopes: readonly Scope[];
}

/** What a tenant's deliveries are made with, as it was at one moment. */
export interface DeliverySettings {
  /** null when there is none. `enabled` is not looked at. @throws SecretBoxError when its key can't be opened */
  provider(channel: Channel, role: ProviderRole): ProviderSettings | null;
  /** `whsec_...`, the tenant's own. @throws SecretBoxError when it can't be opened */
  webhookSecret(): string;
  /** What signed webhooks before and signs them as well, newest first, as far as it can be opened. @param now UTC ms */
  formerSigners(now: number): readonly string[];
  /** Everything of the tenant that must never be told to anyone: API keys, signing secrets; as far as it can be opened. @param now UTC ms */
  secrets(now: number): readonly string[];
}

/** Rejections of every call: an Error when the settings are neither cached (at most 15 minutes stale) nor to be had. */
export interface DeliveryDirectory {
  /** Everybody's for an unknown tenant. */
  share(tenantId: TenantId): Promise<TenantShare>;
  /** null: there is no such tenant. */
  settings(tenantId: TenantId): Promise<DeliverySettings | null>;
  /**
   * What is answered from then on is as the store had it after the call, whichever node changed it: for whoever is about to end something since there is no
   * provider, or since one was refused. A tenant is read five times a second at most; who asks meanwhile waits for the same read, 200 ms. Rejects when the
   * store is away.
   */
  refresh(tenantId: TenantId): Promise<void>;
}

/** The same, and what accepting needs. */
export interface TenantDirectory extends DeliveryDirectory {
  /** null: no such key, or it ended. A further key's use is noted. */
  holderOfApiKey(apiKey: string): Promise<KeyHolder | null>;
  /** The same by the key's hash, which is no use of the key. @param hash as ApiKeys.hash has it */
  holderOfKeyHash(tenantId: TenantId, hash: string): Promise<KeyHolder | null>;
  tenantBySubject(subject: string): Promise<Tenant | null>;
  tenant(tenantId: TenantId): Promise<Tenant | null>;
  /** Whether deliveries of the channel have what they need: an enabled provider; WEBHOOK and IN_APP always. That they haven't is asked of the store. */
  canDeliver(tenantId: TenantId, channel: Channel): Promise<boolean>;
  templateByName(tenantId: TenantId, name: string): Promise<Template | null>;
  /** As in its DeliverySettings, and so are the three below. */
  provider(tenantId: TenantId, channel: Channel): Promise<ProviderSettings | null>;
  /** The channel's second provider. */
  fallback(tenantId: TenantId, channel: Channel): Promise<ProviderSettings | null>;
  webhookSecret(tenantId: TenantId): Promise<string>;
  secretsOf(tenantId: TenantId): Promise<readonly string[]>;
  /** The current main API key, whole. @throws SecretBoxError when it can't be opened */
  apiKey(tenantId: TenantId): Promise<string>;
  /** Forget what is known of a tenant, after a change on this node. */
  forget(tenantId: TenantId): void;
}
