// What every template renderer holds: the Liquid subset of the wire contract, its HTML rules, its limits.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DomainError, type ErrorDetail } from '../../src/domain/errors.ts';
import type { RenderedTemplate, TemplateRenderer, TemplateSource } from '../../src/ports/template-renderer.ts';
import fc from '../support/properties.ts';
import { cpuMsSince, threadCpuMsMax } from '../support/thread-cpu.ts';

export interface TemplateRendererHarness {
  readonly renderer: TemplateRenderer;
  /** UTC ms that `now` stands for. */
  readonly nowMs: number;
}

type Data = Readonly<Record<string, unknown>>;

export function templateRendererContract(name: string, makeHarness: () => TemplateRendererHarness): void {
  describe(`template renderer: ${name}`, () => {
    let renderer: TemplateRenderer;
    let nowMs: number;

    beforeAll(() => {
      ({ renderer, nowMs } = makeHarness());
    });
    afterAll(() => renderer.close());

    const message = (
      source: { subject?: string; body: string },
      data: Data,
      isEmail = true,
    ): RenderedTemplate | Promise<RenderedTemplate> =>
      renderer.render({ subject: source.subject ?? null, body: source.body }, data, { isEmail, owner: 'tnt_a' });
    const check = (source: TemplateSource): Promise<readonly ErrorDetail[]> =>
      renderer.check(source, { owner: 'tnt_a' });
    const text = async (body: string, data: Data = {}): Promise<string> => (await message({ body }, data, false)).body;
    const html = async (body: string, data: Data = {}): Promise<string> => {
      const rendered = await message({ body: `<p>${body}</p>` }, data);
      expect(rendered.bodyFormat).toBe('html');
      return rendered.body.slice('<p>'.length, -'</p>'.length);
    };
    const refusal = async (
      source: { subject?: string; body: string },
      data: Data = {},
    ): Promise<readonly ErrorDetail[]> => {
      const error: unknown = await Promise.resolve()
        .then(() => message(source, data))
        .then(
          () => new Error('was rendered'),
          (thrown: unknown) => thrown,
        );
      expect(error).toBeInstanceOf(DomainError);
      expect(error).toMatchObject({ code: 'BAD_REQUEST' });
      return (error as DomainError).details;
    };

    describe('outputs', () => {
      it('are replaced by the value of the same-named key, a missing one by nothing', async () => {
        expect(await text('Hi {{ name }}{{gone}}, {{-  name  -}} !', { name: 'Ada' })).toBe('Hi Ada,Ada!');
      });

      it('follow dotted paths, keys in brackets and size, first and last', async () => {
        const data = { user: { name: 'Ada', tags: ['a', 'b', 'c'] }, key: 'name', 'odd key': 'odd' };
        expect(await text('{{ user.name }} {{ user["name"] }} {{ user[key] }} {{ ["odd key"] }}', data)).toBe(
          'Ada Ada Ada odd',
        );
        expect(
          await text(
            '{{ user.tags[1] }} {{ user.tags[-1] }} {{ user.tags.size }}{{ user.tags.first }}{{ user.tags.last }}',
            data,
          ),
        ).toBe('b c 3ac');
        expect(
          await text('{{ user.none.deeper }}{{ user.name.deeper }}{{ none.deeper }}{{ user.tags[9] }}', data),
        ).toBe('');
      });

      it('prefer an exact key of the data to a path, a literal or a number', async () => {
        const data = {
          'user.name': 'exact',
          user: { name: 'path' },
          empty: 'E',
          nil: 'N',
          null: 'U',
          blank: 'B',
          true: 'T',
          5: 'five',
        };
        expect(await text('{{ user.name }} {{ user["name"] }}', data)).toBe('exact exact');
        expect(await text('{{ empty }}{{ nil }}{{ null }}{{ blank }}{{ true }}{{ 5 }}', data)).toBe('ENUBTfive');
        expect(await text('{{ empty }}{{ nil }}{{ null }}{{ blank }}{{ true }}{{ 5 }}{{ "q" }}')).toBe('true5q');
      });

      it('print numbers, booleans and arrays as Liquid does, and objects as JSON', async () => {
        const data = {
          n: 1.5,
          yes: true,
          no: false,
          nothing: null,
          list: [1, 'x', [2, null, { a: 1 }]],
          object: { a: [1], toString: 'mine' },
        };
        expect(await text('{{ n }} {{ yes }} {{ no }} {{ nothing }} {{ list }} {{ object }}', data)).toBe(
          '1.5 true false  1x2{"a":1} {"a":[1],"toString":"mine"}',
        );
      });

      it('never render a value again', async () => {
        expect(await text('{{ a }}{% if true %}{{ a }}{% endif %}', { a: '{{ b }}{% if b %}', b: 'x' })).toBe(
          '{{ b }}{% if b %}'.repeat(2),
        );
      });

      it('are rendered at once, without a promise, when there are no tags', () => {
        expect(message({ subject: 'Hi {{ name }}', body: '{{ name | upcase }}' }, { name: 'Ada' })).toEqual({
          subject: 'Hi Ada',
          body: 'ADA',
          bodyFormat: 'text',
        });
      });
    });

    describe('filters', () => {
      const filtered: readonly [string, Data, string][] = [
        ['{{ a | escape }}', { a: `<b>&"'` }, '&lt;b&gt;&amp;&#34;&#39;'],
        ['{{ a | raw }}', { a: '<b>' }, '<b>'],
        [
          '{{ a | default: "none" }}{{ b | default: a }}{{ c | default: 1, allow_false: true }}',
          { a: '', b: 'b', c: false },
          'nonebfalse',
        ],
        ['{{ a | upcase }}{{ a | downcase }}{{ a | capitalize }}', { a: 'aB' }, 'ABabAb'],
        ['[{{ a | strip }}]', { a: ' \n x ' }, '[x]'],
        ['{{ a | truncate: 8 }} {{ a | truncate: 8, "-" }}', { a: 'abcdefghij' }, 'abcde... abcdefg-'],
        ['{{ a | replace: "b", "xx" }}', { a: 'abab' }, 'axxaxx'],
        ['{{ a | newline_to_br }}', { a: 'x\ny' }, 'x<br />\ny'],
        [
          '{{ a | round }} {{ a | round: 1 }} {{ "7" | plus: a }} {{ a | minus: 1 }} {{ a | times: 2 }} {{ a | divided_by: 5 }}',
          { a: 2.55 },
          '3 2.6 9.55 1.5499999999999998 5.1 0.51',
        ],
        [
          '{{ a | size }}{{ s | size }} {{ a | first }}{{ a | last }} {{ a | join: "-" }} {{ a | join }}',
          { a: ['x', { y: 1 }], s: 'four' },
          '24 x{"y":1} x-{"y":1} x {"y":1}',
        ],
        ['{{ a | json }}', { a: { b: [1, '<'] } }, '{"b":[1,"<"]}'],
        ['{{ a | url_encode }}', { a: 'a b&ü' }, 'a+b%26%C3%BC'],
        ['{{ a | upcase | truncate: 4, "" | downcase }}', { a: 'abcdef' }, 'abcd'],
        ['{{ a | upcase }}{{ a | plus: 1 }}', { a: { valueOf: 'x' } }, '{"VALUEOF":"X"}1'],
      ];
      it.each(filtered)('%s', async (source, data, expected) => {
        expect(await text(source, data)).toBe(expected);
      });

      it('refuse a division by zero', async () => {
        expect(await refusal({ body: 'x {{ 1 | divided_by: n }}' }, { n: 0 })).toEqual([
          { path: 'body', message: 'divided by 0 (line 1, column 3)' },
        ]);
      });
    });

    describe('dates', () => {
      const dates: readonly [string, unknown, string][] = [
        ['{{ d | date: "%Y-%m-%d %H:%M:%S %z" }}', '2026-11-21T10:05:09Z', '2026-11-21 10:05:09 +0000'],
        ['{{ d | date: "%F %T" }}', '2026-11-21T10:05:09.5+02:00', '2026-11-21 08:05:09'],
        ['{{ d | date: "%F %R" }}', '2026-11-21 10:05', '2026-11-21 10:05'],
        [
          '{{ d | date: "%a %A %b %B %-d %e %j %y %I %p %q" }}',
          '2026-03-03',
          'Tue Tuesday Mar March 3  3 062 26 12 AM rd',
        ],
        ['{{ d | date }}', 0, 'Thursday, January 1, 1970 at 12:00 am +0000'],
        ['{{ d | date: "%s" }}', '1700000000', '1700000000'],
        ['{{ d | date: "%F" }}', 'Sat, 21 Nov 2026 23:30:00 -0500', '2026-11-22'],
        ['{{ d | date: "%F %R" }}', 'November 21, 2026 23:30', '2026-11-21 23:30'],
        ['{{ d | date: "%H:%M %z", "Europe/Berlin" }}', '2026-03-29T12:00:00Z', '14:00 +0200'],
        ['{{ d | date: "%H:%M %:z", 330 }}', '2026-03-29T12:00:00Z', '06:30 -05:30'],
        ['{{ d | date: "%^a %10Y %-m %Q 100%%" }}', '2026-03-29', 'SUN 0000002026 3 %Q 100%'],
        ['{{ d | date: "%Y" }}', 'soon', 'soon'],
        ['{{ d | date: "%Y" }}', null, ''],
      ];
      it.each(dates)('%s of %j is %s', async (source, d, expected) => {
        expect(await text(source, { d })).toBe(expected);
      });

      it('take now and today from the clock', async () => {
        const seconds = String(Math.floor(nowMs / 1000));
        expect(await text('{{ "now" | date: "%s" }} {% if true %}{{ "today" | date: "%s" }}{% endif %}')).toBe(
          `${seconds} ${seconds}`,
        );
      });

      it('refuse a zone that there is not', async () => {
        expect(await refusal({ body: '{{ 0 | date: "%Y", "Mars/Base" }}' })).toEqual([
          { path: 'body', message: 'unknown time zone "Mars/Base" (line 1, column 1)' },
        ]);
      });
    });

    describe('tags', () => {
      const tagged: readonly [string, Data, string][] = [
        ['{% if a == 1 and b %}x{% elsif c contains "y" %}y{% else %}z{% endif %}', { a: 2, c: 'xyz' }, 'y'],
        ['{% unless a %}x{% else %}y{% endunless %}', { a: false }, 'x'],
        ['{% case a %}{% when 1, 2 %}few{% when "x" %}ex{% else %}other{% endcase %}', { a: 2 }, 'few'],
        [
          '{% for i in list %}{{ forloop.index }}{{ i.n }}{% unless forloop.last %}, {% endunless %}{% else %}none{% endfor %}',
          { list: [{ n: 'a' }, { n: 'b' }] },
          '1a, 2b',
        ],
        ['{% for i in list %}{{ i }}{% else %}none{% endfor %}', { list: [] }, 'none'],
        ['{% for i in (1..5) limit: 2 offset: 1 %}{{ i }}{% endfor %}', {}, '23'],
        ['{% assign x = a | plus: 1 %}{{ x }}{% comment %}{{ x }} unseen{% endcomment %}', { a: 1 }, '2'],
        [
          '{% if user.name == "exact" %}{{ user.name }}{% endif %}',
          { 'user.name': 'exact', user: { name: 'path' } },
          'exact',
        ],
        [
          '{% for user in users %}{{ user.name }}{% endfor %}',
          { users: [{ name: 'local' }], 'user.name': 'exact' },
          'local',
        ],
        ['{% if a == empty %}empty{% endif %}', { a: '', empty: 'x' }, 'empty'],
      ];
      it.each(tagged)('%s', async (source, data, expected) => {
        expect(await text(source, data)).toBe(expected);
      });

      it('may stand in subjects and bodies of one message', async () => {
        const source = { subject: '{% if a %}Hi {{ a }}{% endif %}', body: '<p>{% if a %}{{ a }}{% endif %}</p>' };
        expect(await message(source, { a: 'A&B' })).toEqual({
          subject: 'Hi A&B',
          body: '<p>A&amp;B</p>',
          bodyFormat: 'html',
        });
      });
    });

    describe('what does not parse is refused, by check and by render alike', () => {
      const broken: readonly [string, string][] = [
        ['x\ny {{ a b }}', 'unexpected "b" (line 2, column 8)'],
        ['{{ a', 'output "{{ a" not closed (line 1, column 1)'],
        ['{{ }}', 'invalid value expression: "" (line 1, column 4)'],
        ['{{ a. }}', 'unexpected "a." (line 1, column 4)'],
        ['{{ a | }}', 'unexpected "|" (line 1, column 1)'],
        ['{{ a, b }}', 'unexpected ", b" (line 1, column 1)'],
        ['{{ a == b }}', 'unexpected "b" (line 1, column 9)'],
        ['{{ (1..3) }}', 'unexpected "(1..3)" (line 1, column 4)'],
        ['{{ a | upcase: 1 }}', 'the filter upcase takes 0 arguments (line 1, column 8)'],
        ['{{ a | default: 1, b: 2 }}', 'the filter default takes no argument named b (line 1, column 8)'],
        [`{{ a ${'| upcase '.repeat(21)}}}`, 'must have at most 20 filters (line 1, column 8)'],
        ['{% if a %}', 'tag {% if a %} not closed (line 1, column 1)'],
        ['{% if a b %}x{% endif %}', 'unexpected text in the condition or value (line 1, column 1)'],
        [
          '{% for i in a by:2 %}{% endfor %}',
          'unexpected "by"; a loop has offset, limit and reversed (line 1, column 1)',
        ],
      ];
      it.each(broken)('%j: %s', async (body, expected) => {
        const details = [{ path: 'body', message: expected }];
        expect(await check({ subject: null, body })).toEqual(details);
        expect(await refusal({ body }, { a: 1 })).toEqual(details);
      });

      it.each([
        'include "x"',
        'render "x"',
        'layout "x"',
        'block a',
        'raw',
        'capture a',
        'liquid',
        'echo a',
        'tablerow i in a',
        'increment a',
        'cycle "a"',
        'break',
        'endif',
        '# note',
        'nonsense',
      ])('the tag %s', async (tag) => {
        const [detail] = await check({ subject: null, body: `{% ${tag} %}` });
        expect(detail).toEqual({
          path: 'body',
          message: expect.stringMatching(/^(the tag .* can't stand here|raw .* not closed).* \(line 1, column \d+\)$/),
        });
      });

      it.each([
        'map: "x"',
        'where: "x"',
        'sort',
        'append: "x"',
        'split: ","',
        'slice: 1',
        'group_by: "x"',
        'constructor',
        '__proto__',
        'nonsense',
      ])('the filter %s', async (filter) => {
        expect((await check({ subject: null, body: `{{ a | ${filter} }}` }))[0]?.message).toMatch(
          /^there is no filter .* \(line 1, column 8\)$/,
        );
        expect((await check({ subject: null, body: `{% assign b = a | ${filter} %}` }))[0]?.message).toMatch(
          /filter.* \(line 1, column 1\)$/,
        );
      });

      it('names subject and body each by its path', async () => {
        const details = await check({ subject: '{{ a b }}', body: '{{ c d }}' });
        expect(details.map(({ path }) => path)).toEqual(['subject', 'body']);
        expect(await check({ subject: 'Hi {{ a }}', body: '{% if a %}{{ a }}{% endif %}' })).toEqual([]);
      });
    });

    describe('HTML', () => {
      it('is an email body whose source has HTML tags; subjects and all else are text', async () => {
        const data = { a: '<b>&' };
        expect(await message({ subject: '{{ a }} <b>', body: '<p>{{ a }}</p>' }, data)).toEqual({
          subject: '<b>& <b>',
          body: '<p>&lt;b&gt;&amp;</p>',
          bodyFormat: 'html',
        });
        expect(await message({ body: '{{ a }}' }, data)).toEqual({ subject: null, body: '<b>&', bodyFormat: 'text' });
        expect(await message({ body: '<p>{{ a }}</p>' }, data, false)).toEqual({
          subject: null,
          body: '<p><b>&</p>',
          bodyFormat: 'text',
        });
      });

      const escaped: readonly [string, string][] = [
        ['{{ x }}', '&lt;i&gt;\n'],
        ['{{ x | raw }}', '<i>\n'],
        ['{{ x | escape }}', '&lt;i&gt;\n'],
        ['{{ x | newline_to_br }}', '&lt;i&gt;<br />\n'],
        ['{{ x | escape | newline_to_br }}', '&lt;i&gt;<br />\n'],
        ['{{ x | newline_to_br | escape }}', '&lt;i&gt;<br />\n'],
        ['{{ x | upcase }}', '&lt;I&gt;\n'],
        ['{{ x | escape | upcase }}', '&lt;I&gt;\n'],
        ['{{ x | escape | truncate: 2, "" }}', '&lt;i'],
        ['{{ x | newline_to_br | truncate: 2, "" }}', '&lt;i'],
        ['{{ x | raw | escape }}', '&lt;i&gt;\n'],
        ['{{ x | raw | newline_to_br }}', '<i><br />\n'],
        ['{{ x | escape | url_encode }}', '%3Ci%3E%0A'],
        ['{{ x | escape | strip }}', '&lt;i&gt;'],
        ['{{ "" | escape | default: x }}', '&lt;i&gt;\n'],
        ['{{ "N" | escape | replace: "N", x }}', '&lt;i&gt;\n'],
        ['{{ "N" | raw | replace: "N", x }}', '&lt;i&gt;\n'],
        ['{{ "abcdef" | raw | truncate: 5, x }}', '&lt;i&gt;\n'],
        ['{{ l | join: x }}', '&lt;i&gt;&lt;i&gt;\n1'],
        ['{{ o }}', '{&#34;k&#34;:&#34;&lt;&#34;}'],
        ['{{ o | json }}', '{&#34;k&#34;:&#34;&lt;&#34;}'],
        ['{% assign y = x | newline_to_br %}{% if y contains "br" %}{{ y }}{% endif %}', '&lt;i&gt;<br />\n'],
        ['{% assign y = x | escape %}{{ y }}', '&lt;i&gt;\n'],
        ['{% for i in l %}{{ i }}{% endfor %}', '&lt;i&gt;1'],
      ];
      it.each(escaped)('%s', async (source, expected) => {
        expect(await html(source, { x: '<i>\n', l: ['<i>', 1], o: { k: '<' } })).toBe(expected);
      });

      it('lets nothing of a value through unescaped, whatever filters but raw it passes', async () => {
        const filter = fc.constantFrom(
          'escape',
          'newline_to_br',
          'upcase',
          'capitalize',
          'strip',
          'truncate: 6',
          'truncate: 9, v',
          'replace: "a", v',
          'default: v',
          'join: v',
          'json',
          'first',
          'last',
          'size',
        );
        await fc.assert(
          fc.asyncProperty(
            fc.array(filter, { maxLength: 6 }),
            fc.string({ unit: fc.constantFrom('<', '>', '"', '&', 'a', '\n', ' ') }),
            async (filters, v) => {
              const body = await html(`{{ ${['v', ...filters].join(' | ')} }}`, { v });
              expect(body.replaceAll('<br />', '')).not.toMatch(/[<>"]/);
            },
          ),
          { numRuns: 300 },
        );
      });
    });

    describe('strictly', () => {
      const strictly = async (
        { subject = null, body }: { subject?: string | null; body: string },
        data: Data,
      ): Promise<RenderedTemplate | readonly ErrorDetail[]> => {
        try {
          return await renderer.render({ subject, body }, data, { isEmail: true, owner: 'tnt_a', isStrict: true });
        } catch (error) {
          if (error instanceof DomainError) return error.details;
          throw error;
        }
      };
      const details = (names: readonly string[]) =>
        names.map((name) => ({ path: `data.${name}`, message: expect.stringContaining('is required') }));

      it('all names that are missing are refused at once, the subject’s first', async () => {
        const source = { subject: '{{ z }}', body: '<p>{{ user.name }}{{ there }}{{ z }}{{ a }}</p>' };
        expect(await strictly(source, { there: 1 })).toEqual(details(['z', 'user.name', 'a']));
        expect(await strictly(source, { there: 1, z: null, user: { name: '' }, a: false })).toMatchObject({
          body: '<p>1false</p>',
        });
      });

      it('the worker and the caller’s thread say the same', async () => {
        const outputs = '{{ a }}{{ b | default: c }}{{ d | default: "x" }}{{ e.f | upcase }}';
        const inPlace = await strictly({ body: outputs }, { e: {} });
        expect(inPlace).toEqual(details(['a', 'c', 'e.f']));
        // A tag has it rendered in the worker; so has what costs more than the caller's thread has to give.
        expect(await strictly({ body: `{% if x %}y{% endif %}${outputs}` }, { e: {} })).toEqual(inPlace);
        const costly = '{{ l | json | size }}'.repeat(40);
        expect(await strictly({ body: `${outputs}${costly}` }, { e: {}, l: 'x'.repeat(60_000) })).toEqual(inPlace);
      });

      it('what is refused is what a preview calls missing', async () => {
        const name = fc.constantFrom('a', 'b', 'o.a', 'o.b', 'list');
        const output = fc.tuple(name, fc.constantFrom('', ' | upcase', ' | default: a', ' | default: "x"'));
        const piece = fc.oneof(
          output.map((parts) => `{{ ${parts.join('')} }}`),
          fc.tuple(name, name).map(([a, b]) => `{% if ${a} %}{{ ${b} }}{% else %}{{ o.b }}{% endif %}`),
          name.map((a) => `{% for i in list %}{{ i.${a} }}{% endfor %}`),
        );
        const data = fc.record(
          { a: fc.boolean(), o: fc.record({ a: fc.nat() }, { requiredKeys: [] }), list: fc.constant([{}]) },
          { requiredKeys: [] },
        );
        await fc.assert(
          fc.asyncProperty(fc.array(piece, { maxLength: 5 }), data, async (pieces, given) => {
            const source = { subject: null, body: pieces.join('') };
            const { missing, ...rendered } = await renderer.preview(source, given, { isEmail: true, owner: 'tnt_a' });
            expect(await strictly(source, given)).toEqual(missing.length === 0 ? rendered : details(missing));
          }),
          { numRuns: 100 },
        );
      });

      it('thousands of names are told by their number and the first hundred', async () => {
        const body = Array.from({ length: 1500 }, (_, i) => `{{ n${i} }}`).join('');
        const error: unknown = await Promise.resolve()
          .then(() => renderer.render({ subject: null, body }, {}, { isEmail: false, owner: 'tnt_a', isStrict: true }))
          .catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({ message: expect.stringMatching(/n0, n1, .+n9 and 1490 more$/) });
        expect((error as DomainError).details).toHaveLength(100);
      });
    });

    describe('a preview', () => {
      const missing = async (source: { subject?: string; body: string }, data: Data = {}): Promise<readonly string[]> =>
        (await preview(source, data)).missing;
      const preview = ({ subject = null, body }: { subject?: string | null; body: string }, data: Data) =>
        renderer.preview({ subject, body }, data, { isEmail: true, owner: 'tnt_a' });

      it('is what would be sent, escaped in HTML, and the names that are missing', async () => {
        const source = { subject: 'Hi {{ name }}', body: '<p>{{ name }}{{ gone }}</p>' };
        expect(await preview(source, { name: '<b>' })).toEqual({
          subject: 'Hi <b>',
          body: '<p>&lt;b&gt;</p>',
          bodyFormat: 'html',
          missing: ['gone'],
        });
      });

      it('tells names once, in the order of their first use, the subject first', async () => {
        expect(await missing({ subject: '{{ z }}{{ b }}', body: '{{ c }}{{ z }}{{ a }}{{ c }}' })).toEqual([
          'z',
          'b',
          'c',
          'a',
        ]);
        expect(await missing({ subject: '{% assign y = z %}', body: '{{ c }}{{ z }}' })).toEqual(['z', 'c']);
        expect(await missing({ subject: '{{ z }}', body: '{% assign y = c %}{{ z }}{{ a }}' })).toEqual([
          'z',
          'c',
          'a',
        ]);
      });

      it('tells nested ones by their dotted path, also by computed keys', async () => {
        const data = { user: { name: 'Ada', tags: ['x'] }, key: 'city', i: 3 };
        expect(
          await missing(
            { body: '{{ user.name }}{{ user.mail }}{{ user.address.city }}{{ shop["name"] }}{{ user.tags[1] }}' },
            data,
          ),
        ).toEqual(['user.mail', 'user.address.city', 'shop.name', 'user.tags.1']);
        expect(await missing({ body: '{{ user[key] }}{{ user.tags[i] }}{{ none[key] }}{{ user[no] }}' }, data)).toEqual(
          ['user.city', 'user.tags.3', 'none', 'no', 'user.'],
        );
      });

      it('counts what is there as there, whatever it is', async () => {
        const data = { a: null, b: '', c: false, d: 0, e: [], 'f.g': 1 };
        expect(
          await missing({ body: '{{ a }}{{ b }}{{ c }}{{ d }}{{ e }}{{ f.g }}{{ e.size }}{{ "x" }}{{ nil }}' }, data),
        ).toEqual([]);
      });

      it('sees names in tags and filters, none that a tag has set itself, and what the items of a loop lack', async () => {
        const body =
          '{% for i in items %}{{ i.price }}{{ i.name }}{{ forloop.index }}{{ forloop.none }}{% endfor %}{% assign x = y %}{{ x }}{{ x.z }}{{ n }}';
        expect(await missing({ body }, { items: [{ name: 1 }, {}] })).toEqual(['i.price', 'i.name', 'y', 'n']);
        expect(
          await missing({ body: '{% assign u = user %}{{ u.mail }}{{ u[key] }}' }, { user: {}, key: 'k' }),
        ).toEqual(['u.mail', 'u.k']);
        expect(await missing({ body: '{% for i in items %}{{ i }}{% endfor %}{{ a | plus: b }}' })).toEqual([
          'items',
          'a',
          'b',
        ]);
      });

      it.each([
        ['{% if a %}x{% elsif b.c == "x" %}y{% endif %}{% unless d and e %}z{% endunless %}', []],
        ['{% if a %}{{ a }}{% else %}{{ b }}{% endif %}', ['b']],
        ['{% if a | size %}x{% elsif b contains "x" %}y{% endif %}', []],
        ['{% case a %}{% when "x" %}{{ b }}{% else %}{{ c }}{% endcase %}', ['c']],
        ['{% if there %}{{ a }}{% endif %}', ['a']],
      ])('passes over what is only tested: %s', async (body, names) => {
        expect(await missing({ body }, { there: true })).toEqual(names);
      });

      it.each([
        ['{{ a | default: "x" }}', []],
        ['{{ a.b | upcase | default: "x" }}', []],
        ['{{ a | plus: b | default: "x" }}', []],
        ['{{ a | default: b }}', ['b']],
        ['{{ a | default: b | default: c }}', ['c']],
        ['{{ there | default: b }}', []],
        ['{{ a | default: "x" | plus: b }}', ['b']],
        ['{{ no | default: b, allow_false: true }}{{ no | default: c }}', ['c']],
      ])(
        'passes over what has a default, and tells of a default only where it is needed: %s',
        async (output, names) => {
          const data = { there: 1, no: false };
          expect(await missing({ body: output }, data)).toEqual(names);
          const assigned = output.replaceAll(/\{\{ (.+?) \}\}/g, '{% assign v = $1 %}');
          expect(await missing({ body: assigned }, data)).toEqual(names);
        },
      );

      it('tells of a name that is too long by its beginning', async () => {
        const [name = ''] = await missing({ body: `{{ ${'a'.repeat(300)} }}` });
        expect(name).toBe(`${'a'.repeat(255)}…`);
      });

      it('sees nothing of a prototype', async () => {
        const names = ['__proto__', 'constructor', 'toString', 'a.__proto__'];
        expect(await missing({ body: names.map((name) => `{{ ${name} }}`).join('') }, { a: {} })).toEqual(names);
      });

      it('tells no more names than a source has outputs', async () => {
        const body = '{% for i in (1..3000) %}{{ data[i] }}{% endfor %}';
        expect((await missing({ body }, { data: {} })).length).toBeLessThanOrEqual(2000);
      });

      it('is refused as it would be when it is sent', async () => {
        await expect(preview({ body: 'a\n{{ b c }}' }, {})).rejects.toMatchObject({
          code: 'BAD_REQUEST',
          details: [{ path: 'body', message: expect.stringMatching(/line 2, column \d/) }],
        });
        await expect(preview({ subject: '{{ a }}', body: 'x' }, { a: 'x\r\nBcc: a@b.c' })).rejects.toMatchObject({
          details: [{ path: 'subject' }],
        });
      });
    });

    describe('own properties only', () => {
      it('nothing of a prototype can be read', async () => {
        const names = [
          '__proto__',
          'constructor',
          'toString',
          'hasOwnProperty',
          'a.__proto__',
          'a.constructor',
          'a.constructor.name',
          'l.map',
          's.at',
          'l.constructor.constructor',
          'a["constructor"]',
          '["__proto__"]',
        ];
        const data = { a: {}, l: [1], s: 'x' };
        expect(await text(names.map((name) => `{{ ${name} }}`).join(''), data)).toBe('');
        expect(await text(names.map((name) => `{% if ${name} %}${name}{% endif %}`).join(''), data)).toBe('');
        expect(
          await text(
            '{% for i in l %}{{ forloop.constructor }}{{ forloop.next }}{% if forloop.constructor %}bad{% endif %}{% endfor %}',
            data,
          ),
        ).toBe('');
      });

      it('own keys with such names are data as any', async () => {
        const data = JSON.parse('{"__proto__":{"polluted":"own"},"constructor":"c","a":{"__proto__":"p"}}') as Data;
        expect(await text('{{ __proto__.polluted }}{{ constructor }}{{ a.__proto__ }}', data)).toBe('owncp');
        expect(
          await text(
            '{% assign __proto__ = "x" %}{% for constructor in (1..2) %}{{ constructor }}{% endfor %}{{ a.polluted }}',
          ),
        ).toBe('12');
        expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
      });
    });

    describe('limits', () => {
      it('a rendered subject is one line of at most 998 characters', async () => {
        expect(await refusal({ subject: 'Hi {{ a }}', body: 'x' }, { a: 'x\r\nBcc: all@example.com' })).toEqual([
          { path: 'subject', message: 'must not contain a line break after rendering' },
        ]);
        expect(await refusal({ subject: '{{ a }}', body: 'x' }, { a: 'x'.repeat(999) })).toEqual([
          { path: 'subject', message: 'must have at most 998 characters after rendering' },
        ]);
        expect(await message({ subject: '{{ a }}', body: 'x' }, { a: 'x'.repeat(998) })).toMatchObject({ body: 'x' });
      });

      it('a rendered body is at most 200 KiB of UTF-8, with tags and without', async () => {
        const a = 'x'.repeat(50 * 1024);
        expect((await text('{{ a }}{{ a }}{{ a }}{{ a }}', { a })).length).toBe(200 * 1024);
        expect(await refusal({ body: '{{ a }}{{ a }}{{ a }}{{ a }}ü' }, { a })).toMatchObject([{ path: 'body' }]);
        expect(await refusal({ body: '{{ a }}{{ a }}{{ a }}ü{{ b }}' }, { a, b: 'ü'.repeat(25 * 1024) })).toMatchObject(
          [{ path: 'body' }],
        );
        expect(await refusal({ body: '{% for i in (1..5) %}{{ a }}{% endfor %}' }, { a })).toMatchObject([
          { path: 'body' },
        ]);
      });

      it("a body too large is that one request's fault: the template goes on", async () => {
        const body = '{% for i in l %}{{ a }}{% endfor %}';
        const a = 'x'.repeat(50 * 1024);
        expect(await refusal({ body }, { a, l: [1, 2, 3, 4, 5] })).toMatchObject([{ path: 'body' }]);
        expect(await text(body, { a: 'x', l: [1, 2] })).toBe('xx');
      });

      it('outputs alone can not use up more than a little memory', async () => {
        const body = `{{ a ${'| upcase '.repeat(19)} | size }}`.repeat(50);
        expect(await refusal({ body }, { a: 'x'.repeat(60_000) })).toMatchObject([
          { message: expect.stringContaining('takes too much memory') },
        ]);
        expect(await refusal({ body: '{{ a | replace: "", a }}' }, { a: 'x'.repeat(60_000) })).toMatchObject([
          { message: expect.stringContaining('takes too much memory') },
        ]);
      });

      it('2,000 outputs are not too many', async () => {
        expect(await check({ subject: null, body: 'x{{ a }}'.repeat(2000) })).toEqual([]);
      });

      it.each([
        ['more than 2,000 outputs and tags', '{{ a }}'.repeat(2001)],
        ['tags nested deeper than 20', `${'{% if a %}'.repeat(21)}${'{% endif %}'.repeat(21)}`],
        ['brackets nested without end', `{{ ${'a['.repeat(60_000)}`],
        ['brackets nested without end in a tag', `{% if ${'a['.repeat(60_000)} %}{% endif %}`],
        ['white space beyond ASCII in brackets', `{{ a[${'\u00a0'.repeat(3000)}b c] }}`],
        ['a path without end', `{{ a${'.b'.repeat(100_000)} }}`],
        ['keys without end', `{{ a${'[b]'.repeat(60_000)} }}`],
        ['a condition without end', `{% if ${'a and '.repeat(30_000)}a %}{% endif %}`],
        ['an output over 8 Ki characters', `{{ "${'x'.repeat(8185)}" }}`],
        ['a source over 256 Ki characters', `{{ a }}${'x'.repeat(256 * 1024)}`],
      ])('%s: refused in time', async (_, body) => {
        const before = process.threadCpuUsage();
        expect(await check({ subject: null, body })).toHaveLength(1);
        expect(cpuMsSince(before)).toBeLessThan(threadCpuMsMax);
      });

      it.each([
        ['an endless range', '{% for i in (1..1000000000) %}x{% endfor %}', {}],
        ['loops in loops', '{% for i in (1..5000) %}{% for j in (1..5000) %}{% endfor %}{% endfor %}', {}],
        [
          'a doubling value',
          '{% assign a = "xxxxxxxx" %}{% for i in (1..60) %}{% assign a = a | replace: "x", "xx" %}{% endfor %}',
          {},
        ],
        [
          'steps that are long themselves',
          '{% for i in (1..20000) %}{% if l contains "no" %}{% endif %}{% endfor %}',
          { l: Array.from({ length: 20_000 }, (_, i) => i) },
        ],
      ])('%s: cut in time, others go on, and a repeat is refused as the first one was', async (_, body, data) => {
        // The worker is loaded.
        await text('{% if a %}{% endif %}');
        const culprit = refusal({ body }, data);
        const others = Array.from({ length: 20 }, (_, i) => text(`{% if a %}${i}{% endif %}{{ a }}`, { a: '!' }));
        const refused = await culprit;
        expect(refused).toMatchObject([
          {
            path: 'body',
            message: expect.stringMatching(
              /takes too (long|much memory) to render: shorter lists in data or a simpler/,
            ),
          },
        ]);
        expect(await Promise.all(others)).toEqual(others.map((_, i) => `${i}!`));
        expect(await refusal({ body }, data)).toEqual(refused);
      });
    });

    it('what was too much with some data is rendered with others: a request harms no other', async () => {
      const body = '{% for i in l %}{% if l contains "no" %}{% endif %}{% endfor %}!';
      const l = Array.from({ length: 10_000 }, (_, i) => i);
      expect(await refusal({ body }, { l })).toMatchObject([{ message: expect.stringMatching(/takes too long/) }]);
      expect(await text(body, { l: [1] })).toBe('!');
      const preview = renderer.preview({ subject: null, body }, { l: [2] }, { isEmail: false, owner: 'tnt_a' });
      expect(await preview).toMatchObject({ body: '!' });
    });

    it("any data renders or is refused as the caller's mistake", async () => {
      const sources = [
        '{{ a }}{{ a.b }}{{ a.b.c | upcase }}{{ a | plus: a | round }}{{ a | join: a | truncate: 5 }}',
        '<p>{{ a | date: a | json }}{{ a | default: a | newline_to_br }}{{ a | replace: a, a | url_encode }}</p>',
        '{% for i in a %}{{ i }}{{ i.b | first }}{% endfor %}{% if a > 1 or a.b contains a %}{{ a | size }}{% endif %}',
      ];
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...sources),
          fc.object({
            key: fc.constantFrom('a', 'b', 'c', 'toString', '__proto__', 'length', 'valueOf', 'toJSON'),
            maxDepth: 3,
            values: [
              fc.string({ unit: 'binary' }),
              fc.double(),
              fc.boolean(),
              fc.constant(null),
              fc.array(fc.integer()),
            ],
          }),
          async (body, data) => {
            try {
              expect(typeof (await message({ subject: '{{ a.b }}', body }, data)).body).toBe('string');
            } catch (error) {
              expect(error).toBeInstanceOf(DomainError);
              expect(error).toMatchObject({
                code: 'BAD_REQUEST',
                details: [{ path: expect.stringMatching(/^(subject|body)$/) }],
              });
            }
          },
        ),
        { numRuns: 500 },
      );
    });
  });
}
