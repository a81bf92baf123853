// One tenant's settings as they were loaded; its secrets are opened when they are first asked for, and live in memory
// alone.

import type { Channel, ProviderRole } from '../../domain/events.ts';
import type { ApiKeyId } from '../../domain/ids.ts';
import type { ProviderSettings, Scope, Tenant, TenantShare } from '../../domain/tenant.ts';
import { deletedProvider, mainKeyScopes, sealedFor } from '../../domain/tenant.ts';
import { type SecretBox, SecretBoxError } from '../../ports/secret-box.ts';
import type { StoredApiKey, StoredNamedKey, StoredProvider, TenantSettings } from '../../ports/settings-store.ts';
import { formerKeysOf } from '../../ports/settings-store.ts';
import type { DeliverySettings } from '../../ports/tenant-directory.ts';

/** An API key as it is looked up. */
export interface FoundKey {
  /** null: the tenant's main one, or one that it replaced. */
  readonly id: ApiKeyId | null;
  readonly scopes: readonly Scope[];
  readonly expiresAt: number | null;
}

export interface KnownTenant extends DeliverySettings {
  readonly tenant: Tenant;
  readonly share: TenantShare;
  /** What it takes in memory, with its keys sealed, opened and in the forms that are cut out of answers. */
  readonly heldBytes: number;
  keyWithHash(hash: string): FoundKey | null;
  hasEnabledProvider(channel: Channel): boolean;
  /** @throws SecretBoxError */
  apiKey(): string;
}

const objectsBytes = 2048;
const heldPerCharacter = 3;

export function knownTenantOf(settings: TenantSettings, secretBox: SecretBox): KnownTenant {
  const { tenant: storedTenant, share, keys, namedKeys, providers } = settings;
  const { sealedWebhookSecret, ...tenant } = storedTenant;
  const { id } = tenant;
  const opened = new Map<StoredProvider, ProviderSettings>();
  let apiKey: string | null = null;
  let webhookSecret: string | null = null;
  let formerSigners: readonly FormerKey[] | null = null;
  let secrets: { readonly all: readonly string[]; readonly until: number } = { all: [], until: 0 };

  const openKey = (key: StoredApiKey) => secretBox.open(key.sealedKey, sealedFor.apiKey(id));
  const openNamedKey = (key: StoredNamedKey) => secretBox.open(key.sealedKey, sealedFor.namedKey(id, key.id));
  const openWebhookSecret = () => (webhookSecret ??= secretBox.open(sealedWebhookSecret, sealedFor.webhookSecret(id)));
  const stored = (channel: Channel, role: ProviderRole) =>
    providers.find((provider) => provider.channel === channel && provider.role === role);
  const find = (channel: Channel, role: ProviderRole) => {
    const found = stored(channel, role);
    return found?.provider === deletedProvider ? undefined : found;
  };

  return {
    tenant,
    share,
    heldBytes: objectsBytes + heldPerCharacter * JSON.stringify(settings).length,
    keyWithHash(hash) {
      const main = keys.find((key) => key.hash === hash);
      if (main !== undefined) return { id: null, scopes: mainKeyScopes, expiresAt: main.expiresAt };
      const named = namedKeys.find((key) => key.hash === hash);
      return named === undefined ? null : { id: named.id, scopes: named.scopes, expiresAt: null };
    },
    provider(channel, role) {
      const provider = find(channel, role);
      if (provider === undefined) return null;
      const settings = opened.get(provider) ?? openProvider(provider, secretBox);
      opened.set(provider, settings);
      return settings;
    },
    hasEnabledProvider: (channel) => find(channel, 'primary')?.enabled === true,
    apiKey() {
      const current = keys.filter((key) => key.expiresAt === null).sort((a, b) => b.createdAt - a.createdAt)[0];
      if (current === undefined) throw new Error(`the tenant ${id} has no API key`);
      return (apiKey ??= openKey(current));
    },
    webhookSecret: openWebhookSecret,
    formerSigners(now) {
      const signs = stored('WEBHOOK', 'primary');
      if (signs === undefined) return [];
      formerSigners ??= openFormerKeys(signs, secretBox);
      return formerSigners.filter(({ until }) => now < until).map(({ secret }) => secret);
    },
    secrets(now) {
      if (now < secrets.until) return secrets.all;
      const validKeys = keys.filter((key) => !hasEnded(key.expiresAt, now));
      const all = [
        ...validKeys.map((key) => openable(() => openKey(key))),
        ...namedKeys.map((key) => openable(() => openNamedKey(key))),
        openable(openWebhookSecret),
        ...providers.flatMap((provider) => providerSecrets(provider, secretBox, now)),
      ];
      const formerKeys = providers.flatMap(formerKeysOf);
      const ends = [...validKeys.map((key) => key.expiresAt), ...formerKeys.map(({ until }) => until)];
      secrets = {
        all: distinct(all),
        until: Math.min(...ends.map((end) => (end !== null && end > now ? end : Infinity))),
      };
      return secrets.all;
    },
  };
}

export function hasEnded(expiresAt: number | null, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}

function openProvider(provider: StoredProvider, secretBox: SecretBox): ProviderSettings {
  const { tenantId, channel, role, sealedApiKey } = provider;
  const context = sealedFor.provider(tenantId, channel, role);
  const callbackSecret = openedCallbackSecret(provider, secretBox);
  return {
    tenantId,
    channel,
    role,
    provider: provider.provider,
    apiKey: secretBox.open(sealedApiKey, context),
    ...(callbackSecret === null ? {} : { callbackSecret }),
    config: provider.config,
    enabled: provider.enabled,
    createdAt: provider.createdAt,
    updatedAt: provider.updatedAt,
  };
}

interface FormerKey {
  readonly secret: string;
  /** UTC ms until when it signs. */
  readonly until: number;
}

/** One that can't be opened signs nothing; the current one does. */
function openFormerKeys(provider: StoredProvider, secretBox: SecretBox): readonly FormerKey[] {
  const context = sealedFor.provider(provider.tenantId, provider.channel, provider.role);
  return formerKeysOf(provider).flatMap(({ sealedKey, until }) => {
    const secret = openable(() => secretBox.open(sealedKey, context));
    return secret === null ? [] : [{ secret, until }];
  });
}

/** One that can't be opened verifies nothing: reports are refused, and what is sent goes out all the same. */
function openedCallbackSecret(provider: StoredProvider, secretBox: SecretBox): string | null {
  const { tenantId, channel, role, sealedCallbackSecret: sealed } = provider;
  return sealed === undefined
    ? null
    : openable(() => secretBox.open(sealed, sealedFor.callbacks(tenantId, channel, role)));
}

function providerSecrets(provider: StoredProvider, secretBox: SecretBox, now: number): (string | null)[] {
  const context = sealedFor.provider(provider.tenantId, provider.channel, provider.role);
  const { sealedApiKey } = provider;
  const current = openable(() => secretBox.open(sealedApiKey, context));
  const callbackSecret = openedCallbackSecret(provider, secretBox);
  const former = openFormerKeys(provider, secretBox).filter(({ until }) => now < until);
  return [current, callbackSecret, ...former.map(({ secret }) => secret)];
}

function distinct(secrets: readonly (string | null)[]): string[] {
  return [...new Set(secrets.filter((secret) => secret !== null && secret !== ''))] as string[];
}

function openable(open: () => string): string | null {
  try {
    return open();
  } catch (error) {
    if (error instanceof SecretBoxError) return null;
    throw error;
  }
}
