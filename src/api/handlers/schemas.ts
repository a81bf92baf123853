// Parts that several endpoints' schemas are made of.

import { z } from 'zod';

import { wireForms } from '../docs/wire-forms.ts';

const pageLimitMax = 100;

/** A query's page size: text of a whole number from 1 to 100. */
export function pageLimit(fallback: number) {
  return z
    .string()
    .regex(/^\d{1,4}$/, `must be a whole number from 1 to ${pageLimitMax}`)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= pageLimitMax, `must be a whole number from 1 to ${pageLimitMax}`)
    .default(fallback)
    .register(wireForms, { type: 'integer', minimum: 1, maximum: pageLimitMax, default: fallback });
}

/** An ISO 8601 time with its zone, as UTC ms. */
export const time = z.iso
  .datetime({ offset: true, error: 'must be an ISO 8601 time with its zone, such as 2027-01-31T09:00:00Z' })
  .transform((text) => Date.parse(text));
