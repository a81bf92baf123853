import { describe, expect, it } from '@jest/globals';
import { bodyBytesMax, bodyProblem, isHtmlSource, subjectProblem } from '../../src/domain/template.ts';
import fc from '../support/properties.ts';

describe('isHtmlSource', () => {
  it.each([
    '<p>Hi</p>',
    'Hi<br>there',
    'Hi<br/>there',
    '<A HREF="{{ url }}">x</A>',
    '</div>',
    '<!doctype html>\nx',
    '<h1\nclass="x">y',
    '<p{% if x %} class="a"{% endif %}>x',
    '{{ name }} <b>{{ x }}</b>',
    '{% if a < 1 %}<td>{% endif %}',
  ])('%j is HTML', (source) => {
    expect(isHtmlSource(source)).toBe(true);
  });

  it.each([
    '',
    'plain',
    'a < b and c > d',
    '1 <2 and 3> 1',
    'Write to Jane <jane@example.com>',
    'Use <your-name> or <name>',
    '<https://example.com/p>',
    '{% if a <b and c> d %}x{% endif %}',
    '{{ "<p>" }}',
    '<!-- a note -->',
    '<p',
    '<pp>x</pp>',
    '&lt;p&gt;',
  ])('%j is not', (source) => {
    expect(isHtmlSource(source)).toBe(false);
  });

  it('takes no longer than the text is long', () => {
    for (const piece of ['<a ', '<p', '{{', '{%', '{', '<!doctype ', '</']) {
      const startedAt = performance.now();
      isHtmlSource(piece.repeat(200_000 / piece.length));
      expect(performance.now() - startedAt).toBeLessThan(200);
    }
  });
});

describe('subjects and bodies after rendering', () => {
  it('a subject is one line of at most 998 characters', () => {
    expect(subjectProblem('x'.repeat(998))).toBeNull();
    expect(subjectProblem('x'.repeat(999))).not.toBeNull();
    expect(subjectProblem('a\nb')).not.toBeNull();
    expect(subjectProblem('a\rb')).not.toBeNull();
  });

  it('a body is measured in bytes of UTF-8', () => {
    const encoder = new TextEncoder();
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }),
        fc.integer({ min: -40, max: 40 }),
        (unit, more) => {
          const size = encoder.encode(unit).length;
          const body = unit.repeat(Math.floor(bodyBytesMax / size) + more);
          expect(bodyProblem(body) === null).toBe(encoder.encode(body).length <= bodyBytesMax);
        },
      ),
      { numRuns: 50 },
    );
  });
});
