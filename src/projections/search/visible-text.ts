// What a reader of an HTML body sees, near enough for finding its words: without tags, styles, scripts and comments.

/** Tags looked at; a body of nothing but tags ends there. */
const tagsMax = 2000;

/** At most `lengthMax` characters, in time that grows with the body's length alone. */
export function visibleText(html: string, lengthMax: number): string {
  let text = '';
  let at = 0;
  for (let tags = 0; tags < tagsMax && text.length < lengthMax; tags++) {
    const open = html.indexOf('<', at);
    if (open < 0) return withoutEntities(text + html.slice(at)).slice(0, lengthMax);
    text += `${html.slice(at, open)} `;
    const close = endOfTag(html, open);
    if (close < 0) break;
    at = close;
  }
  return withoutEntities(text.slice(0, lengthMax));
}

/** Where the text goes on after the tag, or after the element whose content isn't text; -1: it doesn't. */
function endOfTag(html: string, open: number): number {
  if (html.startsWith('<!--', open)) return after(html, '-->', open);
  const end = after(html, '>', open);
  const name = /^<(style|script)\b/i.exec(html.slice(open, open + 8))?.[1];
  return end < 0 || name === undefined ? end : after(html, '>', after(html, '</', end));
}

function after(html: string, text: string, from: number): number {
  const found = from < 0 ? -1 : html.indexOf(text, from);
  return found < 0 ? -1 : found + text.length;
}

function withoutEntities(text: string): string {
  return text.replace(/&#?\w{1,8};/g, ' ');
}
