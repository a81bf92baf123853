// Removes a tenant's provider of one channel.

import { notFound } from '../domain/errors.ts';
import type { Channel, ProviderRole } from '../domain/events.ts';
import type { SettingsStore } from '../ports/settings-store.ts';
import type { AuditDependencies, Author } from './record-change.ts';
import { recordChange } from './record-change.ts';

export interface DeleteProviderDependencies extends AuditDependencies {
  readonly settings: Pick<SettingsStore, 'deleteProvider'>;
}

export interface DeleteProviderInput extends Author {
  readonly channel: Channel;
  readonly role: ProviderRole;
}

/** @throws DomainError NOT_FOUND */
export function deleteProvider(deps: DeleteProviderDependencies) {
  return async ({ tenantId, actor, channel, role }: DeleteProviderInput): Promise<void> => {
    const isPrimary = role === 'primary';
    if (!(await deps.settings.deleteProvider(tenantId, channel, role)))
      throw notFound(`provider: ${isPrimary ? 'none' : `no ${role}`} is saved for ${channel}`);
    const subjectId = isPrimary ? channel : `${channel}:${role}`;
    await recordChange(deps, { tenantId, subject: 'provider', subjectId, action: 'deleted', actor });
  };
}
