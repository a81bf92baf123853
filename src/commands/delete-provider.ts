// Removes a tenant's provider of one channel.

import { notFound } from '../domain/errors.ts';
import type { Channel, ProviderRole } from '../domain/events.ts';
import { deletedProvider, sealedFor, webhookSecretOverlapMs } from '../domain/tenant.ts';
import { type SecretBox, SecretBoxError } from '../ports/secret-box.ts';
import type { SettingsStore, StoredProvider } from '../ports/settings-store.ts';
import type { AuditDependencies, Author } from './record-change.ts';
import { recordChange } from './record-change.ts';

export interface DeleteProviderDependencies extends AuditDependencies {
  readonly settings: Pick<SettingsStore, 'settings' | 'saveProvider' | 'deleteProvider'>;
  readonly secretBox: SecretBox;
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
    const signsOn = signingOn(stored, deps);
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
function signingOn(stored: StoredProvider, { secretBox, clock }: DeleteProviderDependencies): StoredProvider | null {
  const { tenantId, channel, role, enabled, createdAt } = stored;
  const now = clock.now();
  const context = sealedFor.provider(tenantId, channel, role);
  const sealed = enabled ? stored.sealedApiKey : stored.sealedPreviousApiKey;
  const previousUntil = enabled ? now + webhookSecretOverlapMs : (stored.previousUntil ?? 0);
  const former = sealed === null || previousUntil <= now ? null : openable(() => secretBox.open(sealed, context));
  if (former === null) return null;
  return {
    tenantId,
    channel,
    role,
    createdAt,
    provider: deletedProvider,
    sealedApiKey: secretBox.seal('', context),
    sealedPreviousApiKey: secretBox.seal(former, context),
    previousUntil,
    config: {},
    enabled: false,
    updatedAt: now,
  };
}

/** null: it can't be opened, so nothing was signed with it lately. */
function openable(open: () => string): string | null {
  try {
    return open();
  } catch (error) {
    if (error instanceof SecretBoxError) return null;
    throw error;
  }
}
