// A tenant's templates.

import { z } from 'zod';

import type { Commands } from '../../commands/index.ts';
import type { Channel } from '../../domain/events.ts';
import { notFound } from '../../domain/errors.ts';
import { channels } from '../../domain/events.ts';
import type { TemplateId } from '../../domain/ids.ts';
import type { Template } from '../../domain/tenant.ts';
import type { SettingsStore } from '../../ports/settings-store.ts';
import type { TemplateRenderer } from '../../ports/template-renderer.ts';
import { endpoint } from '../endpoint.ts';
import { checkData, dataObject } from '../notification-request.ts';
import { isoTime } from '../record.ts';
import { ok } from '../respond.ts';

interface Dependencies {
  readonly commands: Pick<Commands, 'createTemplate' | 'updateTemplate' | 'deleteTemplate'>;
  readonly settings: Pick<SettingsStore, 'templates' | 'template'>;
  readonly renderer: Pick<TemplateRenderer, 'preview'>;
}

const templateBody = z
  .strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,100}$/, 'must have 1 to 100 letters, digits, dots, underscores or hyphens'),
    channel: z.enum(channels),
    subject: z.string().nullable().optional(),
    body: z.string().min(1),
  })
  .refine(({ channel, subject }) => channel !== 'EMAIL' || hasText(subject), {
    path: ['subject'],
    error: 'is required for EMAIL',
  })
  .meta({
    anyOf: [
      { properties: { channel: { not: { const: 'EMAIL' } } } },
      { required: ['subject'], properties: { subject: { type: 'string', minLength: 1 } } },
    ],
  });

const previewBody = z.strictObject({ data: dataObject.default({}) });

export function createTemplateHandlers({ commands, settings, renderer }: Dependencies) {
  const list = endpoint('bearerOrKey', {
    async handle({ tenant }) {
      return ok((await settings.templates(tenant.id)).map(toTemplate));
    },
  });

  const create = endpoint('bearer', {
    body: templateBody,
    async handle({ tenant, person }, { body }) {
      const template = await commands.createTemplate({ tenantId: tenant.id, actor: person.actor, ...sourceOf(body) });
      return { status: 201, body: toTemplate(template) };
    },
  });

  const update = endpoint('bearer', {
    body: templateBody,
    async handle({ tenant, person }, { params, body }) {
      const id = idOf(params);
      return ok(
        toTemplate(await commands.updateTemplate({ id, tenantId: tenant.id, actor: person.actor, ...sourceOf(body) })),
      );
    },
  });

  const remove = endpoint('bearer', {
    async handle({ tenant, person }, { params }) {
      await commands.deleteTemplate({ id: idOf(params), tenantId: tenant.id, actor: person.actor });
      return ok({ message: 'The template is deleted.' });
    },
  });

  /** As it would be sent now, with the names that the data lack. Nothing is kept. */
  const preview = endpoint('bearer', {
    body: previewBody,
    bodyIsOptional: true,
    async handle({ tenant }, { params, body }) {
      checkData(body.data);
      const template = await settings.template(tenant.id, idOf(params));
      if (template === null) throw notFound('template');
      const options = { isEmail: template.channel === 'EMAIL', owner: tenant.id };
      const { subject, body: text, missing } = await renderer.preview(template, body.data, options);
      return ok({ subject, body: text, missing });
    },
  });

  return { list, create, update, remove, preview };
}

function idOf({ id = '' }: Readonly<Record<string, string>>): TemplateId {
  return id as TemplateId;
}

interface TemplateBody {
  readonly name: string;
  readonly channel: Channel;
  readonly subject?: string | null | undefined;
  readonly body: string;
}

/** An empty subject is none. */
function sourceOf({ name, channel, subject, body }: TemplateBody) {
  return { name, channel, subject: hasText(subject) ? subject : null, body };
}

function hasText(subject: string | null | undefined): subject is string {
  return subject !== undefined && subject !== null && subject !== '';
}

function toTemplate({ id, name, channel, subject, body, version, createdAt, updatedAt }: Template) {
  return { id, name, channel, subject, body, version, createdAt: isoTime(createdAt), updatedAt: isoTime(updatedAt) };
}
