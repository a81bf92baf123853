// What an attempt is made with: the provider and the tenant's settings for it, or the reason why there is none.

import type { Reason } from '../domain/delivery-outcome.ts';
import type { Channel, ProviderRole } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import type { ProviderSettings } from '../domain/tenant.ts';
import type { CallbackAddresses } from '../ports/callback-addresses.ts';
import type { Clock } from '../ports/clock.ts';
import type { Provider, ProviderRegistry } from '../ports/provider-registry.ts';
import { SecretBoxError } from '../ports/secret-box.ts';
import type { DeliveryDirectory, DeliverySettings } from '../ports/tenant-directory.ts';

export interface ReadyMeans {
  readonly kind: 'ready';
  readonly role: ProviderRole;
  readonly provider: Provider;
  /** null where the channel needs none and none is set. */
  readonly settings: ProviderSettings | null;
  readonly webhookSecret: string;
  /** As in its DeliveryContext. */
  readonly formerSigners?: readonly string[];
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
  directory: Pick<DeliveryDirectory, 'settings' | 'refresh'>;
  providers: ProviderRegistry;
  clock: Pick<Clock, 'now'>;
  callbackAddresses?: Pick<CallbackAddresses, 'urlOf'>;
}): FindMeans {
  const { channel, directory, providers, clock, callbackAddresses } = from;
  const builtIn = providers.builtIn(channel);
  const callbackUrlOf = (tenantId: TenantId, { name, callbacks }: Provider) =>
    callbacks === undefined ? undefined : (callbackAddresses?.urlOf(tenantId, name) ?? undefined);

  function primaryOf({ tenantId, known, now }: Asked, fallback: ReadyMeans | null): Means {
    const stored = known?.provider(channel, 'primary') ?? null;
    const settings = stored !== null && stored.enabled ? stored : null;
    const provider = settings === null ? builtIn : providers.find(channel, settings.provider);
    if (provider === null) return noProvider(stored);
    // Where the tenant signs with a secret of its own, the other isn't needed, and may be unreadable.
    const signs = channel === 'WEBHOOK' && settings === null ? needed(tenantId, known) : null;
    const webhookSecret = signs?.webhookSecret() ?? '';
    const formerSigners = channel === 'WEBHOOK' ? (known?.formerSigners(now) ?? []) : [];
    const secrets = known?.secrets(now) ?? [];
    const maxPerSecond = maxPerSecondOf(settings);
    const callbackUrl = callbackUrlOf(tenantId, provider);
    const by = { provider, settings, webhookSecret, formerSigners, secrets, callbackUrl };
    return { kind: 'ready', role: 'primary', ...by, maxPerSecond, fallback };
  }

  /** One that can't be used is none: the first one goes on by itself. */
  function fallbackOf({ tenantId, known, now }: Asked): ReadyMeans | null {
    if (builtIn !== null || known === null) return null;
    const settings = unlessUnreadable(() => known.provider(channel, 'fallback'), null);
    const provider = settings?.enabled === true ? providers.find(channel, settings.provider) : null;
    if (settings === null || provider === null) return null;
    const secrets = known.secrets(now);
    const maxPerSecond = maxPerSecondOf(settings);
    const callbackUrl = callbackUrlOf(tenantId, provider);
    return { ...nothingElse, role: 'fallback', provider, settings, secrets, maxPerSecond, callbackUrl };
  }

  function meansOf(tenantId: TenantId, known: DeliverySettings | null): Means {
    const asked = { tenantId, known, now: clock.now() };
    const fallback = fallbackOf(asked);
    return unlessUnreadable<Means>(() => primaryOf(asked, fallback), fallback ?? unreadableKey);
  }

  /** None ends the notification: it is said by what the store has, since another process may have saved one a moment ago. */
  async function find(tenantId: TenantId): Promise<Means> {
    const means = meansOf(tenantId, await directory.settings(tenantId));
    if (means.kind === 'ready') return means;
    await directory.refresh(tenantId);
    return meansOf(tenantId, await directory.settings(tenantId));
  }

  /** An in-app item needs nothing of the tenant's: its delivery never waits for the settings. */
  if (channel === 'IN_APP' && builtIn !== null) {
    const inbox: Means = { ...nothingElse, role: 'primary', provider: builtIn, settings: null, secrets: [] };
    return () => Promise.resolve(inbox);
  }
  return find;
}

const nothingElse = { kind: 'ready', webhookSecret: '', maxPerSecond: null, fallback: null } as const;

/** Of whom it is asked; `now`: UTC ms. */
interface Asked {
  readonly tenantId: TenantId;
  readonly known: DeliverySettings | null;
  readonly now: number;
}

function needed(tenantId: TenantId, known: DeliverySettings | null): DeliverySettings {
  if (known === null) throw new Error(`there is no tenant ${tenantId}`);
  return known;
}

function unlessUnreadable<T>(find: () => T, otherwise: T): T {
  try {
    return find();
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
