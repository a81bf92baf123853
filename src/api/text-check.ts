// What JSON lets through and no store or receiver takes: NUL, lone surrogates, endless nesting.

import { badField } from '../domain/errors.ts';
import { fieldPath } from './field-path.ts';

/** Objects and arrays within one another. */
const nestingMax = 32;

export function isText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\u0000');
}

/** @throws DomainError BAD_REQUEST naming the first field whose text, or whose name, is none */
export function checkStrings(value: unknown, path = '', depth = 0): void {
  if (typeof value === 'string') {
    if (!isText(value)) throw badField(path, notText);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  if (depth > nestingMax) throw badField(path, tooDeep);
  for (const [key, inner] of Object.entries(value)) {
    if (!isText(key))
      throw badField(path === '' ? 'body' : path, 'holds a name with NUL or half a surrogate pair in it');
    checkStrings(inner, fieldPath(path, key), depth + 1);
  }
}

/** Whether a JSON value holds objects and arrays at most `nestingMax` deep. */
export function isShallow(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (depth >= nestingMax) return false;
  // By their numbers: the keys of 20,000 items as texts are 4 ms.
  if (Array.isArray(value)) return value.every((inner) => isShallow(inner, depth + 1));
  for (const key of Object.keys(value))
    if (!isShallow((value as Record<string, unknown>)[key], depth + 1)) return false;
  return true;
}

export const tooDeep = `must not be nested deeper than ${nestingMax} levels`;
const notText = 'must not hold NUL or half a surrogate pair';
