// Removes a template; what was accepted with it stays as it was rendered.

import { notFound } from '../domain/errors.ts';
import type { TemplateId } from '../domain/ids.ts';
import type { TemplateDependencies } from './create-template.ts';
import type { Author } from './record-change.ts';
import { recordChange } from './record-change.ts';

/** @throws DomainError NOT_FOUND */
export function deleteTemplate(deps: Omit<TemplateDependencies, 'renderer'>) {
  return async ({ tenantId, actor, id }: Author & { readonly id: TemplateId }): Promise<void> => {
    if (!(await deps.settings.deleteTemplate(tenantId, id))) throw notFound('template');
    await recordChange(deps, { tenantId, subject: 'template', subjectId: id, action: 'deleted', actor });
  };
}
