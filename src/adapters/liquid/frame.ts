// What one render knows: the data, the names that tags set, the clock's time, what it may still use up.

import { Drop } from 'liquidjs';
import { type Budget, useStep } from './budget.ts';
import { addMissing, type MissingNames } from './missing-names.ts';
import { type Key, propertyOf } from './values.ts';

export interface Frame {
  readonly data: Readonly<Record<string, unknown>>;
  /** Names of assign and for, the innermost last; each object without a prototype. */
  readonly locals: readonly Readonly<Record<string, unknown>>[];
  /** Values are escaped. */
  readonly html: boolean;
  /** UTC ms, for `now` and `today`: one time for the whole message. */
  readonly now: number;
  readonly memory: Budget;
  /** null: nobody asks, or not for what is read now (asked-names.ts). */
  missing: MissingNames | null;
}

/** The value of a path: a local name first, then an exact key of the data (`user.name`), then step by step. */
export function readPath(frame: Frame, keys: readonly Key[], exact: string): unknown {
  const root = keys[0] ?? '';
  let value: unknown;
  const scope = localScope(frame, root);
  if (scope !== undefined) value = scope[root];
  else if (Object.hasOwn(frame.data, exact)) return frame.data[exact];
  else if (Object.hasOwn(frame.data, root)) value = frame.data[root];
  for (let i = 1; i < keys.length && value !== undefined; i++) {
    useStep(frame.memory);
    value = propertyOf(value, keys[i] ?? '', frame.memory);
  }
  if (value === undefined && frame.missing !== null && !isSetByTag(frame, root)) addMissing(frame.missing, exact);
  return value;
}

/**
 * Whether a name is a tag's own: `forloop`, or what was assigned of nothing, which was told where it was assigned. What `item` of a loop over the data
 * lacks the data lack.
 */
export function isSetByTag(frame: Frame, name: Key): boolean {
  const scope = localScope(frame, name);
  if (scope === undefined) return false;
  const value = scope[name];
  return value === undefined || value === null || value instanceof Drop;
}

function localScope(frame: Frame, name: Key): Readonly<Record<string, unknown>> | undefined {
  for (let i = frame.locals.length - 1; i >= 0; i--) {
    const scope = frame.locals[i];
    if (scope !== undefined && name in scope) return scope;
  }
  return undefined;
}
