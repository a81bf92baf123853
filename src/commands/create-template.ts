// Makes a template.

import { DomainError } from '../domain/errors.ts';
import type { Channel } from '../domain/events.ts';
import { templateIdOf } from '../domain/ids.ts';
import { type Template, templatesMax } from '../domain/tenant.ts';
import { sizeProblems } from '../domain/template.ts';
import type { SettingsStore } from '../ports/settings-store.ts';
import type { TemplateRenderer } from '../ports/template-renderer.ts';
import type { AuditDependencies, Author } from './record-change.ts';
import { recordChange } from './record-change.ts';

export interface TemplateDependencies extends AuditDependencies {
  readonly settings: Pick<SettingsStore, 'createTemplate' | 'updateTemplate' | 'deleteTemplate' | 'template'>;
  readonly renderer: Pick<TemplateRenderer, 'check'>;
}

export interface TemplateInput extends Author {
  readonly name: string;
  readonly channel: Channel;
  /** Set for EMAIL. */
  readonly subject: string | null;
  readonly body: string;
  /** null: as it was; a new template isn't. */
  readonly strict: boolean | null;
}

/** @throws DomainError BAD_REQUEST with line and column of what doesn't parse, CONFLICT when the name is taken or the tenant has as many as there can be */
export function createTemplate(deps: TemplateDependencies) {
  return async ({ tenantId, actor, name, channel, subject, body, strict }: TemplateInput): Promise<Template> => {
    await checkTemplate(deps, { tenantId, subject, body });
    const now = deps.clock.now();
    const id = templateIdOf(deps.clock.uuidV7());
    const template: Template = {
      id,
      tenantId,
      name,
      channel,
      subject,
      body,
      strict: strict ?? false,
      version: 1,
      createdAt: now,
      updatedAt: now,
    };
    const outcome = await deps.settings.createTemplate(template, templatesMax);
    if (outcome === 'taken') throw nameTaken(name);
    if (outcome === 'full')
      throw new DomainError('CONFLICT', `A tenant has at most ${templatesMax} templates: delete one first.`);
    await recordChange(deps, { tenantId, subject: 'template', subjectId: id, action: 'created', actor });
    return template;
  };
}

/** @throws DomainError BAD_REQUEST */
export async function checkTemplate(
  { renderer }: Pick<TemplateDependencies, 'renderer'>,
  { tenantId, ...source }: Pick<Template, 'tenantId' | 'subject' | 'body'>,
): Promise<void> {
  const details = [...sizeProblems(source), ...(await renderer.check(source, { owner: tenantId }))];
  const [first] = details;
  if (first !== undefined) throw new DomainError('BAD_REQUEST', `${first.path}: ${first.message}`, { details });
}

export function nameTaken(name: string): DomainError {
  return new DomainError('CONFLICT', `There is a template named ${name} already.`);
}
