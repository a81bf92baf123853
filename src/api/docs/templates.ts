// A tenant's templates, documented.

import { z } from 'zod';

import { earlierVersionsBytesMax, earlierVersionsMax, templatesMax } from '../../domain/tenant.ts';
import * as examples from './examples.ts';
import type { OperationDocs } from './operation.ts';
import { answers } from './operation.ts';
import { channel as channelName, message, nextCursor, template, text, timestamp } from './shapes.ts';

const area = 'Templates';

const params = {
  id: { description: 'The template’s id.', example: examples.templateId, schema: { type: 'string' } },
};

const { name, channel, subject, body } = examples.template;
const requests = {
  'An email': { name, channel, subject, body },
  'A text message': { name: 'code', channel: 'SMS', body: 'Your code is {{ code }}', strict: true },
};

const noSuch = 'There is no such template.';
const taken = 'There is a template named welcome already.';

const list: OperationDocs = {
  id: 'listTemplates',
  area,
  summary: 'The tenant’s templates, newest first',
  description:
    'All of them, 1 MiB at most: where there are more, the header `Link` with `rel="next"` says where to go on.',
  answer: answers(z.array(template), [examples.template], { description: 'A page of them.' }),
};

const create: OperationDocs = {
  id: 'createTemplate',
  area,
  summary: 'Create a template',
  description: `The name is unique, and a tenant has at most ${templatesMax} templates: then 409 as well. Text that does not parse is refused with line and column.`,
  requests,
  answer: answers(template, examples.template, { status: 201, description: 'The template, version 1.' }),
  refusals: { CONFLICT: taken },
};

const update: OperationDocs = {
  id: 'updateTemplate',
  area,
  summary: 'Change a template',
  description:
    'Takes the whole of it and makes a new version; the channel stays. What was accepted before keeps the version that it was rendered with.',
  params,
  requests,
  answer: answers(
    template,
    { ...examples.template, version: 2, updatedAt: examples.updatedAt },
    {
      description: 'The new version.',
    },
  ),
  refusals: { NOT_FOUND: noSuch, CONFLICT: taken },
};

const remove: OperationDocs = {
  id: 'deleteTemplate',
  area,
  summary: 'Delete a template',
  description: 'What was accepted with it is sent all the same.',
  params,
  answer: answers(message, { message: 'The template is deleted.' }),
  refusals: { NOT_FOUND: noSuch },
};

const rendered = z
  .object({
    subject: text.nullable(),
    body: text,
    missing: z
      .array(text)
      .describe(
        'Names that `data` does not have, in the order of their first use; what is only tested (`if`, `unless`, `case`) or has a `default` is none. `strict` refuses these.',
      ),
  })
  .meta({ id: 'TemplatePreview' });
const renderedExample = { subject: 'Hello Ada', body: '<p>Welcome, Ada!</p>', missing: [] };

const preview: OperationDocs = {
  id: 'previewTemplate',
  area,
  summary: 'Render a template with data',
  params,
  requests: { 'A name': { data: { name: 'Ada' } } },
  answer: answers(rendered, renderedExample, { description: 'As it would be sent.' }),
  refusals: { NOT_FOUND: noSuch },
};

const previewText: OperationDocs = {
  id: 'previewTemplateText',
  area,
  summary: 'Render a text that is not saved',
  description:
    'As an editor does while somebody types. Text that does not parse is refused with line and column; nothing is kept.',
  requests: { 'An email': { channel, subject, body, data: { name: 'Ada' } } },
  answer: answers(rendered, renderedExample, { description: 'As it would be sent.' }),
};

const version = {
  version: z.int().min(1),
  name: text.describe('Of the template when it was saved.'),
  subject: text.nullable(),
  strict: z.boolean(),
  savedAt: timestamp,
};
const versionExample = { version: 1, name, subject, strict: false, savedAt: examples.createdAt };

const versions: OperationDocs = {
  id: 'listTemplateVersions',
  area,
  summary: 'The versions of a template, newest first',
  description: `The one in use, and of the earlier ones the latest ${earlierVersionsMax} at most, up to ${earlierVersionsBytesMax / 1024} KiB of subjects and bodies. They go with their template.`,
  params,
  answer: answers(
    z.object({
      data: z.array(z.object(version).meta({ id: 'TemplateVersion' })),
      nextCursor: nextCursor.describe('Always null: there is one page.'),
    }),
    { data: [versionExample], nextCursor: null },
    { description: 'Without their bodies.' },
  ),
  refusals: { NOT_FOUND: noSuch },
};

const oneVersion: OperationDocs = {
  id: 'getTemplateVersion',
  area,
  summary: 'A version of a template, whole',
  params: { ...params, version: { description: 'Its number.', example: '1', schema: { type: 'string' } } },
  answer: answers(
    z.object({ ...version, channel: channelName, body: text }).meta({ id: 'WholeTemplateVersion' }),
    { ...versionExample, channel, body },
    { description: 'As it was saved.' },
  ),
  refusals: { NOT_FOUND: 'There is no such version.' },
};

export const templateDocs = { list, create, update, remove, preview, previewText, versions, version: oneVersion };
