// One tenant's settings as they were loaded; its secrets are opened when they are first asked for, and live in memory
// alone.

import type { Channel } from '../../domain/events.ts';
import type { ProviderSettings, Tenant } from '../../domain/tenant.ts';
import { sealedFor } from '../../domain/tenant.ts';
import { type SecretBox, SecretBoxError } from '../../ports/secret-box.ts';
import type { StoredApiKey, StoredProvider, TenantSettings } from '../../ports/settings-store.ts';

export interface KnownTenant {
  readonly tenant: Tenant;
  keyWithHash(hash: string): StoredApiKey | null;
  /** @throws SecretBoxError */
  provider(channel: Channel, now: number): ProviderSettings | null;
  hasEnabledProvider(channel: Channel): boolean;
  /** @throws SecretBoxError */
  apiKey(): string;
  /** @throws SecretBoxError */
  webhookSecret(): string;
  /** Those that can be opened: what can't be was never told to anyone either. */
  secrets(now: number): readonly string[];
}

export function knownTenantOf({ tenant: stored, keys, providers }: TenantSettings, secretBox: SecretBox): KnownTenant {
  const { sealedWebhookSecret, ...tenant } = stored;
  const { id } = tenant;
  const opened = new Map<Channel, ProviderSettings>();
  let apiKey: string | null = null;
  let webhookSecret: string | null = null;
  let secrets: { readonly all: readonly string[]; readonly until: number } = { all: [], until: 0 };

  const openKey = (key: StoredApiKey) => secretBox.open(key.sealedKey, sealedFor.apiKey(id));
  const openWebhookSecret = () => (webhookSecret ??= secretBox.open(sealedWebhookSecret, sealedFor.webhookSecret(id)));
  const ofChannel = (channel: Channel) => providers.find((provider) => provider.channel === channel);

  return {
    tenant,
    keyWithHash: (hash) => keys.find((key) => key.hash === hash) ?? null,
    provider(channel, now) {
      const provider = ofChannel(channel);
      if (provider === undefined) return null;
      const known = opened.get(channel) ?? openProvider(provider, secretBox);
      const signsTwice = known.previousApiKey !== null && now < (provider.previousUntil ?? 0);
      const settings = signsTwice || known.previousApiKey === null ? known : { ...known, previousApiKey: null };
      opened.set(channel, settings);
      return settings;
    },
    hasEnabledProvider: (channel) => ofChannel(channel)?.enabled === true,
    apiKey() {
      const current = keys.filter((key) => key.expiresAt === null).sort((a, b) => b.createdAt - a.createdAt)[0];
      if (current === undefined) throw new Error(`the tenant ${id} has no API key`);
      return (apiKey ??= openKey(current));
    },
    webhookSecret: openWebhookSecret,
    secrets(now) {
      if (now < secrets.until) return secrets.all;
      const validKeys = keys.filter((key) => !hasEnded(key.expiresAt, now));
      const all = [
        ...validKeys.map((key) => openable(() => openKey(key))),
        openable(openWebhookSecret),
        ...providers.flatMap((provider) => providerSecrets(provider, secretBox, now)),
      ];
      const ends = [...validKeys.map((key) => key.expiresAt), ...providers.map((provider) => provider.previousUntil)];
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
  const { tenantId, channel, sealedApiKey, sealedPreviousApiKey } = provider;
  const context = sealedFor.provider(tenantId, channel);
  return {
    tenantId,
    channel,
    provider: provider.provider,
    apiKey: secretBox.open(sealedApiKey, context),
    previousApiKey: sealedPreviousApiKey === null ? null : secretBox.open(sealedPreviousApiKey, context),
    config: provider.config,
    enabled: provider.enabled,
    createdAt: provider.createdAt,
    updatedAt: provider.updatedAt,
  };
}

function providerSecrets(provider: StoredProvider, secretBox: SecretBox, now: number): (string | null)[] {
  const context = sealedFor.provider(provider.tenantId, provider.channel);
  const { sealedApiKey, sealedPreviousApiKey, previousUntil } = provider;
  const current = openable(() => secretBox.open(sealedApiKey, context));
  if (sealedPreviousApiKey === null || hasEnded(previousUntil, now)) return [current];
  return [current, openable(() => secretBox.open(sealedPreviousApiKey, context))];
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
