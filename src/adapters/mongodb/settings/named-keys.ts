// Further API keys in MongoDB, and the replacing of sealed texts.

import type { TenantId } from '../../../domain/ids.ts';
import type { SettingsStore, StoredNamedKey } from '../../../ports/settings-store.ts';
import type { Collections, KeyDocument, ProviderDocument, TenantDocument } from './collections.ts';
import type { WriteTenant } from './writing.ts';

type NamedKeys = Pick<SettingsStore, 'createNamedKey' | 'deleteNamedKey' | 'noteKeyUses'>;

export function namedKeysIn({ tenants }: Collections, write: WriteTenant): NamedKeys {
  return {
    async createNamedKey(key, max) {
      const { tenantId: _id } = key;
      const isCreated = await write(_id, async (session) => {
        const known = await tenants().findOne({ _id }, { session, projection: { 'keys.named.id': 1 } });
        const named = known?.keys.filter((other) => other.named !== undefined) ?? [];
        if (named.length >= max) return false;
        await tenants().updateOne({ _id }, { $push: { keys: documentOf(key) } }, { session });
        return true;
      });
      return isCreated ? 'created' : 'full';
    },
    deleteNamedKey: (tenantId, id) =>
      write(tenantId, async (session) => {
        const projection = { 'keys.hash': 1, 'keys.named.id': 1 };
        const known = await tenants().findOne({ _id: tenantId }, { session, projection });
        const hash = known?.keys.find(({ named }) => named?.id === id)?.hash;
        if (hash === undefined) return false;
        await tenants().updateOne({ _id: tenantId }, { $pull: { keys: { hash } } }, { session });
        return true;
      }),
    async noteKeyUses(uses) {
      if (uses.length === 0) return;
      // No transaction: nothing else tells of it, and of two at once the later time stays.
      await tenants().bulkWrite(
        uses.map(({ tenantId, id, at }) => ({
          updateOne: {
            filter: { _id: tenantId },
            update: { $max: { 'keys.$[used].named.lastUsedAt': at } },
            arrayFilters: [{ 'used.named.id': id }],
          },
        })),
        { ordered: false },
      );
    },
  };
}

export function replaceSealedIn({ tenants }: Collections, write: WriteTenant): SettingsStore['replaceSealed'] {
  return async (tenantId, newByOld) => {
    const filter = { _id: tenantId };
    let replaced = 0;
    await write(tenantId, async (session) => {
      const known = await tenants().findOne(filter, { session });
      replaced = 0;
      const renewed = (sealed: string): string => {
        const found = newByOld.get(sealed);
        if (found === undefined) return sealed;
        replaced++;
        return found;
      };
      const changed = known === null ? {} : resealed(known, renewed);
      if (replaced === 0) return false;
      await tenants().updateOne(filter, { $set: changed }, { session });
      return true;
    });
    return replaced;
  };
}

function resealed(
  { sealedWebhookSecret, keys, providers, fallbacks }: TenantDocument,
  renewed: (sealed: string) => string,
): Partial<TenantDocument> {
  const renewedProvider = (provider: ProviderDocument): ProviderDocument => ({
    ...provider,
    sealedApiKey: renewed(provider.sealedApiKey),
    sealedPreviousApiKey: provider.sealedPreviousApiKey === null ? null : renewed(provider.sealedPreviousApiKey),
    ...(provider.earlierKeys === undefined
      ? {}
      : { earlierKeys: provider.earlierKeys.map((key) => ({ ...key, sealedKey: renewed(key.sealedKey) })) }),
    ...(provider.sealedCallbackSecret === undefined
      ? {}
      : { sealedCallbackSecret: renewed(provider.sealedCallbackSecret) }),
  });
  return {
    sealedWebhookSecret: renewed(sealedWebhookSecret),
    keys: keys.map((key) => ({ ...key, sealedKey: renewed(key.sealedKey) })),
    providers: providers.map(renewedProvider),
    ...(fallbacks === undefined ? {} : { fallbacks: fallbacks.map(renewedProvider) }),
  };
}

/** None of it when it is no further key. */
export function namedKeyOf(tenantId: TenantId, { named, hash, sealedKey, createdAt }: KeyDocument): StoredNamedKey[] {
  if (named === undefined) return [];
  const { id, name, scopes, prefix, lastUsedAt } = named;
  return [{ id, tenantId, name, scopes, prefix, hash, sealedKey, createdAt, lastUsedAt }];
}

function documentOf({ id, name, scopes, prefix, lastUsedAt, ...key }: StoredNamedKey): KeyDocument {
  const { hash, sealedKey, createdAt } = key;
  return { hash, sealedKey, createdAt, expiresAt: null, named: { id, name, scopes, prefix, lastUsedAt } };
}
