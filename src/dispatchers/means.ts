// What an attempt is made with: the provider and the tenant's settings for it, or the reason why there is none.

import type { Reason } from '../domain/delivery-outcome.ts';
import type { Channel, ProviderRole } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import type { ProviderSettings } from '../domain/tenant.ts';
import type { CallbackAddresses } from '../ports/callback-addresses.ts';
import type { Provider, ProviderRegistry } from '../ports/provider-registry.ts';
import { SecretBoxError } from '../ports/secret-box.ts';
import type { DeliveryDirectory } from '../ports/tenant-directory.ts';

export interface ReadyMeans {
  readonly kind: 'ready';
  readonly role: ProviderRole;
  readonly provider: Provider;
  /** null where the channel needs none and none is set. */
  readonly settings: ProviderSettings | null;
  readonly webhookSecret: string;
  readonly secrets: readonly string[];
  /** Where its reports go. Absent: nowhere. */
  readonly callbackUrl?: string | undefined;
  /** Attempts a second that the tenant allows its provider, over all processes; null: as many as can be made. */
  readonly maxPerSecond: number | null;
  /** Takes over while this one can't; null: there is none. */
  readonly fallback: ReadyMeans | null;
}

/** Ends the round: only a change of the tenant's settings can help. `provider` is its name, as far as it is known. */
export interface NoMeans {
  readonly kind: 'none';
  readonly provider: string;
  readonly reason: Reason;
}

export type Means = ReadyMeans | NoMeans;

/** The call rejects when the settings can't be had now: then no attempt was made. */
export type FindMeans = (tenantId: TenantId) => Promise<Means>;

export function createFindMeans(from: {
  channel: Channel;
  directory: DeliveryDirectory;
  providers: ProviderRegistry;
  callbackAddresses?: Pick<CallbackAddresses, 'urlOf'>;
}): FindMeans {
  const { channel, directory, providers, callbackAddresses } = from;
  const builtIn = providers.builtIn(channel);
  const callbackUrlOf = (tenantId: TenantId, { name, callbacks }: Provider) =>
    callbacks === undefined ? undefined : (callbackAddresses?.urlOf(tenantId, name) ?? undefined);

  async function ofTenant(tenantId: TenantId, fallback: ReadyMeans | null): Promise<Means> {
    const stored = await directory.provider(tenantId, channel);
    const settings = stored !== null && stored.enabled ? stored : null;
    const provider = settings === null ? builtIn : providers.find(channel, settings.provider);
    if (provider === null) return noProvider(stored);
    // Where the tenant signs with a secret of its own, the other isn't needed, and may be unreadable.
    const webhookSecret = channel === 'WEBHOOK' && settings === null ? await directory.webhookSecret(tenantId) : '';
    const secrets = await directory.secretsOf(tenantId);
    const maxPerSecond = maxPerSecondOf(settings);
    const callbackUrl = callbackUrlOf(tenantId, provider);
    const by = { provider, settings, webhookSecret, secrets, callbackUrl };
    return { kind: 'ready', role: 'primary', ...by, maxPerSecond, fallback };
  }

  /** One that can't be used is none: the first one goes on by itself. */
  async function fallbackOf(tenantId: TenantId): Promise<ReadyMeans | null> {
    if (builtIn !== null) return null;
    const settings = await unlessUnreadable(() => directory.fallback(tenantId, channel), null);
    const provider = settings?.enabled === true ? providers.find(channel, settings.provider) : null;
    if (settings === null || provider === null) return null;
    const secrets = await directory.secretsOf(tenantId);
    const maxPerSecond = maxPerSecondOf(settings);
    const callbackUrl = callbackUrlOf(tenantId, provider);
    return { ...nothingElse, role: 'fallback', provider, settings, secrets, maxPerSecond, callbackUrl };
  }

  async function known(tenantId: TenantId): Promise<Means> {
    const fallback = await fallbackOf(tenantId);
    return unlessUnreadable<Means>(() => ofTenant(tenantId, fallback), fallback ?? unreadableKey);
  }

  /** None ends the notification: it is said by what the store has, since another process may have saved one a moment ago. */
  async function find(tenantId: TenantId): Promise<Means> {
    const means = await known(tenantId);
    if (means.kind === 'ready') return means;
    await directory.refresh(tenantId);
    return known(tenantId);
  }

  /** An in-app item needs nothing of the tenant's: its delivery never waits for the settings. */
  if (channel === 'IN_APP' && builtIn !== null) {
    const inbox: Means = { ...nothingElse, role: 'primary', provider: builtIn, settings: null, secrets: [] };
    return () => Promise.resolve(inbox);
  }
  return find;
}

const nothingElse = { kind: 'ready', webhookSecret: '', maxPerSecond: null, fallback: null } as const;

async function unlessUnreadable<T>(find: () => Promise<T>, otherwise: T): Promise<T> {
  try {
    return await find();
  } catch (err) {
    if (err instanceof SecretBoxError) return otherwise;
    throw err;
  }
}

/** Every provider's config may have it (channels/settings-check.ts). */
function maxPerSecondOf(settings: ProviderSettings | null): number | null {
  const rate = settings?.config['maxPerSecond'];
  return typeof rate === 'number' ? rate : null;
}

/** As an attempt names the provider where there is none, and where which one it is can't be read. */
export const noProviderName = 'none';
const unknownProviderName = 'unknown';
export const namelessProviders = [noProviderName, unknownProviderName] as const;

function noProvider(stored: ProviderSettings | null): NoMeans {
  const message = stored === null ? 'No provider is configured for this channel.' : whyNot(stored);
  return {
    kind: 'none',
    provider: stored?.provider ?? noProviderName,
    reason: { failureClass: 'credentials', code: 'NO_PROVIDER', message },
  };
}

function whyNot(stored: ProviderSettings): string {
  return stored.enabled
    ? `There is no provider named ${stored.provider}.`
    : `The provider ${stored.provider} is disabled.`;
}

const unreadableKey: NoMeans = {
  kind: 'none',
  provider: unknownProviderName,
  reason: {
    failureClass: 'credentials',
    code: 'KEY_UNREADABLE',
    message: "The provider's stored key can't be opened; save the provider again.",
  },
};
