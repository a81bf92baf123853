// Whether a text is HTML, as the service tells it of a mail's source: by the tags of known elements, so that `<jane@example.com>` leaves a text plain. Pure.

/** Ends at the next `<` as well, so that no text takes longer than to be read once. */
const tagPattern = /<(?:\/?([a-z][a-z0-9]*)(?=[\s/>])|!doctype\s)[^<>]*>/gi;

const elements = new Set(
  `doctype html head title base link meta style script noscript template body address article aside footer header h1 h2 h3 h4 h5 h6 hgroup main nav section
  search blockquote dd div dl dt figcaption figure hr li menu ol p pre ul a abbr b bdi bdo br cite code data dfn em i kbd mark q rp rt ruby s samp small span
  strong sub sup time u var wbr area audio img map track video embed iframe object picture source svg math canvas del ins caption col colgroup table tbody td
  tfoot th thead tr button datalist fieldset form input label legend meter optgroup option output progress select textarea details dialog summary slot
  acronym big center dir font marquee nobr param strike tt`.split(/\s+/),
);

export function isHtml(text: string): boolean {
  for (const [, name = 'doctype'] of text.matchAll(tagPattern)) if (elements.has(name.toLowerCase())) return true;
  return false;
}

/** Styles that would ask for a file: what is spelled otherwise the frame's policy refuses. One that isn't closed goes to the end, as it does for a browser. */
export function withoutLoading(css: string): string {
  return css.replaceAll(/@import[^;]*;?/gi, '').replaceAll(/url\((?!\s*["']?data:image\/)[^)]*\)?/gi, 'none');
}
