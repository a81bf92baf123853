// What holds of a template's name, and of a message before and after it is rendered: whether it is HTML, and how large it may be.

import type { ErrorDetail } from './errors.ts';
import { DomainError } from './errors.ts';

/** What a template may be called. */
export const templateName = /^[A-Za-z0-9._-]{1,100}$/;

/** UTF-8 bytes of a body after rendering. */
export const bodyBytesMax = 200 * 1024;
/** RFC 5322 2.1.1: a line is at most 998 characters. */
const subjectCharactersMax = 998;

/**
 * Whether a body's source, before rendering, has HTML tags: a start or end tag of a known HTML element, or a doctype, outside of `{{ }}` and `{% %}`.
 * Unknown names don't count, so that `<your name>` or `<jane@example.com>` in a plain text stays plain text.
 */
export function isHtmlSource(source: string): boolean {
  if (!source.includes('<')) return false;
  for (const [, name = 'doctype'] of withoutPlaceholders(source).matchAll(tagPattern)) {
    if (elements.has(name.toLowerCase())) return true;
  }
  return false;
}

/** So many are told of one by one; a template may ask for thousands. */
const lackingNamesMax = 100;
const namesInSentence = 10;

/** 400 for data that lack names which a strict template asks for: all of them at once. */
export function lackingNames(names: readonly string[]): DomainError {
  const more = names.length - namesInSentence;
  const told = `${names.slice(0, namesInSentence).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  const details = names
    .slice(0, lackingNamesMax)
    .map((name) => ({ path: `data.${name}`, message: 'is required: the template asks for it' }));
  return new DomainError('BAD_REQUEST', `data: lacks what the template asks for: ${told}`, { details });
}

/** What is wrong with a rendered subject; null when nothing is. A line break in it would be a header of its own. */
export function subjectProblem(subject: string): string | null {
  if (subject.length > subjectCharactersMax) return `must have at most ${subjectCharactersMax} characters`;
  return subject.includes('\n') || subject.includes('\r') ? 'must not contain a line break' : null;
}

/** What is wrong with a rendered body; null when nothing is. */
export function bodyProblem(body: string): string | null {
  const fits = body.length * 3 <= bodyBytesMax || utf8Bytes(body) <= bodyBytesMax;
  return fits ? null : `must have at most ${bodyBytesMax / 1024} KiB`;
}

/** What is too long in a template's own text, by field. */
export function sizeProblems({
  subject,
  body,
}: {
  readonly subject: string | null;
  readonly body: string;
}): ErrorDetail[] {
  const ofSubject = subject === null ? null : subjectProblem(subject);
  const ofBody = bodyProblem(body);
  return [
    ...(ofSubject === null ? [] : [{ path: 'subject', message: ofSubject }]),
    ...(ofBody === null ? [] : [{ path: 'body', message: ofBody }]),
  ];
}

const tagPattern = /<(?:\/?([a-z][a-z0-9]*)(?=[\s/>])|!doctype\s)[^<>]*>/gi;

const elements = new Set(
  `doctype html head title base link meta style script noscript template body address article aside footer header h1 h2 h3 h4 h5 h6 hgroup main nav section
  search blockquote dd div dl dt figcaption figure hr li menu ol p pre ul a abbr b bdi bdo br cite code data dfn em i kbd mark q rp rt ruby s samp small span
  strong sub sup time u var wbr area audio img map track video embed iframe object picture source svg math canvas del ins caption col colgroup table tbody td
  tfoot th thead tr button datalist fieldset form input label legend meter optgroup option output progress select textarea details dialog summary slot
  acronym big center dir font marquee nobr param strike tt`.split(/\s+/),
);

/** The source with each `{{ }}` and `{% %}` replaced by a space: `a < b` in a condition is no tag, and `<p{% if x %} id="a"{% endif %}>` is one. */
function withoutPlaceholders(source: string): string {
  if (!source.includes('{')) return source;
  let text = '';
  let from = 0;
  for (;;) {
    const open = nextPlaceholder(source, from);
    const close = open < 0 ? -1 : source.indexOf(source[open + 1] === '{' ? '}}' : '%}', open + 2);
    if (close < 0) return text + source.slice(from);
    text += `${source.slice(from, open)} `;
    from = close + 2;
  }
}

function nextPlaceholder(source: string, from: number): number {
  let at = source.indexOf('{', from);
  while (at >= 0 && source[at + 1] !== '{' && source[at + 1] !== '%') at = source.indexOf('{', at + 1);
  return at;
}

const encoder = new TextEncoder();

/** Encoded and thrown away: 200 KiB take 0.1 ms, to look at their characters one by one 0.7. */
export function utf8Bytes(text: string): number {
  return encoder.encode(text).length;
}
