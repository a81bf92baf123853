// A tenant and what it set: its keys, its providers, its limits.

import type { Channel, ProviderRole } from './events.ts';
import type { ApiKeyId, TemplateId, TenantId } from './ids.ts';

/** `limit` requests in `windowMs`. */
export interface RateLimit {
  readonly limit: number;
  readonly windowMs: number;
}

export interface Tenant {
  readonly id: TenantId;
  /** The `sub` of the owner's token; unique. */
  readonly subject: string;
  readonly name: string;
  readonly email: string | null;
  readonly createdAt: number;
  /** null: the service's own RATE_LIMIT. */
  readonly rateLimit: RateLimit | null;
}

/** How much of what tenants share an operator gives to one, where they are in each other's way. */
export interface TenantShare {
  /** Turns that it has for one of a tenant of weight 1. */
  readonly weight: number;
  /** Attempts in flight of one channel and process; null: as many as anybody. */
  readonly inFlightMax: number | null;
}

export const ordinaryShare: TenantShare = { weight: 1, inFlightMax: null };
export const weightMax = 100;
/** As many as any channel has in flight. */
export const tenantInFlightMax = 256;

/** What every API key begins with. */
export const apiKeyPrefix = 'nk_';

/** What a further API key may do: send, serve the inbox, read what the dashboard shows. */
export const scopes = ['notify', 'inbox', 'read'] as const;
export type Scope = (typeof scopes)[number];

/** The tenant's main key is its backend's: it sends and serves the inbox. What the dashboard reads takes a token, or a key made for it. */
export const mainKeyScopes: readonly Scope[] = ['notify', 'inbox'];

/** Further keys of a tenant; all of them are loaded with it. */
export const namedKeysMax = 50;

/** Former main keys that hold at once: each is a key that may be stolen, and is loaded with its tenant. */
export const formerKeysMax = 5;

/** A tenant's; 1 MiB of them make a page, 200 KiB one. */
export const templatesMax = 1000;

/** A tenant's provider of one channel, its key opened. Lives in memory alone. */
export interface ProviderSettings {
  readonly tenantId: TenantId;
  readonly channel: Channel;
  readonly role: ProviderRole;
  readonly provider: string;
  /** The provider's secret in the clear; for WEBHOOK the tenant's own signing secret. */
  readonly apiKey: string;
  /** What the provider's reports are verified by, where that isn't its key. Absent or null: none is saved. */
  readonly callbackSecret?: string | null;
  readonly config: Readonly<Record<string, unknown>>;
  readonly enabled: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface Template {
  readonly id: TemplateId;
  readonly tenantId: TenantId;
  /** Unique in its tenant. */
  readonly name: string;
  readonly channel: Channel;
  readonly subject: string | null;
  readonly body: string;
  /** Names that the data of a notification lack are refused; else they are empty. */
  readonly strict: boolean;
  /** 1, one more with each change. */
  readonly version: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A template's text as it was saved, now or before. */
export interface TemplateVersion extends Pick<Template, 'version' | 'name' | 'subject' | 'body' | 'strict'> {
  readonly savedAt: number;
}

/** Earlier versions of a template that are kept, by their number and the UTF-8 bytes of their subjects and bodies: a template takes three times its longest text at most. */
export const earlierVersionsMax = 20;
export const earlierVersionsBytesMax = 400 * 1024;

export function versionOf({ version, name, subject, body, strict, updatedAt }: Template): TemplateVersion {
  return { version, name, subject, body, strict, savedAt: updatedAt };
}

/** How many of the earlier versions stay, the newest first. */
export function keptVersions(bytesOfEach: readonly number[]): number {
  let bytes = 0;
  const kept = bytesOfEach.findIndex((each) => (bytes += each) > earlierVersionsBytesMax);
  return Math.min(kept < 0 ? bytesOfEach.length : kept, earlierVersionsMax);
}

/** First 3 characters, six bullets, last 4; 12 characters or fewer: bullets alone. */
export function maskSecret(secret: string): string {
  return secret.length <= 12 ? bullets : `${secret.slice(0, 3)}${bullets}${secret.slice(-4)}`;
}

export function isMasked(secret: string): boolean {
  return secret.includes('•');
}

/** A secret of which nothing is shown, or which can't be opened. */
export const bullets = '••••••';

/** How long the secret that signed webhooks so far goes on signing beside the one that does from now on. */
export const webhookSecretOverlapMs = 24 * 60 * 60 * 1000;

/** Former secrets that sign a tenant's webhooks beside the present one: each is a signature in every request's header, and is loaded with its tenant. */
export const formerSignersMax = 4;

/** Stands in a provider's place once it is deleted, as long as its secret signs as well (retention/keeper.ts takes it away then): it is none any more, and nobody sees it. No provider has this name. */
export const deletedProvider = 'deleted';

/** What each secret is sealed for (ports/secret-box.ts): writer and reader name the same context. */
export const sealedFor = {
  /** The same as ever for a first one: what was sealed before there were others stays open. */
  provider: (tenantId: TenantId, channel: Channel, role: ProviderRole = 'primary') =>
    role === 'primary' ? `${tenantId}:${channel}` : `${tenantId}:${channel}:${role}`,
  callbacks: (tenantId: TenantId, channel: Channel, role: ProviderRole) => `${tenantId}:${channel}:${role}:callbacks`,
  apiKey: (tenantId: TenantId) => `${tenantId}:api-key`,
  namedKey: (tenantId: TenantId, id: ApiKeyId) => `${tenantId}:api-key:${id}`,
  /** What tells whether a secret is the one that seals the settings. */
  settings: 'settings',
  webhookSecret: (tenantId: TenantId) => `${tenantId}:webhook-secret`,
} as const;
