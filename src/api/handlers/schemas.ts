// Parts that several endpoints' schemas are made of.

import { z } from 'zod';

import { wireForms } from '../docs/wire-forms.ts';

const pageLimitMax = 100;

/** A query's page size: text of a whole number from 1 to 100, or to another most. */
export function pageLimit(fallback: number, most = pageLimitMax) {
  return z
    .string()
    .regex(/^\d{1,4}$/, `must be a whole number from 1 to ${most}`)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= most, `must be a whole number from 1 to ${most}`)
    .default(fallback)
    .register(wireForms, { type: 'integer', minimum: 1, maximum: most, default: fallback });
}

/** An ISO 8601 time with its zone, as UTC ms. */
export const time = z.iso
  .datetime({ offset: true, error: 'must be an ISO 8601 time with its zone, such as 2027-01-31T09:00:00Z' })
  .transform((text) => Date.parse(text));

type Given<T, K extends keyof T> = { readonly [F in K]?: Exclude<T[F], undefined> };

/** Of these fields those that have a value. */
export function given<T extends object, K extends keyof T>(of: T, fields: readonly K[]): Given<T, K> {
  const found = fields.flatMap((field) => (of[field] === undefined ? [] : [[field, of[field]] as const]));
  return Object.fromEntries(found) as Given<T, K>;
}
