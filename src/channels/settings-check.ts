// Checks what a tenant sets for a provider: its config by a zod schema, its key by a rule of the provider's own.

import { z } from 'zod';

import type { ErrorDetail } from '../domain/errors.ts';
import type { Provider } from '../ports/provider-registry.ts';

/** A provider's own fields, and those that every provider has. Unknown fields are refused. */
export function providerConfig<Fields extends z.ZodRawShape>(fields: Fields) {
  return z.strictObject({ ...fields, maxPerSecond });
}

const rateMax = 10_000;

const maxPerSecond = z
  .int(`must be a whole number from 1 to ${rateMax}`)
  .min(1, `must be a whole number from 1 to ${rateMax}`)
  .max(rateMax, `must be a whole number from 1 to ${rateMax}`)
  .optional()
  .describe(
    'At most so many attempts a second, over all processes; what is over it waits. Without it there is no limit.',
  );

/** A provider, and what the catalog shows of it. */
export interface ListedProvider extends Provider {
  /** As people write its name. */
  readonly label: string;
  /** What the form is drawn from: `title` is a field's label, `description` its help. */
  readonly schemas: { readonly config: z.ZodType; readonly apiKey: z.ZodType };
}

/** What a provider says of its settings, from the schemas that check them. */
export function settingsOf(
  label: string,
  config: z.ZodType,
  apiKey: z.ZodType,
): Pick<ListedProvider, 'label' | 'schemas' | 'check' | 'keyGoesBy'> {
  return { label, schemas: { config, apiKey }, check: settingsCheck(config, apiKey), keyGoesBy: keyGoesBy(config) };
}

/** Who the mail or text is from, of what kind it is, how many go out and what is tried again say nothing of where the key goes. Whatever else a provider asks for may. */
const saysNothingOfKey: ReadonlySet<string> = new Set([
  'fromName',
  'fromEmail',
  'replyTo',
  'unsubscribeUrl',
  'heloName',
  'from',
  'maxPerSecond',
  'retryMissing',
  'category',
  'smsType',
  'configurationSet',
  'snsTopicArn',
]);

/** With the defaults filled in: a port that is left out and the one that it counts as are the same. */
function keyGoesBy(schema: z.ZodType): Provider['keyGoesBy'] {
  return (config) => {
    const { data } = schema.safeParse(config ?? {});
    const fields = Object.entries((data ?? config ?? {}) as Readonly<Record<string, unknown>>);
    return Object.fromEntries(fields.filter(([name]) => !saysNothingOfKey.has(name)));
  };
}

/** `config` and `apiKey` together, so that one schema says all that a provider needs. */
export function settingsCheck(config: z.ZodType, apiKey: z.ZodType): Provider['check'] {
  const schema = z.object({ apiKey, config });
  return (settings) => {
    const input = { apiKey: settings.apiKey, config: settings.config ?? {} };
    const result = schema.safeParse(input, { reportInput: true });
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
  return [{ path: path.join('.'), message: issue.input === undefined ? 'is required' : messageOf(issue) }];
}

/** In our own words where a schema has none of its own. */
function messageOf(issue: z.core.$ZodIssue): string {
  if (!issue.message.startsWith('Invalid ')) return issue.message;
  if (issue.code === 'invalid_type') return `must be ${nouns[issue.expected] ?? issue.expected}`;
  return issue.code === 'invalid_value' ? `must be one of ${issue.values.map(String).join(', ')}` : issue.message;
}

const nouns: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
};
