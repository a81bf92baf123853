// Templates and data made up at random around what has been dear before: long paths, filters in a row, keys that are values, tags in one another, loops, text
// that hardly parses; as large as a request may be.

import { assertNever } from '../../src/domain/assert-never.ts';
import fc from './properties.ts';

/** What is drawn: short, so that a failure can be read and made again. */
export interface Recipe {
  readonly subject: Part | null;
  readonly isHtml: boolean;
  readonly parts: readonly Part[];
  /** Of each name the kind of its value. */
  readonly data: Readonly<Partial<Record<Name, Kind>>>;
}

type Part =
  | { readonly kind: 'text'; readonly text: string; readonly times: number }
  | { readonly kind: 'output'; readonly output: string; readonly times: number }
  /** Repeats a few characters between braces. */
  | { readonly kind: 'garbage'; readonly opens: '{{' | '{%'; readonly unit: string; readonly times: number }
  | { readonly kind: 'tag'; readonly opens: string; readonly closes: string; readonly inside: readonly Part[] };

type Name = (typeof names)[number];
type Kind = keyof typeof kinds;

const names = ['a', 'b', 'c', 'd', 'x'] as const;

/** Values of so many characters as JSON. */
const kinds = {
  text: (size: number) => 'a'.repeat(size),
  markup: (size: number) => '&<'.repeat(size / 2),
  lines: (size: number) => 'a\n'.repeat(size / 3),
  words: (size: number) => 'Ärger 🎉 '.repeat(size / 9),
  digits: (size: number) => '9'.repeat(size),
  numbers: (size: number) => Array.from({ length: size / 2 }, (_, i) => i % 10),
  fractions: (size: number) => Array.from({ length: size / 8 }, (_, i) => 0.1 + i * 1e-5),
  nothings: (size: number) => Array(Math.floor(size / 3)).fill(''),
  holes: (size: number) => Array(Math.floor(size / 5)).fill(null),
  empties: (size: number) => Array.from({ length: size / 3 }, () => []),
  objects: (size: number) => Array.from({ length: size / 8 }, (_, i) => ({ a: i % 10 })),
  tables: (size: number) => Array.from({ length: size / 202 }, () => Array(100).fill(1)),
  keys: (size: number) => Object.fromEntries(Array.from({ length: size / 9 }, (_, i) => [`k${i}`, i % 10])),
  nested: (size: number) => ({ a: { b: { c: { d: { x: 'b'.repeat(size) } } } } }),
  names: (size: number) => Array.from({ length: size / 4 }, (_, i) => names[i % names.length]),
  zones: (size: number) => Intl.supportedValuesOf('timeZone').slice(0, size / 30),
  dates: (size: number) => Array.from({ length: size / 14 }, (_, i) => `20${10 + (i % 80)}-01-02`),
  number: () => 12345.678,
  time: () => 1_700_000_000,
  name: () => 'a',
  yes: () => true,
  nil: () => null,
} as const satisfies Record<string, (size: number) => unknown>;

/** `data` is at most 64 KiB. */
const dataCharactersMax = 60 * 1024;
/** A request of 256 KiB less its data. */
const sourceCharactersMax = 190 * 1024;

export function dataOf({ data }: Recipe): Record<string, unknown> {
  const entries = Object.entries(data);
  const size = Math.floor(dataCharactersMax / Math.max(entries.length, 1));
  return Object.fromEntries(entries.map(([name, kind]) => [name, kinds[kind](size)]));
}

export function sourcesOf({ subject, parts, isHtml }: Recipe): { subject: string | null; body: string } {
  const body = sourceOf(parts, sourceCharactersMax);
  return { subject: subject === null ? null : sourceOf([subject], 4096), body: isHtml ? `<p>${body}</p>` : body };
}

/** Each part has its share of the room; what doesn't fit is repeated less often, so that tags stay whole. */
function sourceOf(parts: readonly Part[], room: number): string {
  const share = Math.floor(room / Math.max(parts.length, 1));
  return parts.map((part) => textOf(part, share)).join('');
}

function textOf(part: Part, room: number): string {
  const repeated = (unit: string, times: number) => unit.repeat(Math.min(times, Math.max(1, room / unit.length)));
  switch (part.kind) {
    case 'text':
      return repeated(part.text, part.times);
    case 'output':
      return repeated(`{{${part.output}}}`, part.times);
    case 'garbage':
      return `${part.opens}${repeated(part.unit, part.times)}${part.opens === '{{' ? '}}' : '%}'}`;
    case 'tag':
      return part.opens + sourceOf(part.inside, room - part.opens.length - part.closes.length) + part.closes;
    default:
      return assertNever(part);
  }
}

const name = fc.constantFrom(...names, 'none', 'i');
const key = fc.oneof(
  { weight: 4, arbitrary: name.map((of) => `[${of}]`) },
  { weight: 2, arbitrary: name.map((of) => `.${of}`) },
  fc.constantFrom('.size', '.first', '.last', '[0]', '[-1]', '["a b"]', '[a.b.c]', '[a[b]]'),
);
const path = fc
  .tuple(name, fc.array(key, { maxLength: 4 }), fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 700 })))
  .map(([root, keys, times]) => (root + keys.join('').repeat(times)).slice(0, 2500))
  .map((text) => text.replace(/[.[][^.\]]*$/, '') || 'a');
const argument = fc.oneof(
  { weight: 4, arbitrary: name },
  { weight: 4, arbitrary: fc.constantFrom('1', '-1', '"a"', '""', '","', '60000', '0.1', 'nil') },
  path,
);
const dateArguments = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('"%c"', '"%c %Z","Asia/Tokyo"', '"%A",d[0]', '"%^40B %j",60', '"%Y"') },
  fc.tuple(argument, argument).map(([format, zone]) => `${format},${zone}`),
);
const filter = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.constantFrom(
      '|upcase',
      '|downcase',
      '|capitalize',
      '|strip',
      '|size',
      '|first',
      '|last',
      '|json',
      '|url_encode',
      '|raw',
      '|escape',
      '|newline_to_br',
      '|round',
      '|divided_by:3',
    ),
  },
  {
    weight: 8,
    arbitrary: fc
      .tuple(fc.constantFrom('truncate', 'plus', 'minus', 'times', 'join', 'default'), argument)
      .map(([of, one]) => `|${of}:${one}`),
  },
  { weight: 3, arbitrary: fc.tuple(argument, argument).map(([from, to]) => `|replace:${from},${to}`) },
  dateArguments.map((of) => `|date:${of}`),
);
const value = fc.tuple(path, fc.array(filter, { maxLength: 20 })).map(([of, filters]) => of + filters.join(''));
const times = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 2000 }));
const condition = fc
  .array(
    fc
      .tuple(path, fc.constantFrom('==', '!=', '<', '>=', 'contains'), argument)
      .map(([left, operator, right]) => `${left} ${operator} ${right}`),
    { minLength: 1, maxLength: 8 },
  )
  .chain((all) => fc.constantFrom(' and ', ' or ').map((joined) => all.join(joined)));

const output = fc.record({ kind: fc.constant('output'), output: value, times });
const text = fc.record({
  kind: fc.constant('text'),
  text: fc.constantFrom('a', '{', '{ {', '}}', '\n', '<b>', '"', "'", '%}', 'ä🎉', '{{"', '{%'),
  times: fc.integer({ min: 1, max: 60_000 }),
});
const garbage = fc.record({
  kind: fc.constant('garbage'),
  opens: fc.constantFrom('{{', '{%'),
  unit: fc
    .array(
      fc.constantFrom(
        '[',
        ']',
        '"',
        "'",
        '\\',
        '.',
        '|',
        ':',
        ',',
        ' ',
        '\t',
        '\u00a0',
        '(',
        ')',
        '..',
        'a',
        'a.',
        '[a]',
        '-',
        '1',
        '1.',
        '?',
        '=',
        '==',
        ' and ',
        ' or ',
        ' contains ',
        'if ',
        'for i in a',
        'assign a = ',
        '|upcase',
        '|replace:a',
      ),
      { minLength: 1, maxLength: 5 },
    )
    .map((units) => units.join('')),
  times: fc.integer({ min: 1, max: 8000 }),
});

const parts: fc.Memo<Part[]> = fc.memo((depth) =>
  fc.array(fc.oneof<fc.Arbitrary<Part>[]>(output, text, depth > 1 ? tag(depth - 1) : output), {
    minLength: 1,
    maxLength: 3,
  }),
);
const tag: fc.Memo<Part> = fc.memo(
  (depth) =>
    fc
      .record({
        kind: fc.constant('tag'),
        ends: fc.oneof(
          condition.map((of) => [`{% if ${of} %}`, '{% else %}-{% endif %}']),
          condition.map((of) => [`{% unless ${of} %}`, '{% endunless %}']),
          fc
            .tuple(path, argument)
            .map(([of, when]) => [`{% case ${of} %}{% when ${when} %}`, '{% else %}-{% endcase %}']),
          fc
            .tuple(path, fc.constantFrom('', ' reversed', ' limit: 3', ' offset: a', ' limit: d reversed'))
            .map(([of, how]) => [`{% for i in ${of}${how} %}`, '{% endfor %}']),
          fc.constant(['{% for i in (1..60000) %}', '{% endfor %}']),
          fc.tuple(fc.constantFrom('a', 'i', 'y'), value).map(([to, of]) => [`{% assign ${to} = ${of} %}`, '']),
          fc.constant(['{% comment %}', '{% endcomment %}']),
        ),
        inside: parts(depth),
      })
      .map(({ kind, ends: [opens = '', closes = ''], inside }) => ({
        kind,
        opens,
        closes,
        inside,
      })) as fc.Arbitrary<Part>,
);

export const anyRecipe: fc.Arbitrary<Recipe> = fc.record({
  subject: fc.option(output, { freq: 1 }),
  isHtml: fc.boolean(),
  parts: fc.oneof(
    { weight: 3, arbitrary: fc.array(fc.oneof(output, text), { minLength: 1, maxLength: 4 }) },
    { weight: 2, arbitrary: parts(3) },
    fc.array(fc.oneof(output, garbage), { minLength: 1, maxLength: 4 }),
  ) as fc.Arbitrary<Part[]>,
  data: fc.record(
    Object.fromEntries(names.map((of) => [of, fc.constantFrom(...(Object.keys(kinds) as Kind[]))])) as Record<
      Name,
      fc.Arbitrary<Kind>
    >,
    { requiredKeys: [] },
  ),
});
