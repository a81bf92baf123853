// What an operation answers when all is well, and which headers answers carry.

import { assertNever } from '../../domain/assert-never.ts';
import { idempotentReplayedHeader } from '../idempotency-key.ts';
import { eventPositionHeader } from '../position.ts';
import { streamPositionHeader } from '../stream-position.ts';
import * as examples from './examples.ts';
import type { JsonSchemas } from './json-schemas.ts';
import type { DescribedRoute, OperationDocs, StreamMessageDocs } from './operation.ts';
import { isLimited } from './operation.ts';

const text = { type: 'string' };

/** Among the document's components. */
export const responseHeaders = {
  'x-request-id': {
    description: 'Names the request in the service’s log.',
    required: true,
    schema: text,
    example: examples.requestId,
  },
  [eventPositionHeader]: {
    description: 'Where the change stands: for `x-after-position`.',
    schema: text,
    example: examples.position,
  },
  [streamPositionHeader]: {
    description:
      'Which changes are in the answer already: an id of the dashboard’s stream, which opened with it as `Last-Event-ID` tells just those that aren’t. A message is in the answer when the number of its id that is greater than in the id before is at most the same number here (`.` and `~` stand between them, base 36). Absent where it can’t be told, while very much changes.',
    schema: text,
    example: '3.0.1k.0.0',
  },
  location: {
    description: 'Where it is shown what became of it.',
    schema: text,
    example: `/api/v1/notify/${examples.notificationId}`,
  },
  [idempotentReplayedHeader]: {
    description: 'The request was accepted before, under the same Idempotency-Key: this is its answer once more.',
    schema: { type: 'string', const: 'true' },
    example: 'true',
  },
  ratelimit: {
    description: 'How many requests are left, and for how many seconds (IETF draft ratelimit-headers 10).',
    schema: text,
    example: '"default";r=99;t=10',
  },
  'ratelimit-policy': {
    description: 'How many requests there are in how many seconds.',
    schema: text,
    example: '"default";q=100;w=10',
  },
  'retry-after': {
    description: 'Whole seconds.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
    example: 7,
  },
  'www-authenticate': {
    description: '`Bearer` or `ApiKey`.',
    required: true,
    schema: text,
    example: 'Bearer',
  },
};

export type HeaderName = keyof typeof responseHeaders;

export function headerRefs(names: readonly HeaderName[]) {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** By its status. */
export function answerOf(route: DescribedRoute, schemas: JsonSchemas) {
  const { docs } = route;
  const { answer } = docs;
  switch (answer.kind) {
    case 'json': {
      const names: HeaderName[] = ['x-request-id'];
      if (answer.position !== 'never') names.push(eventPositionHeader);
      if (answer.isJoined === true) names.push(streamPositionHeader);
      if (answer.isPlaced === true) names.push('location');
      if (docs.isKeyed === true) names.push(idempotentReplayedHeader);
      if (isLimited(route)) names.push('ratelimit', 'ratelimit-policy');
      const headers: Record<string, unknown> = headerRefs(names);
      if (answer.position === 'always')
        headers[eventPositionHeader] = { ...responseHeaders[eventPositionHeader], required: true };
      const { status, description, also, lines } = answer;
      const content = {
        'application/json': { schema: schemas.of(answer.schema), example: answer.example },
        ...(lines === undefined ? {} : { [lines.type]: { schema: text, example: lines.example } }),
      };
      return {
        [status]: { description, headers, content, ...linksOf(docs) },
        ...(also === undefined ? {} : { [also.status]: { description: also.description, headers, content } }),
      };
    }
    case 'text': {
      const content = { [answer.type]: { schema: text, example: answer.example } };
      const headers = headerRefs(['x-request-id', 'ratelimit', 'ratelimit-policy']);
      return { 200: { description: answer.description, headers, content } };
    }
    case 'stream': {
      const data = new Map(answer.messages.map((message) => [message, schemas.of(message.data)]));
      const description = `${answer.description} ${answer.messages.map((message) => sentenceOf(message, data)).join(' ')}`;
      const content = {
        'text/event-stream': { schema: text, example: answer.messages.map(messageText).join('') },
      };
      return { 200: { description, headers: headerRefs(['x-request-id', 'ratelimit', 'ratelimit-policy']), content } };
    }
    default:
      return assertNever(answer);
  }
}

function linksOf({ leadsTo }: OperationDocs) {
  if (leadsTo === undefined) return {};
  const links = Object.entries(leadsTo).map(([operationId, params]) => {
    const parameters = Object.entries(params).map(([name, field]) => [name, `$response.body#/${field}`]);
    return [operationId, { operationId, parameters: Object.fromEntries(parameters) as unknown }];
  });
  return { links: Object.fromEntries(links) as unknown };
}

function sentenceOf(
  message: StreamMessageDocs,
  data: ReadonlyMap<StreamMessageDocs, Readonly<Record<string, unknown>>>,
) {
  const name = String(data.get(message)?.['$ref']).split('/').at(-1);
  return message.event === null
    ? `The data of a message: \`${name}\`.`
    : `The data of \`${message.event}\`: \`${name}\`.`;
}

function messageText({ event, id, example }: StreamMessageDocs): string {
  return `${event === null ? '' : `event: ${event}\n`}${id === null ? '' : `id: ${id}\n`}data: ${JSON.stringify(example)}\n\n`;
}
