// Ends a further API key of a tenant.

import { notFound } from '../domain/errors.ts';
import type { ApiKeyId } from '../domain/ids.ts';
import type { SettingsStore } from '../ports/settings-store.ts';
import type { AuditDependencies, Author } from './record-change.ts';
import { recordChange } from './record-change.ts';

export interface DeleteKeyDependencies extends AuditDependencies {
  readonly settings: Pick<SettingsStore, 'deleteNamedKey'>;
}

/** @throws DomainError NOT_FOUND */
export function deleteKey(deps: DeleteKeyDependencies) {
  return async ({ tenantId, actor, id }: Author & { readonly id: string }): Promise<void> => {
    if (!(await deps.settings.deleteNamedKey(tenantId, id as ApiKeyId))) throw notFound('key');
    await recordChange(deps, { tenantId, subject: 'key', subjectId: id, action: 'deleted', actor });
  };
}
