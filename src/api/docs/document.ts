// The OpenAPI 3.1 document: made of the routes, of the schemas that validate, and of what each route says of itself.

import type { AuthKind } from '../endpoint.ts';
import { idempotencyKeyHeader, idempotencyKeyPattern } from '../idempotency-key.ts';
import { afterPositionHeader } from '../position.ts';
import type { RouteName, routesOf } from '../routes.ts';
import { answerOf, responseHeaders } from './answers.ts';
import { documentation } from './index.ts';
import { position } from './examples.ts';
import type { JsonSchemas } from './json-schemas.ts';
import { createJsonSchemas } from './json-schemas.ts';
import { notifyRoute } from './notify.ts';
import type { DescribedRoute } from './operation.ts';
import { areas } from './operation.ts';
import { refusalOf } from './refusal-answers.ts';
import { refusalsOf } from './refusals.ts';
import { errorBody } from './shapes.ts';

/** Plain JSON. */
export function openApiDocument(routes: ReturnType<typeof routesOf>) {
  const schemas = createJsonSchemas();
  schemas.of(errorBody);
  const paths: Record<string, Record<string, unknown>> = {};
  const described: readonly DescribedRoute[] = routes.map((route) => ({
    ...route,
    docs: documentation[`${route.method} ${route.path}` as RouteName],
  }));
  for (const route of [notifyRoute, ...described]) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    (paths[path] ??= {})[route.method.toLowerCase()] = operationOf(route, schemas);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Herald',
      version: '1',
      description: introduction,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/api/v1' }, { url: '/v1', description: 'The same by a shorter name.' }],
    tags: Object.entries(areas).map(([name, description]) => ({ name, description })),
    paths,
    components: { schemas: schemas.components, headers: responseHeaders, securitySchemes },
  };
}

const introduction = `A multi-tenant notification service: requests in by email, SMS, webhook or into an in-app inbox, delivered with each tenant’s own provider accounts.

JSON in and out, UTF-8, times in ISO 8601 UTC with milliseconds. Every refusal has one shape, \`Error\`, and its \`code\` says what it is; a field that is not known is refused by its name.
Checks come in this order: unknown address (404), method (405, with \`Allow\`), who calls (401, 403), limit (429), body (415, 413, 400), then what it is about (404, 409, 422).
Every GET answers a HEAD as well. Before any of that a request whose head is over 16 KiB gets 431, and one that takes over 30 s to arrive 408, in the same shape; a batch waits up to 40 s for its turn before it is read.

A 202, a retry, a cancel and an inbox read carry \`x-event-position\`; a GET with \`x-after-position\` waits up to 2 s until what it reads from has come so far. In the process that took the write reads of the same tenant wait so by themselves, and an id of less than 5 s is waited for before it is a 404.

A service that looks back (\`herald serve --as-of\`) says as of when each answer is in \`x-as-of\`; whatever it reads from the settings, which it shows as they are, has \`x-settings-as-of\`. Every write is 409 \`READ_ONLY\` there, and so are the live streams.`;

const securitySchemes = {
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
    description: 'An API key of the tenant. Keep it on your servers.',
  },
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'A token of the identity provider for a person of the tenant.',
  },
  tokenInQuery: {
    type: 'apiKey',
    in: 'query',
    name: 'token',
    description: 'The same token, for EventSource alone.',
  },
  inboxToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'A token for one recipient’s browser: `makeInboxToken` makes it.',
  },
  inboxTokenInQuery: {
    type: 'apiKey',
    in: 'query',
    name: 'token',
    description: 'The same token, for EventSource alone.',
  },
};

/** Any one of them lets in. */
const securityOf: Readonly<Record<AuthKind, readonly Readonly<Record<string, readonly string[]>>[]>> = {
  none: [],
  apiKey: [{ apiKey: [] }],
  token: [{ bearer: [] }],
  bearer: [{ bearer: [] }],
  bearerOrKey: [{ bearer: [] }, { apiKey: [] }],
  bearerOrQuery: [{ bearer: [] }, { tokenInQuery: [] }],
  inbox: [{ apiKey: [] }, { inboxToken: [] }],
  inboxOrQuery: [{ apiKey: [] }, { inboxToken: [] }, { inboxTokenInQuery: [] }],
};

function operationOf(route: DescribedRoute, schemas: JsonSchemas) {
  const { auth, docs } = route;
  const parameters = [...pathParameters(route), ...queryParameters(route, schemas), ...headerParameters(route)];
  const refusals = [...refusalsOf(route)].map(([status, ofStatus]) => [
    String(status),
    refusalOf(status, ofStatus, route),
  ]);
  return {
    operationId: docs.id,
    tags: [docs.area],
    summary: docs.summary,
    ...descriptionOf(route),
    security: securityOf[auth],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBodyOf(route, schemas),
    responses: { ...answerOf(route, schemas), ...Object.fromEntries(refusals) },
  };
}

function descriptionOf({ docs, scopes }: DescribedRoute) {
  const forKeys = scopes === undefined ? '' : `An API key needs the scope ${scopes.join(' or ')}.`;
  const description = [docs.description ?? '', forKeys].filter((part) => part !== '').join(' ');
  return description === '' ? {} : { description };
}

function pathParameters({ path, docs }: DescribedRoute) {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => {
    const known = docs.params?.[name];
    if (known === undefined) throw new Error(`${path}: nothing is said of ${name}`);
    return { name, in: 'path', required: true, ...known };
  });
}

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, { readonly description?: string }>>;
  readonly required?: readonly string[];
}

function queryParameters({ endpoint, docs }: DescribedRoute, schemas: JsonSchemas) {
  if (endpoint.query === undefined) return [];
  const { properties = {}, required = [] }: ObjectSchema = schemas.of(endpoint.query);
  const named = Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema,
  }));
  const { freeQuery } = docs;
  const free =
    freeQuery === undefined ? [] : [{ in: 'query', required: false, style: 'deepObject', explode: true, ...freeQuery }];
  return [...named, ...free];
}

function headerParameters({ endpoint, docs }: DescribedRoute) {
  const lastEventId = {
    name: 'last-event-id',
    in: 'header',
    required: false,
    description: 'The id of the last message that was seen: what came after it is sent first.',
    schema: { type: 'string' },
  };
  const afterPosition = {
    name: afterPositionHeader,
    in: 'header',
    required: false,
    description: 'What an `x-event-position` said: waits up to 2 s until the answer has what was done there.',
    schema: { type: 'string', pattern: '^[a-z.-]+:\\d+:\\d+$' },
    example: position,
  };
  const idempotencyKey = {
    name: idempotencyKeyHeader,
    in: 'header',
    required: false,
    description:
      'For 24 h a request with the same key that asks for the same gets the same answer, with `idempotent-replayed: true`, and nothing is sent twice. What was refused isn’t kept.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: idempotencyKeyPattern.source },
    example: 'order-4711-shipped',
  };
  const isResumed = docs.answer.kind === 'stream' && docs.answer.messages.some(({ id }) => id !== null);
  return [
    ...(docs.isKeyed === true ? [idempotencyKey] : []),
    ...(isResumed ? [lastEventId] : []),
    ...(endpoint.follows === undefined ? [] : [afterPosition]),
  ];
}

function requestBodyOf({ endpoint, docs }: DescribedRoute, schemas: JsonSchemas) {
  if (endpoint.body === undefined) return {};
  const examples = Object.entries(docs.requests ?? {}).map(([summary, value], i) => [
    `example${i + 1}`,
    { summary, value },
  ]);
  const content = {
    schema: schemas.of(endpoint.body),
    ...(examples.length === 0 ? {} : { examples: Object.fromEntries(examples) as unknown }),
  };
  return {
    requestBody: {
      required: endpoint.bodyIsOptional !== true,
      content: { 'application/json': content },
    },
  };
}
