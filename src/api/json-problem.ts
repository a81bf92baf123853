// Where a text stops being JSON and what should stand there, without a word of what it holds: that may be a secret. One pass, after JSON.parse has refused it.

import { assertNever } from '../domain/assert-never.ts';

/** What the place waits for. */
type Wanted = 'value' | 'value or ]' | 'name or }' | 'name' | 'colon' | 'comma or end';

interface Look {
  readonly text: string;
  at: number;
  wanted: Wanted;
  /** The objects and arrays that are open. */
  readonly open: ('{' | '[')[];
}

/** `at line 1, column 20: a comma or } should stand here`; null: it is JSON. */
export function jsonProblem(text: string): string | null {
  const look: Look = { text, at: 0, wanted: 'value', open: [] };
  const problem = firstProblem(look);
  if (problem === null) return null;
  const before = text.slice(0, look.at);
  const lineBegin = before.lastIndexOf('\n') + 1;
  const line = before.split('\n').length;
  return `at line ${line}, column ${look.at - lineBegin + 1}: ${problem}`;
}

/** What is wrong at `look.at`. */
function firstProblem(look: Look): string | null {
  for (;;) {
    while (isSpace(look.text.charCodeAt(look.at))) look.at++;
    if (look.at === look.text.length)
      return look.wanted === 'comma or end' && look.open.length === 0 ? null : `it ends here, ${missingAtEnd(look)}`;
    const problem = step(look);
    if (problem !== null) return problem;
  }
}

function step(look: Look): string | null {
  const character = look.text[look.at];
  switch (look.wanted) {
    case 'colon':
      return character === ':' ? go(look, 'value') : 'a colon should stand here, behind the name';
    case 'comma or end':
      return afterValue(look);
    case 'name':
    case 'name or }':
      if (character === '}' && look.wanted === 'name or }') return closed(look);
      if (character === '"') return passString(look, 'colon');
      return character === '}' ? trailingComma : `a name in double quotes should stand here${hint(look)}`;
    case 'value or ]':
      return character === ']' ? closed(look) : passValue(look);
    case 'value':
      return character === ']' && look.open.at(-1) === '[' ? trailingComma : passValue(look);
    default:
      return assertNever(look.wanted);
  }
}

const trailingComma = 'a comma stands before this, and nothing comes after it: leave it out';

function afterValue(look: Look): string | null {
  const character = look.text[look.at];
  const inside = look.open.at(-1);
  if (inside === undefined) return 'there is more after the end: a body is one JSON value';
  if (character === ',') return go(look, inside === '{' ? 'name' : 'value');
  if (character === (inside === '{' ? '}' : ']')) return closed(look);
  return `a comma or ${inside === '{' ? '}' : ']'} should stand here`;
}

function passValue(look: Look): string | null {
  const character = look.text[look.at];
  if (character === '{' || character === '[') {
    look.open.push(character);
    return go(look, character === '{' ? 'name or }' : 'value or ]');
  }
  if (character === '"') return passString(look, 'comma or end');
  const length = lengthOf(scalar, look);
  if (length === 0) return `a value should stand here${hint(look)}`;
  look.at += length;
  look.wanted = 'comma or end';
  return null;
}

const scalar = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y;
const form = /[\w.%+-]+=/y;

/** How long what the sticky pattern finds here is. */
function lengthOf(pattern: RegExp, { text, at }: Look): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex - at : 0;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** Over one character, to what comes then. */
function go(look: Look, wanted: Wanted): null {
  look.at++;
  look.wanted = wanted;
  return null;
}

function closed(look: Look): null {
  look.open.pop();
  return go(look, 'comma or end');
}

const escapes = '"\\/bfnrt';
const hexEscape = /u[0-9a-fA-F]{4}/y;

function passString(look: Look, then: Wanted): string | null {
  const { text, at: begin } = look;
  for (look.at++; look.at < text.length; look.at++) {
    const character = text.charAt(look.at);
    if (character === '"') return go(look, then);
    if (character === '\n' || character === '\r') return String.raw`a line break in a text is written \n`;
    if (character < ' ') return String.raw`a control character in a text is written as an escape, such as \t or \u0009`;
    if (character !== '\\') continue;
    look.at++;
    if (look.at === text.length) break;
    if (escapes.includes(text.charAt(look.at))) continue;
    if (lengthOf(hexEscape, look) === 0)
      return String.raw`behind a backslash one of " \ / b f n r t or u and four hexadecimal digits should stand`;
  }
  look.at = begin;
  return 'the text that begins here has no double quote at its end';
}

function missingAtEnd({ wanted, open }: Look): string {
  if (wanted === 'colon') return 'and a colon and a value are missing';
  if (wanted === 'value' || wanted === 'name') return `and a ${wanted} is missing`;
  return `and ${open.at(-1) === '{' ? '}' : ']'} is missing`;
}

/** What people write who meant something else. */
function hint(look: Look): string {
  const { text, at } = look;
  const character = text.charAt(at);
  if (character === "'") return ': JSON has double quotes, no single ones';
  if ('“”„‘’'.includes(character)) return ': JSON has straight double quotes, no typographic ones';
  if (character === '/' || character === '#') return ': JSON has no comments';
  if (character === '\ufeff') return ', and no byte order mark';
  if (at === 0 && lengthOf(form, look) > 0) return ': this looks like a form';
  if (/[\d.+-]/.test(character)) return ': numbers are written as 7, -7, 0.7 or 7e3';
  if (look.wanted.startsWith('value') && /[A-Za-z_$]/.test(character))
    return ': texts have double quotes, and true, false and null are written so';
  return '';
}
