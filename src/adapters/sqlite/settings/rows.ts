// Rows of settings.db as the documents of the port.

import type { SQLOutputValue } from 'node:sqlite';

import type { Channel, ProviderRole } from '../../../domain/events.ts';
import type { ApiKeyId, TemplateId, TenantId } from '../../../domain/ids.ts';
import type { Scope, Template, TemplateVersion, TenantShare } from '../../../domain/tenant.ts';
import { ordinaryShare } from '../../../domain/tenant.ts';
import type {
  StoredApiKey,
  StoredFormerKey,
  StoredNamedKey,
  StoredProvider,
  StoredTenant,
} from '../../../ports/settings-store.ts';

export type Row = Readonly<Record<string, SQLOutputValue>>;

export function tenantOf(row: Row): StoredTenant {
  const limit = numberOrNull(row, 'rate_limit');
  return {
    id: text(row, 'id') as TenantId,
    subject: text(row, 'subject'),
    name: text(row, 'name'),
    email: textOrNull(row, 'email'),
    createdAt: number(row, 'created_at'),
    rateLimit: limit === null ? null : { limit, windowMs: number(row, 'rate_window_ms') },
    sealedWebhookSecret: text(row, 'sealed_webhook_secret'),
  };
}

export function shareOf(row: Row | undefined): TenantShare {
  if (row === undefined) return ordinaryShare;
  return { weight: number(row, 'weight'), inFlightMax: numberOrNull(row, 'in_flight_max') };
}

export function apiKeyOf(row: Row): StoredApiKey {
  return {
    tenantId: text(row, 'tenant_id') as TenantId,
    hash: text(row, 'hash'),
    sealedKey: text(row, 'sealed_key'),
    createdAt: number(row, 'created_at'),
    expiresAt: numberOrNull(row, 'expires_at'),
  };
}

export function namedKeyOf(row: Row): StoredNamedKey {
  return {
    id: text(row, 'id') as ApiKeyId,
    tenantId: text(row, 'tenant_id') as TenantId,
    name: text(row, 'name'),
    scopes: text(row, 'scopes').split(',') as Scope[],
    prefix: text(row, 'prefix'),
    hash: text(row, 'hash'),
    sealedKey: text(row, 'sealed_key'),
    createdAt: number(row, 'created_at'),
    lastUsedAt: numberOrNull(row, 'last_used_at'),
  };
}

export function providerOf(row: Row, role: ProviderRole): StoredProvider {
  const sealedCallbackSecret = textOrNull(row, 'sealed_callback_secret');
  const earlierKeys = JSON.parse(text(row, 'earlier_keys')) as readonly StoredFormerKey[];
  return {
    tenantId: text(row, 'tenant_id') as TenantId,
    channel: text(row, 'channel') as Channel,
    role,
    provider: text(row, 'provider'),
    sealedApiKey: text(row, 'sealed_api_key'),
    sealedPreviousApiKey: textOrNull(row, 'sealed_previous_api_key'),
    previousUntil: numberOrNull(row, 'previous_until'),
    ...(earlierKeys.length === 0 ? {} : { earlierKeys }),
    ...(sealedCallbackSecret === null ? {} : { sealedCallbackSecret }),
    config: JSON.parse(text(row, 'config')) as Record<string, unknown>,
    enabled: number(row, 'enabled') === 1,
    createdAt: number(row, 'created_at'),
    updatedAt: number(row, 'updated_at'),
  };
}

export function templateOf(row: Row): Template {
  return {
    id: text(row, 'id') as TemplateId,
    tenantId: text(row, 'tenant_id') as TenantId,
    name: text(row, 'name'),
    channel: text(row, 'channel') as Channel,
    subject: textOrNull(row, 'subject'),
    body: text(row, 'body'),
    strict: number(row, 'strict') === 1,
    version: number(row, 'version'),
    createdAt: number(row, 'created_at'),
    updatedAt: number(row, 'updated_at'),
  };
}

export function templateVersionOf(row: Row): TemplateVersion {
  return {
    version: number(row, 'version'),
    name: text(row, 'name'),
    subject: textOrNull(row, 'subject'),
    body: text(row, 'body'),
    strict: number(row, 'strict') === 1,
    savedAt: number(row, 'saved_at'),
  };
}

export function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw new TypeError(`the column ${column} holds no text`);
  return value;
}

export function number(row: Row, column: string): number {
  const value = row[column];
  if (typeof value !== 'number') throw new TypeError(`the column ${column} holds no number`);
  return value;
}

function textOrNull(row: Row, column: string): string | null {
  return row[column] === null ? null : text(row, column);
}

function numberOrNull(row: Row, column: string): number | null {
  return row[column] === null ? null : number(row, column);
}
