// Removes a tenant's provider of one channel.

import { notFound } from '../domain/errors.ts';
import type { Channel } from '../domain/events.ts';
import type { SettingsStore } from '../ports/settings-store.ts';
import type { AuditDependencies, Author } from './record-change.ts';
import { recordChange } from './record-change.ts';

export interface DeleteProviderDependencies extends AuditDependencies {
  readonly settings: Pick<SettingsStore, 'deleteProvider'>;
}

/** @throws DomainError NOT_FOUND */
export function deleteProvider(deps: DeleteProviderDependencies) {
  return async ({ tenantId, actor, channel }: Author & { readonly channel: Channel }): Promise<void> => {
    if (!(await deps.settings.deleteProvider(tenantId, channel)))
      throw notFound(`provider: none is saved for ${channel}`);
    await recordChange(deps, { tenantId, subject: 'provider', subjectId: channel, action: 'deleted', actor });
  };
}
