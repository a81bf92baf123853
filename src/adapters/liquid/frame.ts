// What one render knows: the data, the names that tags set, the clock's time, what it may still use up.

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
  /** null: nobody asks. */
  readonly missing: MissingNames | null;
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
  if (value === undefined && scope === undefined && frame.missing !== null) addMissing(frame.missing, exact);
  return value;
}

/** Whether a tag has set the name: what lacks below it isn't lacking in the data. */
export function isLocal(frame: Frame, name: Key): boolean {
  return localScope(frame, name) !== undefined;
}

function localScope(frame: Frame, name: Key): Readonly<Record<string, unknown>> | undefined {
  for (let i = frame.locals.length - 1; i >= 0; i--) {
    const scope = frame.locals[i];
    if (scope !== undefined && name in scope) return scope;
  }
  return undefined;
}
