// Tenants with their API keys and providers in MongoDB.

import type { ProviderRole } from '../../../domain/events.ts';
import { providerRoles } from '../../../domain/events.ts';
import type { TenantId } from '../../../domain/ids.ts';
import { deletedProvider, ordinaryShare } from '../../../domain/tenant.ts';
import type {
  SettingsStore,
  StoredApiKey,
  StoredNamedKey,
  StoredProvider,
  StoredTenant,
  TenantSettings,
} from '../../../ports/settings-store.ts';
import type { Collections, KeyDocument, ProviderDocument, TenantDocument } from './collections.ts';
import { isErased, unlessErased } from './erasing.ts';
import { namedKeyOf } from './named-keys.ts';
import type { WriteTenant } from './writing.ts';

type Tenants = Pick<
  SettingsStore,
  | 'createTenant'
  | 'tenantBySubject'
  | 'tenantIdByKeyHash'
  | 'settings'
  | 'setShare'
  | 'setRetention'
  | 'retentions'
  | 'replaceKey'
  | 'saveProvider'
  | 'deleteProvider'
  | 'forgetPreviousKeys'
>;

export function tenantsIn({ tenants }: Collections, write: WriteTenant): Tenants {
  return {
    createTenant: (tenant, key) =>
      write(tenant.id, async (session) => {
        const { subject } = tenant;
        if ((await tenants().findOne({ subject }, { session, projection: { _id: 1 } })) !== null) return false;
        await tenants().insertOne(documentOf(tenant, key), { session });
        return true;
      }),
    async tenantBySubject(subject) {
      const document = await tenants().findOne({ subject });
      return document === null || isErased(document) ? null : tenantOf(document);
    },
    async tenantIdByKeyHash(hash) {
      const document = await tenants().findOne({ 'keys.hash': hash }, { projection: { _id: 1 } });
      return document?._id ?? null;
    },
    async settings(tenantId) {
      const document = await tenants().findOne({ _id: tenantId });
      return document === null || isErased(document) ? null : settingsOf(document);
    },
    setShare: (tenantId, { weight, inFlightMax }) =>
      write(tenantId, async (session) => {
        const share = { weight, inFlightMax };
        const { matchedCount } = await tenants().updateOne(
          { _id: tenantId, ...unlessErased },
          { $set: { share } },
          { session },
        );
        return matchedCount === 1;
      }),
    setRetention: (tenantId, keptMs) =>
      write(tenantId, async (session) => {
        const change = keptMs === null ? { $unset: { keptMs: true } as const } : { $set: { keptMs } };
        const { matchedCount } = await tenants().updateOne({ _id: tenantId, ...unlessErased }, change, { session });
        return matchedCount === 1;
      }),
    async retentions() {
      const found = tenants().find({ keptMs: { $gt: 0 } }, { projection: { keptMs: 1 } });
      const own = new Map<TenantId, number>();
      for await (const { _id, keptMs } of found) if (keptMs !== undefined) own.set(_id, keptMs);
      return own;
    },
    async replaceKey(key, oldExpiresAt, formerMax) {
      const { tenantId: _id } = key;
      const isReplaced = await write(_id, async (session) => {
        const known = await tenants().findOne({ _id }, { session, projection: { keys: 1 } });
        const kept = keptKeys(known?.keys ?? [], { from: key.createdAt, until: oldExpiresAt });
        const former = kept.filter(({ named, expiresAt }) => named === undefined && (expiresAt ?? 0) > key.createdAt);
        if (former.length > formerMax) return false;
        await tenants().updateOne({ _id }, { $set: { keys: [...kept, keyDocumentOf(key)] } }, { session });
        return true;
      });
      return isReplaced ? 'replaced' : 'full';
    },
    async saveProvider(provider) {
      const { tenantId: _id, channel, role } = provider;
      const field = providerFields[role];
      await write(_id, async (session) => {
        const known = await tenants().findOne({ _id }, { session, projection: { [field]: 1 } });
        const others = known?.[field]?.filter((other) => other.channel !== channel) ?? [];
        const saved = [...others, providerDocumentOf(provider)];
        await tenants().updateOne({ _id }, { $set: { [field]: saved } }, { session });
        return true;
      });
    },
    deleteProvider: (tenantId, channel, role) =>
      write(tenantId, async (session) => {
        const taken = { $pull: { [providerFields[role]]: { channel } } };
        const { modifiedCount } = await tenants().updateOne({ _id: tenantId }, taken, { session });
        return modifiedCount === 1;
      }),
    // WEBHOOK alone has previous keys, and no fallback.
    async forgetPreviousKeys(now) {
      const over = { previousUntil: { $lte: now } };
      const deleted = { provider: { $eq: deletedProvider }, ...over };
      await tenants().updateMany({ providers: { $elemMatch: deleted } }, { $pull: { providers: deleted } });
      await tenants().updateMany(
        { 'providers.previousUntil': over.previousUntil },
        { $set: { 'providers.$[over].sealedPreviousApiKey': null, 'providers.$[over].previousUntil': null } },
        { arrayFilters: [{ 'over.previousUntil': over.previousUntil }] },
      );
      const earlier = { until: { $lte: now } };
      await tenants().updateMany(
        { 'providers.earlierKeys.until': earlier.until },
        { $pull: { 'providers.$[].earlierKeys': earlier } },
      );
    },
  };
}

const providerFields = { primary: 'providers', fallback: 'fallbacks' } as const;

/**
 * Main keys all end by then, or go at once; those that had ended when the new one began are forgotten: an unknown key and an ended one are refused alike.
 */
function keptKeys(
  keys: readonly KeyDocument[],
  { from, until }: { readonly from: number; readonly until: number | null },
): readonly KeyDocument[] {
  if (until === null) return keys.filter(({ named }) => named !== undefined);
  const endOf = ({ expiresAt }: KeyDocument) => expiresAt ?? Number.POSITIVE_INFINITY;
  return keys
    .filter((key) => endOf(key) >= from)
    .map((key) => (key.named === undefined ? { ...key, expiresAt: Math.min(endOf(key), until) } : key));
}

function documentOf(tenant: StoredTenant, key: StoredApiKey): TenantDocument {
  const { id, ...rest } = tenant;
  return { _id: id, ...rest, keys: [keyDocumentOf(key)], providers: [], revision: 0 };
}

function keyDocumentOf({ hash, sealedKey, createdAt, expiresAt }: StoredApiKey): KeyDocument {
  return { hash, sealedKey, createdAt, expiresAt };
}

function providerDocumentOf(saved: StoredProvider): ProviderDocument {
  const { channel, provider, sealedApiKey, sealedPreviousApiKey, previousUntil, enabled, createdAt, updatedAt } = saved;
  const { sealedCallbackSecret, earlierKeys = [] } = saved;
  const config = JSON.stringify(saved.config);
  return {
    channel,
    provider,
    sealedApiKey,
    sealedPreviousApiKey,
    previousUntil,
    ...(earlierKeys.length === 0 ? {} : { earlierKeys }),
    ...(sealedCallbackSecret === undefined ? {} : { sealedCallbackSecret }),
    config,
    enabled,
    createdAt,
    updatedAt,
  };
}

function tenantOf(document: TenantDocument): StoredTenant {
  const { _id: id, subject, name, email, createdAt, rateLimit, sealedWebhookSecret } = document;
  return { id, subject, name, email, createdAt, rateLimit, sealedWebhookSecret };
}

function settingsOf(document: TenantDocument): TenantSettings {
  const { _id: tenantId, keys, share = ordinaryShare } = document;
  return {
    tenant: tenantOf(document),
    share,
    keys: keys.filter(({ named }) => named === undefined).map((key) => ({ tenantId, ...key })),
    namedKeys: keys.flatMap((key) => namedKeyOf(tenantId, key)).sort(byAge),
    providers: providerRoles.flatMap((role) =>
      (document[providerFields[role]] ?? []).map((found) => providerOf(tenantId, role, found)),
    ),
  };
}

function providerOf(tenantId: TenantId, role: ProviderRole, found: ProviderDocument): StoredProvider {
  const { earlierKeys = [], ...rest } = found;
  const config = JSON.parse(found.config) as Record<string, unknown>;
  return { tenantId, role, ...rest, ...(earlierKeys.length === 0 ? {} : { earlierKeys }), config };
}

function byAge(a: StoredNamedKey, b: StoredNamedKey): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1);
}
