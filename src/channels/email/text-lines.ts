// Lines of plain text as the elements of an HTML text ask for them: paragraphs, lists, links, pictures by what is said of them.

type Attribute = (name: string) => string;

/** How many line breaks stand before and behind an element: 2 leave an empty line. All others stand in their line. */
const breaksAround = new Map<string, 1 | 2>([
  ...'p h1 h2 h3 h4 h5 h6 ul ol dl table blockquote pre figure'.split(' ').map((name) => [name, 2] as const),
  ...'div section article header footer main nav aside address center form fieldset li dt dd tr thead tbody tfoot caption figcaption hr body html'
    .split(' ')
    .map((name) => [name, 1] as const),
]);

/** Lists within one another; those deeper count as the deepest. */
const depthMax = 6;
const rule = '-'.repeat(20);

export function createTextLines() {
  const parts: string[] = [];
  /** Of the lists around: the number of the last item; null: a list of points. */
  const lists: (number | null)[] = [];
  let preformatted = 0;
  /** What stands between what was written and what comes. */
  let breaks = 0;
  let space = false;
  let isLineEmpty = true;
  /** The mark of an item was written, and nothing behind it. */
  let isAtMark = false;
  let link: { readonly href: string; readonly from: number } | null = null;

  const write = (text: string): void => {
    if (text === '') return;
    if (breaks > 0 && parts.length > 0) parts.push('\n'.repeat(breaks));
    else if (space && !isLineEmpty) parts.push(' ');
    breaks = 0;
    space = false;
    isLineEmpty = false;
    isAtMark = false;
    parts.push(text);
  };

  const breakLine = (count: number): void => {
    if (isAtMark) return;
    breaks = Math.max(breaks, count);
    isLineEmpty = true;
    space = false;
  };

  /** A list inside an item begins in the next line. */
  const breakAround = (name: string): void => {
    const around = breaksAround.get(name) ?? 0;
    if (around > 0) breakLine((name === 'ul' || name === 'ol') && lists.length > 0 ? 1 : around);
  };

  const startItem = (): void => {
    const last = lists.at(-1) ?? null;
    if (last !== null) lists[lists.length - 1] = last + 1;
    write(`${'  '.repeat(Math.max(0, lists.length - 1))}${last === null ? '-' : `${last + 1}.`}`);
    space = true;
    isAtMark = true;
  };

  /** Its address behind its text, unless that is the address already. */
  const endLink = (): void => {
    if (link === null) return;
    const { href, from } = link;
    link = null;
    if (!/^(?:https?|mailto|tel):/i.test(href)) return;
    const address = href.replace(/^(?:mailto|tel):/i, '');
    const text = parts.slice(from).join('').trim();
    if (text === href || text === address) return;
    if (text !== '') space = true;
    write(`<${address}>`);
  };

  return {
    /** What stands between tags, its entities read. */
    text(text: string): void {
      if (preformatted > 0) return write(text.replaceAll(/\r\n?/g, '\n'));
      const flat = text.replaceAll(blanks, ' ');
      if (flat.startsWith(' ')) space = true;
      write(flat.trim());
      if (flat.endsWith(' ')) space = true;
    },

    open(name: string, attribute: Attribute): void {
      if (name === 'li') isAtMark = false;
      breakAround(name);
      switch (name) {
        case 'br':
          // Two in a row leave an empty line.
          return breakLine(isLineEmpty ? Math.min(breaks + 1, 2) : 1);
        case 'hr':
          write(rule);
          return breakLine(1);
        case 'li':
          return startItem();
        case 'td':
        case 'th':
          space = true;
          return;
        case 'img':
          return write(attribute('alt').replaceAll(blanks, ' '));
        case 'pre':
          preformatted++;
          return;
        case 'ul':
        case 'ol':
          if (lists.length < depthMax) lists.push(name === 'ol' ? 0 : null);
          return;
        case 'a':
          endLink();
          link = { href: attribute('href'), from: parts.length };
          return;
      }
    },

    close(name: string): void {
      if (name === 'a') endLink();
      if (name === 'pre') preformatted = Math.max(0, preformatted - 1);
      if (name === 'ul' || name === 'ol') lists.pop();
      breakAround(name);
    },

    end(): string {
      endLink();
      return parts.join('').trim();
    },
  };
}

const blanks = /[\s\u00a0]+/g;
