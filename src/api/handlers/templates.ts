// A tenant's templates.

import { z } from 'zod';

import type { Commands } from '../../commands/index.ts';
import type { Channel } from '../../domain/events.ts';
import { notFound } from '../../domain/errors.ts';
import { channels } from '../../domain/events.ts';
import type { TemplateId } from '../../domain/ids.ts';
import { lackingNames } from '../../domain/template.ts';
import type { Template } from '../../domain/tenant.ts';
import type { FieldValue } from '../../ports/read-model-store.ts';
import type { SettingsStore, TemplatePlace } from '../../ports/settings-store.ts';
import type { ThreadTurns } from '../../ports/thread-turns.ts';
import type { TemplateRenderer } from '../../ports/template-renderer.ts';
import { pageBytesMax } from '../../projections/page-bytes.ts';
import type { Cursors } from '../cursor.ts';
import { endpoint } from '../endpoint.ts';
import { checkData, dataObject } from '../notification-request.ts';
import { arrayText, pageText } from '../page.ts';
import { isoTime } from '../record.ts';
import { ok } from '../respond.ts';
import { pageLimit } from './schemas.ts';

interface Dependencies {
  readonly commands: Pick<Commands, 'createTemplate' | 'updateTemplate' | 'deleteTemplate'>;
  readonly settings: Pick<SettingsStore, 'templatePage' | 'template'>;
  readonly cursors: Cursors;
  readonly turns: ThreadTurns;
  readonly renderer: Pick<TemplateRenderer, 'preview'>;
}

const templateBody = z
  .strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,100}$/, 'must have 1 to 100 letters, digits, dots, underscores or hyphens'),
    channel: z.enum(channels),
    subject: z.string().nullable().describe('EMAIL needs one.').optional(),
    body: z.string().min(1),
    strict: z
      .boolean()
      .describe(
        'A notification whose `data` lack names that it asks for is refused. False unless it is said; a change that doesn’t say it leaves it.',
      )
      .optional(),
  })
  .refine(({ channel, subject }) => channel !== 'EMAIL' || hasText(subject), {
    path: ['subject'],
    error: 'is required for EMAIL',
  });

/** Without a limit all that go into a page. */
const limitMax = 1000;

const listQuery = z.strictObject({
  limit: pageLimit(limitMax, limitMax),
  cursor: z.string().describe('Of the `Link` of the page before.').optional(),
});

const previewBody = z.strictObject({
  data: dataObject.default({}),
  strict: z.boolean().describe('Missing names are refused, as they are when it is sent so.').optional(),
});

export function createTemplateHandlers({ commands, settings, cursors, turns, renderer }: Dependencies) {
  const list = endpoint('bearerOrKey', {
    query: listQuery,
    answerBytesMax: pageBytesMax,
    async handle({ tenant }, { query: { limit, cursor } }) {
      const scope = { tenantId: tenant.id, list: 'templates' };
      const after = cursor === undefined ? {} : { after: placeOf(cursors.decode(cursor, scope)) };
      const page = await settings.templatePage(tenant.id, { limit, bytesMax: pageBytesMax, ...after });
      const text = await pageText(turns, page.templates, toTemplate);
      const last = text.cutAfter ?? (page.isCut ? (page.templates.at(-1) ?? null) : null);
      const next = last === null ? null : cursors.encode([last.createdAt, last.id], scope);
      const headers = next === null ? {} : { link: `</api/v1/templates?limit=${limit}&cursor=${next}>; rel="next"` };
      return { status: 200, json: arrayText(text.texts), headers };
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
    answerBytesMax: previewBytesMax,
    async handle({ tenant }, { params, body }) {
      checkData(body.data);
      const template = await settings.template(tenant.id, idOf(params));
      if (template === null) throw notFound('template');
      const options = { isEmail: template.channel === 'EMAIL', owner: tenant.id };
      const { subject, body: text, missing } = await renderer.preview(template, body.data, options);
      if (body.strict === true && missing.length > 0) throw lackingNames(missing);
      return ok({ subject, body: text, missing });
    },
  });

  return { list, create, update, remove, preview };
}

/** A rendered text has 200 KiB at most. */
const previewBytesMax = 256 * 1024;

function placeOf([createdAt, id]: readonly FieldValue[]): NonNullable<TemplatePlace['after']> {
  return { createdAt: Number(createdAt), id: String(id) as TemplateId };
}

function idOf({ id = '' }: Readonly<Record<string, string>>): TemplateId {
  return id as TemplateId;
}

interface TemplateBody {
  readonly name: string;
  readonly channel: Channel;
  readonly subject?: string | null | undefined;
  readonly body: string;
  readonly strict?: boolean | undefined;
}

/** An empty subject is none. */
function sourceOf({ name, channel, subject, body, strict }: TemplateBody) {
  return { name, channel, subject: hasText(subject) ? subject : null, body, strict: strict ?? null };
}

function hasText(subject: string | null | undefined): subject is string {
  return subject !== undefined && subject !== null && subject !== '';
}

function toTemplate({ id, name, channel, subject, body, strict, version, createdAt, updatedAt }: Template) {
  const times = { createdAt: isoTime(createdAt), updatedAt: isoTime(updatedAt) };
  return { id, name, channel, subject, body, strict, version, ...times };
}
