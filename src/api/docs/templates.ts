// A tenant's templates, documented.

import { z } from 'zod';

import { templatesMax } from '../../domain/tenant.ts';
import * as examples from './examples.ts';
import type { OperationDocs } from './operation.ts';
import { answers } from './operation.ts';
import { message, template, text } from './shapes.ts';

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

const preview: OperationDocs = {
  id: 'previewTemplate',
  area,
  summary: 'Render a template with data',
  params,
  requests: { 'A name': { data: { name: 'Ada' } } },
  answer: answers(
    z
      .object({
        subject: text.nullable(),
        body: text,
        missing: z
          .array(text)
          .describe(
            'Names that `data` does not have, in the order of their first use; what is only tested (`if`, `unless`, `case`) or has a `default` is none. `strict` refuses these.',
          ),
      })
      .meta({ id: 'TemplatePreview' }),
    { subject: 'Hello Ada', body: '<p>Welcome, Ada!</p>', missing: [] },
    { description: 'As it would be sent.' },
  ),
  refusals: { NOT_FOUND: noSuch },
};

export const templateDocs = { list, create, update, remove, preview };
