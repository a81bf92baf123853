// Seals a tenant's secrets anew under the encryption secret in use, whatever secret sealed them before; what a tenant saves meanwhile stays.

import type { TenantId } from '../domain/ids.ts';
import { sealedFor } from '../domain/tenant.ts';
import type { SecretBox } from '../ports/secret-box.ts';
import { SecretBoxError } from '../ports/secret-box.ts';
import type { SettingsStore, TenantSettings } from '../ports/settings-store.ts';
import { formerKeysOf } from '../ports/settings-store.ts';

export interface ResealDependencies {
  readonly settings: Pick<SettingsStore, 'settings' | 'replaceSealed'>;
  readonly secretBox: SecretBox;
}

export interface Resealed {
  /** Sealed texts that this tenant has. */
  readonly total: number;
  readonly resealed: number;
  /** What can't be opened, by what it is; left as it is. */
  readonly unreadable: readonly string[];
}

/** What was saved between reading and writing is for the next round, if it needs one at all. */
export function resealTenant({ settings, secretBox }: ResealDependencies) {
  return async (tenantId: TenantId): Promise<Resealed> => {
    const stored = await settings.settings(tenantId);
    const secrets = stored === null ? [] : sealedIn(stored);
    const newByOld = new Map<string, string>();
    const unreadable: string[] = [];
    for (const { what, sealed, context } of secrets) {
      const plain = opened(secretBox, sealed, context);
      if (plain === null) unreadable.push(what);
      else if (!secretBox.isCurrent(sealed)) newByOld.set(sealed, secretBox.seal(plain, context));
    }
    const resealed = newByOld.size === 0 ? 0 : await settings.replaceSealed(tenantId, newByOld);
    return { total: secrets.length, resealed, unreadable };
  };
}

interface Sealed {
  /** For a person. */
  readonly what: string;
  readonly sealed: string;
  readonly context: string;
}

/** Every sealed text of a tenant, with what it was sealed for. */
function sealedIn({ tenant, keys, namedKeys, providers }: TenantSettings): readonly Sealed[] {
  const { id, sealedWebhookSecret } = tenant;
  return [
    { what: 'webhook secret', sealed: sealedWebhookSecret, context: sealedFor.webhookSecret(id) },
    ...keys.map(({ sealedKey }) => ({ what: 'API key', sealed: sealedKey, context: sealedFor.apiKey(id) })),
    ...namedKeys.map((key) => ({
      what: `API key ${key.id}`,
      sealed: key.sealedKey,
      context: sealedFor.namedKey(id, key.id),
    })),
    ...providers.flatMap((provider) => {
      const { channel, role, sealedApiKey, sealedCallbackSecret } = provider;
      const context = sealedFor.provider(id, channel, role);
      const name = role === 'primary' ? `${channel} provider` : `${channel} ${role} provider`;
      const all = [{ what: `key of the ${name}`, sealed: sealedApiKey, context }];
      for (const { sealedKey } of formerKeysOf(provider))
        all.push({ what: `former key of the ${name}`, sealed: sealedKey, context });
      if (sealedCallbackSecret !== undefined) {
        const callbacks = sealedFor.callbacks(id, channel, role);
        all.push({ what: `callback secret of the ${name}`, sealed: sealedCallbackSecret, context: callbacks });
      }
      return all;
    }),
  ];
}

function opened(secretBox: SecretBox, sealed: string, context: string): string | null {
  try {
    return secretBox.open(sealed, context);
  } catch (error) {
    if (error instanceof SecretBoxError) return null;
    throw error;
  }
}
