// A tenant's templates.

import { z } from 'zod';

import type { Commands } from '../../commands/index.ts';
import type { Channel } from '../../domain/events.ts';
import { channels } from '../../domain/events.ts';
import type { TemplateId } from '../../domain/ids.ts';
import type { Template } from '../../domain/tenant.ts';
import type { SettingsStore } from '../../ports/settings-store.ts';
import { endpoint } from '../endpoint.ts';
import { isoTime } from '../record.ts';
import { ok } from '../respond.ts';

interface Dependencies {
  readonly commands: Pick<Commands, 'createTemplate' | 'updateTemplate' | 'deleteTemplate'>;
  readonly settings: Pick<SettingsStore, 'templates'>;
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
  });

export function createTemplateHandlers({ commands, settings }: Dependencies) {
  const list = endpoint('bearer', {
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

  return { list, create, update, remove };
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
