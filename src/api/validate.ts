// Checks input against a zod schema and says what is wrong in our own words, every field by its dotted path.

import { z } from 'zod';

import type { ErrorDetail } from '../domain/errors.ts';
import { badField } from '../domain/errors.ts';
import { nearMiss } from '../domain/near-miss.ts';
import { badFields } from './errors.ts';
import { fieldPath, shownName } from './field-path.ts';
import { isText } from './text-check.ts';

/** @throws DomainError BAD_REQUEST naming every field that is wrong */
export function validate<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  throw badFields(detailsOf(result.error.issues, input, known).slice(0, detailsMax));
}

/** Of a body with thousands of unknown fields so many are told. */
const detailsMax = 100;

/** The parameters of a URL's query, each at most once. @throws DomainError BAD_REQUEST */
export function queryOf(url: string): Record<string, string> {
  const at = url.indexOf('?');
  const values: Record<string, string> = {};
  if (at < 0) return values;
  for (const [name, value] of new URLSearchParams(url.slice(at + 1))) {
    if (Object.hasOwn(values, name)) throw badField(name, 'is given more than once');
    if (!isText(value)) throw badField(name, 'must not hold NUL or half a surrogate pair');
    // A schema that takes other names passes over this one silently.
    if (name === '__proto__') throw badField(name, 'is not a known field');
    values[name] = value;
  }
  return values;
}

type Issue = z.core.$ZodIssue;

/** @param known the fields that there are at the top */
function detailsOf(issues: readonly Issue[], input: unknown, known: readonly string[]): ErrorDetail[] {
  return issues.flatMap((issue): ErrorDetail[] => {
    const path = issue.path.map(String).reduce(fieldPath, '');
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.slice(0, detailsMax).map((key) => {
        const guess = path === '' ? didYouMean(shownName(key), known) : '';
        return { path: fieldPath(path, key), message: `${unknownField}${guess}` };
      });
    }
    const value = valueAt(input, issue.path);
    return [{ path, message: value === undefined ? 'is required' : messageOf(issue, value) }];
  });
}

const unknownField = 'is not a known field';

/** Behind what was refused: the one of the names that is near it. */
export function didYouMean(written: unknown, names: readonly string[]): string {
  const meant = typeof written === 'string' ? nearMiss(written, names) : null;
  return meant === null ? '' : `; did you mean ${meant}?`;
}

function messageOf(issue: Issue, value: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${nouns[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}${didYouMean(value, issue.values.map(String))}`;
    case 'too_big':
      if (issue.origin === 'array') return `must have at most ${issue.maximum} items`;
      return issue.origin === 'string'
        ? `must have at most ${issue.maximum} characters`
        : `must be at most ${issue.maximum}`;
    case 'too_small':
      if (issue.origin === 'string')
        return issue.minimum === 1 ? 'must not be empty' : `must have at least ${issue.minimum} characters`;
      return `must be at least ${issue.minimum}`;
    default:
      return issue.message;
  }
}

const nouns: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'a JSON object',
  array: 'an array',
  record: 'a JSON object',
};

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value: unknown = input;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
}
