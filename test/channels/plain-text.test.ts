// What an HTML mail says as plain text.

import { describe, expect, it } from '@jest/globals';

import { plainText } from '../../src/channels/email/plain-text.ts';
import fc from '../support/properties.ts';
import { cpuMsSince, threadCpuMsMax } from '../support/thread-cpu.ts';

describe('an HTML body as text', () => {
  it.each([
    ['paragraphs', '<p>One</p><p>Two\n  lines</p>Three', 'One\n\nTwo lines\n\nThree'],
    ['blocks', '<div>One</div><div>Two <b>bold</b>, <i>not</i></div>', 'One\nTwo bold, not'],
    ['breaks', 'One<br>Two<br/><br />Three<br><br><br>Four', 'One\nTwo\n\nThree\n\nFour'],
    ['a heading', '<h1>Hello</h1><p>World', 'Hello\n\nWorld'],
    [
      'a link',
      '<a class="b" href="https://example.com/?a=1&amp;b=2">Pay now</a>.',
      'Pay now <https://example.com/?a=1&b=2>.',
    ],
    ['a link that says its address', '<a href=https://example.com>https://example.com</a>', 'https://example.com'],
    ['a mail link', '<a href="mailto:a@example.com">a@example.com</a>', 'a@example.com'],
    ['a link to nowhere', '<a href="#top">Up</a> <a href="javascript:alert(1)">no</a>', 'Up no'],
    ['a link of a picture', '<a href="https://example.com"><img alt="Shop" src="x"></a>', 'Shop <https://example.com>'],
    [
      'links that nobody closed',
      '<a href="https://a.example">A<a href="https://b.example">B',
      'A <https://a.example>B <https://b.example>',
    ],
    ['a list', '<p>Now:<ul><li>one<li>two</ul>done', 'Now:\n\n- one\n- two\n\ndone'],
    ['lists in lists', '<ol><li>one<ul><li>inner</li></ul></li><li><p>two</p></li></ol>', '1. one\n  - inner\n2. two'],
    ['a table', '<table><tr><td>Tea</td><td>2 &euro;</td></tr><tr><td>Milk</td></tr></table>', 'Tea 2 €\nMilk'],
    ['a ruler', 'above<hr>below', `above\n${'-'.repeat(20)}\nbelow`],
    ['preformatted text', 'a<pre>  x\n    y</pre>b', 'a\n\n  x\n    y\n\nb'],
    ['pictures', '<img alt=" A  cat "><img src="pixel.gif">', 'A cat'],
    [
      'what nobody reads',
      '<head><title>T</title><style>p { a: "</p>" }</style></head><script>1 < 2</script><!-- no > --><p>yes',
      'yes',
    ],
    ['comments of Outlook', '<!--[if mso]><table><![endif]-->yes<![endif]>', 'yes'],
    [
      'entities',
      '&lt;b&gt; &amp;amp; &#38;&#x26; &uuml;&Uuml;&nbsp;&hellip;&unknown; AT&T &#146; &#0;&#xD800;',
      '<b> &amp; && üÜ …&unknown; AT&T ’ \ufffd\ufffd',
    ],
    ['text that looks like tags', 'a < b, 1<2 <3 <> x', 'a < b, 1<2 <3 <> x'],
    ['a quoted end', '<p title="a > b" data-x=\'>\'>text</p>', 'text'],
    ['an apostrophe in a tag', "<p it's fine>text</p> it's", "text\n\nit's"],
    ['a tag without an end', 'text <a href="x', 'text'],
    ['emoji', '<p>👩‍👩‍👧 ok</p>', '👩‍👩‍👧 ok'],
  ])('reads %s', (_, html, text) => {
    expect(plainText(html)).toBe(text);
  });

  it('is none where there is nothing to read', () => {
    for (const html of ['', ' \n', '<p></p>', '<img src="a">', '<style>a</style>', '&nbsp;', '<!-- a'])
      expect(plainText(html)).toBeNull();
  });

  it('never holds a tag that the HTML had, nor anything of its comments and scripts', () => {
    const piece = fc.constantFrom(
      '<p>',
      '</p>',
      '<br>',
      '<ul><li>',
      '</ul>',
      '<a href="https://x.example">',
      '</a>',
      '<td>',
      '<pre>',
      '</pre>',
    );
    const hidden = fc.constantFrom('<!-- hidden -->', '<script>hidden()</script>', '<style>.hidden{}</style>');
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, hidden, fc.stringMatching(/^[a-z ]{1,9}$/)), { maxLength: 60 }), (parts) => {
        const text = plainText(parts.join('')) ?? '';
        expect(text).not.toMatch(/hidden|<\/?(?:p|br|ul|li|a|td|pre)\b/);
        const words = (of: string) => of.replaceAll(/<https:[^>]*>|^\s*-(?= |$)/gm, ' ').match(/[a-z]+/g) ?? [];
        const written = parts.filter((part) => !part.startsWith('<'));
        expect(words(text).join('')).toBe(written.join('').replaceAll(' ', ''));
      }),
    );
  });

  it.each([
    '<',
    '<a ',
    '<a href="',
    "<a href='x' ",
    '<!--',
    '<style>',
    '</',
    '&#',
    '<a href=x>',
    '<b>',
    '<ul><li>',
    '<pre>\n\n ',
    '<p a=',
    '<a x="\'" ',
    '<br> ',
    '<li>',
  ])('takes a time that grows with its length alone, whatever it repeats: %j', (piece) => {
    const html = piece.repeat(Math.floor((200 * 1024) / piece.length));
    const before = process.threadCpuUsage();
    for (const end of ['', '>x', '"x>'])
      expect((plainText(`${html}${end}`) ?? '').length).toBeLessThan(4 * html.length);
    expect(cpuMsSince(before)).toBeLessThan(threadCpuMsMax);
  });

  it('ends behind 10,000 tags, and says that it does', () => {
    const text = plainText('<b>x'.repeat(30_000)) ?? '';
    expect(text).toBe(`${'x'.repeat(10_000)} [...]`);
  });
});
