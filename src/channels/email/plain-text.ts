// What an HTML body says as plain text: the second form of a mail, for readers that show no HTML and filters that distrust mails without it.
//
// One pass that never looks back, so its time grows with the length alone, whatever a tenant's HTML is: at most 10,000 tags of 200 KiB.

import { withoutEntities } from './entities.ts';
import { createTextLines } from './text-lines.ts';

/** Three times what a long newsletter has. What is behind them isn't told. */
const tagsMax = 10_000;

/** null: there is nothing to read in it. */
export function plainText(html: string): string | null {
  const lines = createTextLines();
  let at = 0;
  for (let tags = 0; at < html.length; tags++) {
    const open = tagFrom(html, at);
    lines.text(withoutEntities(html.slice(at, open)));
    if (open >= html.length) break;
    if (tags >= tagsMax) {
      lines.text(' [...]');
      break;
    }
    at = open + 1;
    const first = html.charCodeAt(at);
    if (first === exclamation || first === question) at = behindComment(html, open);
    else at = element(html, open, lines);
  }
  const text = lines.end();
  return text === '' ? null : text;
}

type Lines = ReturnType<typeof createTextLines>;

const exclamation = 0x21;
const question = 0x3f;

/** Where the next tag, comment or declaration begins, or the end: a `<` before anything else is text. */
function tagFrom(html: string, from: number): number {
  tagStart.lastIndex = from;
  return tagStart.exec(html)?.index ?? html.length;
}

const tagStart = /<[A-Za-z/!?]/g;

function behindComment(html: string, open: number): number {
  return html.startsWith('<!--', open) ? behind(html, '-->', open + 4) : behind(html, '>', open);
}

function behind(html: string, text: string, from: number): number {
  const found = html.indexOf(text, from);
  return found < 0 ? html.length : found + text.length;
}

/** Tells the lines of one tag; where the text goes on. A tag without an end takes the rest with it, as in a browser. */
function element(html: string, open: number, lines: Lines): number {
  const isEnd = html[open + 1] === '/';
  tagName.lastIndex = open + (isEnd ? 2 : 1);
  const name = (tagName.exec(html)?.[0] ?? '').toLowerCase();
  const close = endOfTag(html, open + 1);
  if (close < 0) return html.length;
  const silent = isEnd ? undefined : withoutText.get(name);
  if (silent !== undefined) return behindElement(html, silent, close + 1);
  if (isEnd) lines.close(name);
  else lines.open(name, (wanted) => attributeOf(html.slice(open + 1 + name.length, close), wanted));
  return close + 1;
}

const tagName = /[A-Za-z][A-Za-z0-9]{0,15}|/y;

/** Elements whose content nobody reads, and where each ends. */
const withoutText = new Map(
  ['style', 'script', 'title', 'noembed', 'noframes', 'iframe', 'textarea'].map((name) => [
    name,
    new RegExp(`</${name}`, 'gi'),
  ]),
);

function behindElement(html: string, end: RegExp, from: number): number {
  end.lastIndex = from;
  const found = end.exec(html);
  return found === null ? html.length : behind(html, '>', found.index);
}

/** A `>` inside a quoted value doesn't end it. */
function endOfTag(html: string, from: number): number {
  for (let at = from; ;) {
    tagStop.lastIndex = at;
    const stop = tagStop.exec(html);
    if (stop === null) return -1;
    const [text] = stop;
    const last = stop.index + text.length - 1;
    if (text === '>') return last;
    const end = html.indexOf(text.at(-1) ?? '', last + 1);
    if (end < 0) return -1;
    at = end + 1;
  }
}

/** The end, or the beginning of a quoted value. White space between `=` and the quote is bounded: mails have none. */
const tagStop = />|=\s{0,4}["']/g;

/** Empty where there is none; of a name given twice the first counts. */
function attributeOf(tag: string, wanted: string): string {
  attribute.lastIndex = 0;
  for (let found = attribute.exec(tag); found !== null; found = attribute.exec(tag)) {
    const [, name = '', double, single, bare] = found;
    if (name.toLowerCase() === wanted) return withoutEntities(double ?? single ?? bare ?? '').trim();
  }
  return '';
}

const attribute = /([^\s=>/"']+)(?:\s{0,4}=\s{0,4}(?:"([^"]*)"|'([^']*)'|([^\s>"']+)))?/g;
