// Makes a new version of a template; it may be renamed, its channel stays.

import { assertNever } from '../domain/assert-never.ts';
import { badField, DomainError, notFound } from '../domain/errors.ts';
import type { TemplateId } from '../domain/ids.ts';
import type { Template } from '../domain/tenant.ts';
import type { TemplateDependencies, TemplateInput } from './create-template.ts';
import { checkTemplate, nameTaken } from './create-template.ts';
import { recordChange } from './record-change.ts';

/** Others that change the same template at the same time make versions in between; so often it is tried. */
const triesMax = 5;

/** @throws DomainError BAD_REQUEST, NOT_FOUND, CONFLICT */
export function updateTemplate(deps: TemplateDependencies) {
  return async ({
    id,
    tenantId,
    actor,
    name,
    channel,
    subject,
    body,
    strict,
  }: TemplateInput & { readonly id: TemplateId }): Promise<Template> => {
    await checkTemplate(deps, { tenantId, subject, body });
    for (let tried = 0; tried < triesMax; tried++) {
      const before = await deps.settings.template(tenantId, id);
      if (before === null) throw notFound('template');
      if (before.channel !== channel)
        throw badField('channel', `is ${before.channel} and stays so; make another template for ${channel}`);
      const template: Template = {
        ...before,
        name,
        subject,
        body,
        strict: strict ?? before.strict,
        version: before.version + 1,
        updatedAt: deps.clock.now(),
      };
      const result = await deps.settings.updateTemplate(template);
      switch (result) {
        case 'updated':
          await recordChange(deps, { tenantId, subject: 'template', subjectId: id, action: 'updated', actor });
          return template;
        case 'taken':
          throw nameTaken(name);
        case 'gone':
          throw notFound('template');
        case 'stale':
          break;
        default:
          assertNever(result);
      }
    }
    throw new DomainError('CONFLICT', 'Others change this template at the same time. Try again.');
  };
}
