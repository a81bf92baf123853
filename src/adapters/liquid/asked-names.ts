// Which of the names that a template reads its data must have: not what it only tests (`if`, `unless`, `case`), and not what it has a `default` for.

import { type Context, toValueSync, type Value } from 'liquidjs';
import type { Frame } from './frame.ts';
import type { TemplateContext } from './tagged.ts';

/** Where the last `default` stands, which answers for all that stands before it; -1: nowhere. */
export function lastDefaultOf(filters: readonly { readonly name: string }[]): number {
  return filters.findLastIndex(({ name }) => name === 'default');
}

/** Reads the value that filters are applied to. */
export function readFirst<T>(frame: Frame, lastDefault: number, read: () => T): T {
  return lastDefault < 0 ? read() : unasked(frame, read);
}

/** Applies the filter in place `i` to a value. What a default's own arguments lack is told only where the value gives way to them. */
export function applyFilter(
  frame: Frame,
  { i, lastDefault, value }: { readonly i: number; readonly lastDefault: number; readonly value: unknown },
  apply: () => unknown,
): unknown {
  if (i > lastDefault || frame.missing === null) return apply();
  if (i < lastDefault) return unasked(frame, apply);
  const { missing } = frame;
  const ofArguments = new Set<string>();
  frame.missing = ofArguments;
  try {
    const result = apply();
    const givesWay = value === undefined || value === null || result !== value;
    if (givesWay) for (const name of ofArguments) missing.add(name);
    return result;
  } finally {
    frame.missing = missing;
  }
}

/** The values of tags are liquidjs's own: each is made to tell no more than an output would, and tests tell nothing. */
export function narrowAsked(tagName: string, value: Value): void {
  const { initial, filters } = value;
  const lastDefault = lastDefaultOf(filters);
  const read = value.value.bind(value);
  // Rendering is synchronous, so that what is read here is read before anything else.
  if (tests.has(tagName)) {
    value.value = evaluated((context) => unasked(context.frame, () => toValueSync(read(context))));
  } else if (lastDefault >= 0) {
    value.value = evaluated((context) => {
      const { frame } = context;
      let result: unknown = readFirst(frame, lastDefault, () => toValueSync(initial.evaluate(context, false)));
      for (const [i, filter] of filters.entries()) {
        const before = result;
        result = applyFilter(frame, { i, lastDefault, value: before }, () => sync(filter.render(before, context)));
      }
      return result;
    });
  }
}

/** In the form in which liquidjs asks for values. */
function evaluated(evaluate: (context: TemplateContext) => unknown): Value['value'] {
  return function* (context: Context) {
    return yield evaluate(context as TemplateContext);
  };
}

const tests: ReadonlySet<string> = new Set(['if', 'unless', 'case']);

function unasked<T>(frame: Frame, read: () => T): T {
  const { missing } = frame;
  if (missing === null) return read();
  frame.missing = null;
  try {
    return read();
  } finally {
    frame.missing = missing;
  }
}

function sync(rendering: IterableIterator<unknown>): unknown {
  return toValueSync(rendering as Generator);
}
