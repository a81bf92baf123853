// Holds answers to the OpenAPI document: status, headers, media type, body; and remembers which of them were seen.

import { Ajv2020 } from 'ajv/dist/2020.js';
import type { AnySchema, ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

import type { Reply } from '../support/app.ts';

type Json = Readonly<Record<string, unknown>>;

export interface Operation {
  readonly id: string;
  readonly method: string;
  /** As in the document: `/notify/{id}`. */
  readonly path: string;
  readonly document: OperationObject;
}

interface OperationObject {
  readonly operationId: string;
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly example?: string }[];
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

interface ResponseObject {
  readonly headers: Readonly<Record<string, HeaderObject>>;
  readonly content: Readonly<Record<string, Media>>;
}

interface HeaderObject {
  readonly $ref?: string;
  readonly required?: boolean;
  readonly schema?: Json;
}

interface Media {
  readonly schema: Json;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

export interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Json>>;
    readonly headers: Readonly<Record<string, HeaderObject>>;
  };
}

export type Contract = ReturnType<typeof createContract>;

export function createContract(document: Document) {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
  // The package is CommonJS: its types and its module disagree on what the default is.
  (addFormats as unknown as (target: Ajv2020) => void)(ajv);
  ajv.addSchema(closed(document) as AnySchema, 'document');
  const operations: Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      id: operation.operationId,
      method: method.toUpperCase(),
      path,
      document: operation,
    })),
  );
  const seen = new Set<string>();
  const known = Object.keys(document.components.headers);

  const validatorAt = (...pointer: readonly string[]): ValidateFunction =>
    ajv.compile({ $ref: `document#/${pointer.map(escaped).join('/')}` });

  const problemsWithBody = (validate: ValidateFunction, body: unknown): string[] =>
    validate(body) ? [] : (validate.errors ?? []).map(({ instancePath, message }) => `body${instancePath} ${message}`);

  const headerOf = (header: HeaderObject): HeaderObject =>
    header.$ref === undefined ? header : (document.components.headers[header.$ref.split('/').at(-1) ?? ''] ?? {});

  const problemsWithHeaders = (documented: ResponseObject['headers'], headers: Headers): string[] => [
    ...Object.entries(documented)
      .filter(([name, header]) => headerOf(header).required === true && !headers.has(name))
      .map(([name]) => `lacks the header ${name}`),
    ...known
      .filter((name) => headers.has(name) && documented[name] === undefined)
      .map((name) => `carries the header ${name}, which is not documented`),
    ...Object.entries(documented)
      .filter(([name, header]) => headerOf(header).schema?.['type'] === 'integer' && headers.has(name))
      .filter(([name]) => !/^\d+$/.test(headers.get(name) ?? ''))
      .map(([name]) => `the header ${name} is no integer`),
  ];

  return {
    operations,
    /** `notify 202`, for each answer that was checked. */
    seen,

    operation(id: string): Operation {
      const found = operations.find((one) => one.id === id);
      if (found === undefined) throw new Error(`there is no operation ${id}`);
      return found;
    },

    /** What is wrong with an answer; empty when nothing is. */
    problems({ id, method, path, document: { responses } }: Operation, { status, headers, body }: Reply): string[] {
      const documented = responses[status];
      if (documented === undefined) return [`${id}: ${status} is not documented`];
      seen.add(`${id} ${status}`);
      const [type = '', media] = Object.entries(documented.content)[0] ?? [];
      const sent = headers.get('content-type')?.split(';')[0] ?? 'nothing';
      const at = ['paths', path, method.toLowerCase(), 'responses', String(status), 'content', type, 'schema'];
      const isRefusal = status >= 400;
      return [
        ...(sent === type ? [] : [`is ${sent} instead of ${type}`]),
        ...problemsWithHeaders(documented.headers, headers),
        ...problemsWithBody(validatorAt(...at), body),
        ...(isRefusal && media?.examples?.[String(body.code)] === undefined
          ? [`${body.code} is no documented code`]
          : []),
      ].map((problem) => `${id} ${status}: ${problem}`);
    },

    /** What is wrong with a value that should be one of the document's schemas. */
    problemsWithComponent: (name: string, value: unknown): string[] =>
      problemsWithBody(validatorAt('components', 'schemas', name), value),

    /** Every example that its own schema refuses. */
    badExamples(): string[] {
      return operations.flatMap(({ id, path, method, document: { requestBody, responses } }) => {
        const base = ['paths', path, method.toLowerCase()];
        const ofMedia = (where: readonly string[], { example, examples = {} }: Media): string[] => {
          const validate = validatorAt(...base, ...where, 'schema');
          const values = [
            ...(example === undefined ? [] : [example]),
            ...Object.values(examples).map(({ value }) => value),
          ];
          return values
            .flatMap((value) => problemsWithBody(validate, value))
            .map((problem) => `${id} ${where.join(' ')}: ${problem}`);
        };
        const inContent = (where: readonly string[], content: Readonly<Record<string, Media>>) =>
          Object.entries(content).flatMap(([type, media]) => ofMedia([...where, 'content', type], media));
        return [
          ...(requestBody === undefined ? [] : inContent(['requestBody'], requestBody.content)),
          ...Object.entries(responses).flatMap(([status, { content }]) => inContent(['responses', status], content)),
        ];
      });
    },
  };
}

function escaped(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
}

/** Objects may have no field that isn't documented: a client may meet new ones, this test may not. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, closed(inner)]));
  const isObjectSchema = copy['type'] === 'object' && typeof copy['properties'] === 'object';
  return isObjectSchema && !('additionalProperties' in copy) ? { ...copy, additionalProperties: false } : copy;
}
