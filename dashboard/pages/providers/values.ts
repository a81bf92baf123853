// What a provider's form holds, between the catalog's fields and the body of POST /providers. Pure.

import type { Provider, ProviderField } from '../../wire.ts';

/** By the fields' paths, as text; a choice of yes or no is `true` or `false`. */
export type Values = Readonly<Record<string, string>>;

const configPrefix = 'config.';

/** What is saved, its secrets masked (sent back so they stay as they are), else the defaults. */
export function initialValues(fields: readonly ProviderField[], saved: Provider | null): Values {
  return Object.fromEntries(
    fields.map((field) => {
      const { path, type, required, choices } = field;
      const first = type === 'choice' && required ? (choices?.[0] ?? null) : null;
      const value = saved === null ? (field.default ?? first) : savedValue(path, saved);
      return [path, textOf(value)];
    }),
  );
}

/**
 * What is empty is left out; numbers and choices of yes or no as such.
 * @param initial as the form had them first: a secret that wasn't touched is left as it is stored by now
 */
export function savedBody(fields: readonly ProviderField[], values: Values, initial: Values) {
  const config: Record<string, unknown> = {};
  const top: { apiKey: string; callbackSecret?: string } = { apiKey: '' };
  for (const { path, type } of fields) {
    const text = values[path] ?? '';
    if (path === 'apiKey') top.apiKey = text;
    else if (path === 'callbackSecret') {
      if (text !== initial[path]) top.callbackSecret = text;
    } else if (text !== '')
      config[path.slice(configPrefix.length)] =
        type === 'integer' ? Number(text) : type === 'boolean' ? text === 'true' : text;
  }
  return { ...top, config };
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function savedValue(path: string, saved: Provider): unknown {
  if (path === 'apiKey') return saved.apiKey;
  if (path === 'callbackSecret') return saved.callbackSecret;
  return saved.config[path.slice(configPrefix.length)];
}
