// Checks what a tenant sets for a provider: its config by a zod schema, its key by a rule of the provider's own.

import { z } from 'zod';

import type { ErrorDetail } from '../domain/errors.ts';
import type { Provider } from '../ports/provider-registry.ts';

/** `config` and `apiKey` together, so that one schema says all that a provider needs. Unknown fields of the config are refused. */
export function settingsCheck(config: z.ZodType, apiKey: z.ZodType): Provider['check'] {
  const schema = z.object({ apiKey, config });
  return (settings) => {
    const result = schema.safeParse({ apiKey: settings.apiKey, config: settings.config ?? {} });
    return result.success ? [] : result.error.issues.flatMap(detailsOf);
  };
}

/** A key that goes into a header: visible ASCII, no white space. */
export const headerKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,512}$/, 'must be 1 to 512 visible ASCII characters without spaces');

/** One line of text: nothing that could begin another header. */
export function oneLine(lengthMax: number): z.ZodString {
  return z
    .string()
    .min(1, 'must not be empty')
    .max(lengthMax, `must have at most ${lengthMax} characters`)
    .regex(/^\P{Cc}*$/u, 'must not contain control characters or line breaks');
}

/** Every unknown field is a path of its own. */
function detailsOf(issue: z.core.$ZodIssue): ErrorDetail[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: [...path, key].join('.'), message: 'is not a known field' }));
  }
  return [{ path: path.join('.'), message: issue.message }];
}
