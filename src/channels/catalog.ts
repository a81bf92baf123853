// The catalog of providers: each one's form, drawn from the schemas that check what is filled in.

import { z } from 'zod';

import type { ProviderCallbacks } from '../ports/callbacks.ts';
import type { CatalogProvider, ProviderField } from '../ports/provider-registry.ts';
import type { ListedProvider } from './settings-check.ts';

export function catalogEntry({ name, label, schemas, callbacks }: ListedProvider): CatalogProvider {
  const config = z.toJSONSchema(schemas.config, { io: 'input' });
  const key = z.toJSONSchema(schemas.apiKey, { io: 'input' });
  const required = new Set(config.required);
  const fields = Object.entries(config.properties ?? {}).map(([field, schema]) =>
    fieldOf(field, typeof schema === 'boolean' ? {} : schema, required.has(field)),
  );
  return {
    name,
    label,
    help: config.description ?? null,
    fields: [keyField(key), ...fields, ...callbackField(callbacks)],
  };
}

function callbackField(callbacks: ProviderCallbacks | undefined): ProviderField[] {
  const { secret = null } = callbacks ?? {};
  if (secret === null) return [];
  const { label: title, help: description } = secret;
  const name = 'callbackSecret';
  return [{ ...fieldOf(name, { title, description }, false), path: name, type: 'secret' }];
}

type Schema = z.core.JSONSchema.BaseSchema;

function keyField(schema: Schema): ProviderField {
  return { ...fieldOf('apiKey', schema, true), path: 'apiKey', type: 'secret' };
}

function fieldOf(name: string, schema: Schema, required: boolean): ProviderField {
  const { title, description, minimum, maximum } = schema;
  return {
    name,
    path: `config.${name}`,
    label: title ?? labelOf(name),
    type: typeOf(schema),
    required,
    default: plain(schema.default),
    choices: choicesOf(schema),
    min: minimum ?? null,
    // What zod says of every whole number is no limit of the field's.
    max: maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? null : maximum,
    help: description ?? '',
  };
}

function typeOf(schema: Schema): ProviderField['type'] {
  if (schema.enum !== undefined) return 'choice';
  if (schema.type === 'integer' || schema.type === 'boolean') return schema.type;
  return schema.format === 'email' ? 'email' : 'text';
}

function choicesOf(schema: Schema): readonly string[] | null {
  return schema.enum === undefined ? null : schema.enum.map(String);
}

function plain(value: unknown): ProviderField['default'] {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null;
}

/** `fromEmail` is "From email". */
function labelOf(name: string): string {
  const words = name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}
