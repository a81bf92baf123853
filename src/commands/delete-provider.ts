// Removes a tenant's provider of one channel.

import { notFound } from '../domain/errors.ts';
import type { Channel, ProviderRole } from '../domain/events.ts';
import { deletedProvider, sealedFor } from '../domain/tenant.ts';
import type { SecretBox } from '../ports/secret-box.ts';
import type { SettingsStore, StoredProvider } from '../ports/settings-store.ts';
import type { TenantDirectory } from '../ports/tenant-directory.ts';
import { formerKeysAfter } from './former-keys.ts';
import type { AuditDependencies, Author } from './record-change.ts';
import { recordChange } from './record-change.ts';

export interface DeleteProviderDependencies extends AuditDependencies {
  readonly settings: Pick<SettingsStore, 'settings' | 'saveProvider' | 'deleteProvider'>;
  readonly secretBox: SecretBox;
  readonly directory: Pick<TenantDirectory, 'forget' | 'webhookSecret'>;
}

export interface DeleteProviderInput extends Author {
  readonly channel: Channel;
  readonly role: ProviderRole;
}

/** @throws DomainError NOT_FOUND */
export function deleteProvider(deps: DeleteProviderDependencies) {
  const remove = async ({ tenantId, channel, role }: DeleteProviderInput): Promise<boolean> => {
    if (channel !== 'WEBHOOK') return deps.settings.deleteProvider(tenantId, channel, role);
    const known = (await deps.settings.settings(tenantId))?.providers ?? [];
    const stored = known.find((one) => one.channel === channel && one.role === role);
    if (stored === undefined || stored.provider === deletedProvider) return false;
    const signsOn = await signingOn(stored, deps);
    if (signsOn === null) return deps.settings.deleteProvider(tenantId, channel, role);
    await deps.settings.saveProvider(signsOn);
    return true;
  };

  return async (input: DeleteProviderInput): Promise<void> => {
    const { tenantId, actor, channel, role } = input;
    const isPrimary = role === 'primary';
    if (!(await remove(input)))
      throw notFound(`provider: ${isPrimary ? 'none' : `no ${role}`} is saved for ${channel}`);
    const subjectId = isPrimary ? channel : `${channel}:${role}`;
    await recordChange(deps, { tenantId, subject: 'provider', subjectId, action: 'deleted', actor });
  };
}

/** What stays of it, so that receivers get signatures by its secret and by the tenant's own for 24 h; the secret is in it once. null: nothing need stay. */
async function signingOn(stored: StoredProvider, deps: DeleteProviderDependencies): Promise<StoredProvider | null> {
  const { tenantId, channel, role, createdAt } = stored;
  const now = deps.clock.now();
  const former = await formerKeysAfter(deps, { tenantId, before: stored, key: null, now });
  if (former.sealedPreviousApiKey === null) return null;
  return {
    tenantId,
    channel,
    role,
    createdAt,
    provider: deletedProvider,
    sealedApiKey: deps.secretBox.seal('', sealedFor.provider(tenantId, channel, role)),
    ...former,
    config: {},
    enabled: false,
    updatedAt: now,
  };
}
