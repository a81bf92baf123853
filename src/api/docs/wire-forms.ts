// The form that a field has on the wire, where the checks of its zod schema can't be read as JSON Schema.

import { z } from 'zod';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** What the OpenAPI document says of a schema in place of what zod would make of it: `schema.register(wireForms, {...})`. */
export const wireForms = z.registry<JsonSchema>();
