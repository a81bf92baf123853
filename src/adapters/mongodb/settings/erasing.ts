// A tenant that is erased in MongoDB: its documents go, but for one that says its id and the revision from which on others forget it.

import type { TenantId } from '../../../domain/ids.ts';
import type { SettingsStore } from '../../../ports/settings-store.ts';
import type { Collections, TenantDocument } from './collections.ts';
import type { WriteTenant } from './writing.ts';

/** Every tenant has a sealed secret. */
export function isErased({ sealedWebhookSecret }: Pick<TenantDocument, 'sealedWebhookSecret'>): boolean {
  return sealedWebhookSecret === '';
}

/** Of tenants that there are. */
export const unlessErased = { sealedWebhookSecret: { $ne: '' } } as const;

export function erasingIn(
  { tenants, templates, breakers }: Collections,
  erase: WriteTenant,
): Pick<SettingsStore, 'eraseTenant'> {
  return {
    eraseTenant: (tenantId) =>
      erase(tenantId, async (session) => {
        const known = await tenants().findOne({ _id: tenantId }, { session });
        if (known === null) return false;
        const blank = blankOf(tenantId);
        const { deletedCount: templatesGone } = await templates().deleteMany({ tenantId }, { session });
        const { deletedCount: breakersGone } = await breakers().deleteMany({ tenantId }, { session });
        const { revision, ...before } = known;
        if (JSON.stringify(sorted(before)) === JSON.stringify(sorted(blank))) return templatesGone + breakersGone > 0;
        await tenants().replaceOne({ _id: tenantId }, { ...blank, revision }, { session });
        return true;
      }),
  };
}

/** A key that nothing hashes to: lists without one are one and the same to the index that keeps keys apart. */
function blankOf(id: TenantId): Omit<TenantDocument, 'revision'> {
  return {
    _id: id,
    subject: `erased:${id}`,
    name: '',
    email: null,
    createdAt: 0,
    rateLimit: null,
    sealedWebhookSecret: '',
    keys: [{ hash: `erased:${id}`, sealedKey: '', createdAt: 0, expiresAt: 0 }],
    providers: [],
  };
}

function sorted(fields: object): [string, unknown][] {
  return Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));
}
