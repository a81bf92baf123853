// A tenant's templates.

import { z } from 'zod';

import type { Commands } from '../../commands/index.ts';
import type { Channel } from '../../domain/events.ts';
import { DomainError, notFound } from '../../domain/errors.ts';
import { channels } from '../../domain/events.ts';
import type { TemplateId, TenantId } from '../../domain/ids.ts';
import { lackingNames, sizeProblems, templateName } from '../../domain/template.ts';
import type { Template, TemplateVersion } from '../../domain/tenant.ts';
import { versionOf } from '../../domain/tenant.ts';
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
  readonly settings: Pick<SettingsStore, 'templatePage' | 'template' | 'templateHistory'>;
  readonly cursors: Cursors;
  readonly turns: ThreadTurns;
  readonly renderer: Pick<TemplateRenderer, 'preview'>;
}

const templateBody = z
  .strictObject({
    name: z.string().regex(templateName, 'must have 1 to 100 letters, digits, dots, underscores or hyphens'),
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

const rendering = {
  data: dataObject.default({}),
  strict: z.boolean().describe('Missing names are refused, as they are when it is sent so.').optional(),
};

const previewBody = z.strictObject(rendering);

const previewTextBody = z.strictObject({
  channel: z.enum(channels).describe('EMAIL: a body with HTML tags is HTML.'),
  subject: z.string().nullable().optional(),
  body: z.string(),
  ...rendering,
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

  /** As it would be sent, with the names that the data lack. Nothing is kept. @throws DomainError BAD_REQUEST */
  async function rendered(
    owner: TenantId,
    { channel, subject, body }: Pick<Template, 'channel' | 'subject' | 'body'>,
    { data, strict }: z.output<typeof previewBody>,
  ) {
    const { missing, ...shown } = await renderer.preview({ subject, body }, data, {
      isEmail: channel === 'EMAIL',
      owner,
    });
    if (strict === true && missing.length > 0) throw lackingNames(missing);
    return ok({ subject: shown.subject, body: shown.body, missing });
  }

  const preview = endpoint('bearer', {
    body: previewBody,
    bodyIsOptional: true,
    answerBytesMax: previewBytesMax,
    async handle({ tenant }, { params, body }) {
      checkData(body.data);
      const template = await settings.template(tenant.id, idOf(params));
      if (template === null) throw notFound('template');
      return rendered(tenant.id, template, body);
    },
  });

  /** Of a text that isn't saved. */
  const previewText = endpoint('bearer', {
    body: previewTextBody,
    answerBytesMax: previewBytesMax,
    async handle({ tenant }, { body: { channel, subject, body, ...how } }) {
      checkData(how.data);
      const text = { channel, subject: hasText(subject) ? subject : null, body };
      const details = sizeProblems(text);
      if (details[0] !== undefined)
        throw new DomainError('BAD_REQUEST', `${details[0].path}: ${details[0].message}`, { details });
      return rendered(tenant.id, text, how);
    },
  });

  const versionsOf = async (tenantId: TenantId, params: Readonly<Record<string, string>>) => {
    const history = await settings.templateHistory(tenantId, idOf(params));
    if (history === null) throw notFound('template');
    return { template: history.template, versions: [versionOf(history.template), ...history.earlier] };
  };

  const versions = endpoint('bearerOrKey', {
    answerBytesMax: versionsBytesMax,
    async handle({ tenant }, { params }) {
      const found = await versionsOf(tenant.id, params);
      return ok({ data: found.versions.map((version) => toVersion(version)), nextCursor: null });
    },
  });

  const version = endpoint('bearerOrKey', {
    answerBytesMax: pageBytesMax,
    async handle({ tenant }, { params }) {
      const { template, versions: kept } = await versionsOf(tenant.id, params);
      const found = kept.find((each) => String(each.version) === params['version']);
      if (found === undefined) throw notFound('version');
      return ok({ ...toVersion(found), channel: template.channel, body: found.body });
    },
  });

  return { list, create, update, remove, preview, previewText, versions, version };
}

/** A rendered text has 200 KiB at most. */
const previewBytesMax = 256 * 1024;

/** 21 of them, with subjects of 998 characters. */
const versionsBytesMax = 128 * 1024;

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

function toVersion({ version, name, subject, strict, savedAt }: Omit<TemplateVersion, 'body'>) {
  return { version, name, subject, strict, savedAt: isoTime(savedAt) };
}

function toTemplate({ id, name, channel, subject, body, strict, version, createdAt, updatedAt }: Template) {
  const times = { createdAt: isoTime(createdAt), updatedAt: isoTime(updatedAt) };
  return { id, name, channel, subject, body, strict, version, ...times };
}
