// JSON Schema of zod schemas for one document: what has an id stands once among the components and is referred to.

import { z } from 'zod';

import type { JsonSchema } from './wire-forms.ts';
import { wireForms } from './wire-forms.ts';

export type JsonSchemas = ReturnType<typeof createJsonSchemas>;

export function createJsonSchemas() {
  const components: Record<string, JsonSchema> = {};
  return {
    /** Filled as schemas are asked for. */
    components,
    /** What the schema takes: an answer's objects stay open for fields to come, a request's are closed where the schema is strict. */
    of(schema: z.ZodType): JsonSchema {
      const made = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', override: simplify });
      const { $schema: _, $defs = {}, ...rest } = referring(made);
      Object.assign(components, $defs);
      return rest;
    },
  };
}

interface Made {
  readonly $schema?: unknown;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
}

function referring(made: object): Made {
  return JSON.parse(JSON.stringify(made).replaceAll('"#/$defs/', '"#/components/schemas/')) as Made;
}

function simplify({
  zodSchema,
  jsonSchema,
}: {
  zodSchema: z.core.$ZodType;
  jsonSchema: Record<string, unknown>;
}): void {
  const form = wireForms.get(zodSchema);
  if (form !== undefined) {
    for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
    Object.assign(jsonSchema, form);
    return;
  }
  // The format says it; zod's pattern of it fills lines.
  if (jsonSchema['format'] === 'date-time' || jsonSchema['format'] === 'uuid') delete jsonSchema['pattern'];
  // What zod says of every whole number is no limit of the field's.
  if (jsonSchema['maximum'] === Number.MAX_SAFE_INTEGER) delete jsonSchema['maximum'];
  if (jsonSchema['minimum'] === Number.MIN_SAFE_INTEGER) delete jsonSchema['minimum'];
}
