// The filters that templates may use: liquidjs's own, with values made safe for them, and what they mean in HTML.

import { filters as library } from 'liquidjs';
import { formatDate } from './date.ts';
import type { Frame } from './frame.ts';
import { templateLimits } from './limits.ts';
import { escapedHtml, Html, toText } from './values.ts';

export interface FilterDefinition {
  /** How many arguments it takes. */
  readonly argsMin: number;
  readonly argsMax: number;
  /** Arguments given by name; [name, value] pairs in `args`. */
  readonly named?: readonly string[];
  /** @throws Error when it can't be done; LimitError when too much is used up */
  apply(frame: Frame, value: unknown, args: readonly unknown[]): unknown;
}

/** Of text: objects come as JSON. What was marked as HTML stays so; `inserts` is the argument that is put into the text. */
const ofText = (name: string, argsMin = 0, argsMax = argsMin, inserts = -1): FilterDefinition => ({
  argsMin,
  argsMax,
  apply(frame, value, args) {
    if (!(value instanceof Html))
      return callLibrary(
        name,
        frame,
        toText(value, frame.memory),
        args.map((arg) => argument(frame, arg)),
      );
    const known = args.map((arg, i) =>
      value.mode === 'raw' && i === inserts ? asHtml(frame, arg) : argument(frame, arg),
    );
    return new Html(toText(callLibrary(name, frame, value.plain, known), frame.memory), value.mode);
  },
});

/** Of numbers: numerals count as theirs, everything else as 0. */
const ofNumbers = (name: string, argsMin: number, argsMax: number): FilterDefinition => ({
  argsMin,
  argsMax,
  apply: (frame, value, args) =>
    callLibrary(
      name,
      frame,
      toNumeral(frame, value),
      args.map((arg) => toNumeral(frame, arg)),
    ),
});

/** A value that is short enough stays what it is: a number, an array. */
const unlessUnchanged = (filter: FilterDefinition): FilterDefinition => ({
  ...filter,
  apply(frame, value, args) {
    const text = filter.apply(frame, value, args);
    return text === toText(value, frame.memory) ? value : text;
  },
});

const ofAnything = (name: string, argsMin = 0, argsMax = argsMin): FilterDefinition => ({
  argsMin,
  argsMax,
  apply: (frame, value, args) => callLibrary(name, frame, plain(value), args.map(plain)),
});

export const filters: ReadonlyMap<string, FilterDefinition> = new Map<string, FilterDefinition>([
  ['upcase', ofText('upcase')],
  ['downcase', ofText('downcase')],
  ['capitalize', ofText('capitalize')],
  ['strip', ofText('strip', 0, 1)],
  ['truncate', unlessUnchanged(ofText('truncate', 0, 2, 1))],
  ['replace', ofText('replace', 1, 2, 1)],
  ['round', ofNumbers('round', 0, 1)],
  ['plus', ofNumbers('plus', 1, 1)],
  ['minus', ofNumbers('minus', 1, 1)],
  ['times', ofNumbers('times', 1, 1)],
  ['size', ofAnything('size')],
  ['first', ofAnything('first')],
  ['last', ofAnything('last')],
  ['json', ofAnything('json', 0, 1)],
  // An Html that isn't empty comes back as it is; the other value is escaped like any.
  [
    'default',
    {
      argsMin: 1,
      argsMax: 1,
      named: ['allow_false'],
      apply: (frame, value, args) => callLibrary('default', frame, value, args),
    },
  ],
  [
    'divided_by',
    {
      argsMin: 1,
      argsMax: 2,
      apply(frame, value, args) {
        const [divisor, ...rest] = args.map((arg) => toNumeral(frame, arg));
        if (Number(divisor) === 0 || Number.isNaN(Number(divisor))) throw new Error('divided by 0');
        return callLibrary('divided_by', frame, toNumeral(frame, value), [divisor, ...rest]);
      },
    },
  ],
  [
    'join',
    {
      argsMin: 0,
      argsMax: 1,
      apply: (frame, value, args) =>
        callLibrary(
          'join',
          frame,
          itemsOf(frame, value),
          args.map((arg) => argument(frame, arg)),
        ),
    },
  ],
  [
    'url_encode',
    {
      argsMin: 0,
      argsMax: 0,
      apply: (frame, value) =>
        callLibrary('url_encode', frame, charged(frame, toText(plain(value), frame.memory)).toWellFormed(), []),
    },
  ],
  [
    'date',
    {
      argsMin: 0,
      argsMax: 2,
      apply: (frame, value, args) => formatDate(plain(value), plain(args[0]), plain(args[1]), frame),
    },
  ],
  // In HTML these three say how the value becomes HTML; a line break's <br /> must not let the rest of the text through.
  [
    'escape',
    {
      argsMin: 0,
      argsMax: 0,
      apply: (frame, value) =>
        frame.html ? escaped(frame, value) : callLibrary('escape', frame, toText(value, frame.memory), []),
    },
  ],
  [
    'newline_to_br',
    {
      argsMin: 0,
      argsMax: 0,
      apply: (frame, value) =>
        frame.html && !isRaw(value) ? marked(frame, value, 'breaks') : ofText('newline_to_br').apply(frame, value, []),
    },
  ],
  [
    'raw',
    {
      argsMin: 0,
      argsMax: 0,
      apply: (frame, value) => (frame.html ? new Html(toText(value, frame.memory), 'raw') : value),
    },
  ],
]);

/** liquidjs's filters find their limits and options in `this`. */
function callLibrary(name: string, frame: Frame, value: unknown, args: readonly unknown[]): unknown {
  const filter = library[name];
  if (typeof filter !== 'function') throw new Error(`liquidjs has no filter ${name}`);
  const self = { context: { memoryLimit: frame.memory, ownPropertyOnly: true, opts: { jsTruthy: false } } };
  return (filter as (this: typeof self, value: unknown, ...args: readonly unknown[]) => unknown).call(
    self,
    value,
    ...args,
  );
}

function charged(frame: Frame, text: string): string {
  frame.memory.use(text.length);
  return text;
}

function escaped(frame: Frame, value: unknown): Html {
  return marked(frame, value, value instanceof Html && value.mode === 'breaks' ? 'breaks' : 'escaped');
}

function marked(frame: Frame, value: unknown, mode: Html['mode']): Html {
  return new Html(charged(frame, toText(plain(value), frame.memory)), mode);
}

function isRaw(value: unknown): boolean {
  return value instanceof Html && value.mode === 'raw';
}

function asHtml({ memory }: Frame, value: unknown): string {
  const text = toText(value, memory);
  return value instanceof Html ? text : escapedHtml(text, memory);
}

function plain(value: unknown): unknown {
  return value instanceof Html ? value.plain : value;
}

/** liquidjs makes text of arrays and objects by itself, at nobody's charge. */
function argument({ memory }: Frame, value: unknown): unknown {
  const known = plain(value);
  return typeof known === 'object' && known !== null ? toText(known, memory) : known;
}

/** Objects would be asked for their own valueOf, which is the caller's data. */
function toNumeral(frame: Frame, value: unknown): unknown {
  const known = plain(value);
  if (typeof known === 'string') charged(frame, known);
  return typeof known === 'object' ? 0 : known;
}

/** An array's items as text, anything else as one text. */
function itemsOf(frame: Frame, value: unknown): string | string[] {
  const { memory } = frame;
  if (!Array.isArray(value)) return toText(plain(value), memory);
  memory.use(value.length * templateLimits.itemCharacters);
  return value.map((item) => toText(item, memory));
}
