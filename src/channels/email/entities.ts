// The characters that an HTML text names: by number, and by the names that mails use.

/** Of U+00A0 to U+00FF, in their order. */
const latin1 =
  `nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot cedil sup1
  ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde
  Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute
  ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml`.split(
    /\s+/,
  );

const named = new Map<string, string>([
  ...latin1.map((name, i) => [name, String.fromCharCode(0xa0 + i)] as const),
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
  ['ndash', '–'],
  ['mdash', '—'],
  ['lsquo', '‘'],
  ['rsquo', '’'],
  ['sbquo', '‚'],
  ['ldquo', '“'],
  ['rdquo', '”'],
  ['bdquo', '„'],
  ['lsaquo', '‹'],
  ['rsaquo', '›'],
  ['hellip', '…'],
  ['bull', '•'],
  ['dagger', '†'],
  ['Dagger', '‡'],
  ['prime', '′'],
  ['Prime', '″'],
  ['euro', '€'],
  ['trade', '™'],
  ['larr', '←'],
  ['uarr', '↑'],
  ['rarr', '→'],
  ['darr', '↓'],
  ['check', '✓'],
  ['minus', '−'],
  ['ensp', ' '],
  ['emsp', ' '],
  ['thinsp', ' '],
  ['zwnj', '\u200c'],
  ['zwj', '\u200d'],
  ['Scaron', 'Š'],
  ['scaron', 'š'],
  ['OElig', 'Œ'],
  ['oelig', 'œ'],
  ['Yuml', 'Ÿ'],
]);

/** Names that aren't known stay as they are. */
export function withoutEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(
    /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z]{2,8}[1-4]{0,2}));?/g,
    (whole, decimal, hex, name) => {
      if (name !== undefined) return named.get(String(name)) ?? whole;
      return characterOf(decimal === undefined ? Number.parseInt(String(hex), 16) : Number(decimal));
    },
  );
}

/** As HTML says (13.2.5.80): 0x80 to 0x9F are those of Windows, what is no character is U+FFFD. Control characters are blanks. */
function characterOf(code: number): string {
  if (code >= 0x80 && code <= 0x9f) return windows1252.decode(Uint8Array.of(code));
  if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return '\ufffd';
  return code < 0x20 || code === 0x7f ? ' ' : String.fromCodePoint(code);
}

const windows1252 = new TextDecoder('windows-1252');
