// The terms that a notification is found by: beginnings of its recipient, words of its subject and body, its metadata. Each is kept as a hash under a key
// that a secret of the store gives its tenant and kind, 10 characters long. So nothing of a body can be read from the index, and one tenant's terms never
// meet another's, whatever it sends: it can't foresee them.
//
//   'Ada@x.org'          r:a r:ada r:ada@x r:ada@x.o r:ada@x.org
//   'Order 17 shipped'   w:order w:17 w:shipped
//   { plan: 'gold' }     m:plan=gold

import type { NotificationRequested } from '../../domain/events.ts';
import type { TenantId } from '../../domain/ids.ts';
import type { SipKey } from '../../domain/siphash.ts';
import { derivedKey, sipHash, sipKeyOf } from '../../domain/siphash.ts';
import { visibleText } from './visible-text.ts';

/** The first so many different words of subject and body are found; an order's mail has fewer. */
export const wordsPerNotificationMax = 32;

/** Characters of each. */
export const termLength = 10;

/** Of one tenant. */
export interface TermKeys {
  readonly recipients: SipKey;
  readonly words: SipKey;
  readonly metadata: SipKey;
}

/** @param secret of the store, see ReadModelReader */
export function termKeysOf(secret: string, tenantId: TenantId): TermKeys {
  const key = derivedKey(sipKeyOf(secret), tenantId);
  return { recipients: derivedKey(key, 'r'), words: derivedKey(key, 'w'), metadata: derivedKey(key, 'm') };
}

export function termsOf(keys: TermKeys, { recipient, request }: NotificationRequested): string[] {
  const body = request.bodyFormat === 'html' ? visibleText(request.body, textMax) : request.body.slice(0, textMax);
  const words = wordsOf(request.subject === null ? body : `${request.subject}\n${body}`, wordsPerNotificationMax);
  const terms = new Set<string>();
  for (const beginning of beginningsOf(recipient)) terms.add(termOf(keys.recipients, beginning));
  for (const word of words) terms.add(wordTerm(keys, word));
  for (const [key, value] of Object.entries(request.metadata)) terms.add(metadataTerm(keys, key, value));
  return [...terms];
}

export function wordTerm(keys: TermKeys, word: string): string {
  return termOf(keys.words, word);
}

export function metadataTerm(keys: TermKeys, key: string, value: string): string {
  return termOf(keys.metadata, `${key}\n${value}`);
}

/** Of the longest beginning that is kept; a longer prefix is looked at on the records. */
export function recipientTerm(keys: TermKeys, prefix: string): string {
  return termOf(keys.recipients, beginningsOf(prefix).at(-1) ?? '');
}

/** Whether its term says it all. */
export function isKeptBeginning(prefix: string): boolean {
  return prefixLengths.includes(prefix.toLowerCase().length);
}

/** Upper and lower case are the same recipient. */
export function hasPrefix(recipient: string, prefix: string): boolean {
  return recipient.toLowerCase().startsWith(prefix.toLowerCase());
}

/** Different words in the order of the text: letters and digits of any script, without case and accents. Single letters of the Latin script are none. */
export function wordsOf(text: string, wordsMax: number): string[] {
  const words = new Set<string>();
  const add = (word: string): boolean => {
    if (word.length > 1 || !/[a-z]/.test(word)) words.add(word.slice(0, wordLengthMax));
    return words.size < wordsMax;
  };
  // Most texts are ASCII, where this costs a fifth.
  if (/^[\0-\x7f]*$/.test(text)) eachAsciiWord(text.toLowerCase(), add);
  else for (const [word] of plain(text).matchAll(/[\p{L}\p{N}]+/gu)) if (!add(word)) break;
  return [...words];
}

/** Characters of a body that are looked at. */
const textMax = 8 * 1024;
const wordLengthMax = 40;
/** A prefix between two lengths has the rows of the shorter to look at: with one digit too many a tenth of them are wanted, 200 of a page's 2,000. */
const prefixLengths = [1, 3, 5, 7, 9, 12, 16, 22];

function beginningsOf(recipient: string): string[] {
  const lower = recipient.toLowerCase();
  return prefixLengths.filter((length) => length <= lower.length).map((length) => lower.slice(0, length));
}

function plain(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
}

/** Letters and digits, until one is answered by false. */
function eachAsciiWord(text: string, next: (word: string) => boolean): void {
  let start = -1;
  for (let at = 0; at <= text.length; at++) {
    // NaN behind the end: no letter.
    const code = text.charCodeAt(at);
    const isOfWord = (code >= 97 && code <= 122) || (code >= 48 && code <= 57);
    if (isOfWord && start < 0) start = at;
    if (isOfWord || start < 0) continue;
    if (!next(text.slice(start, at))) return;
    start = -1;
  }
}

/** 50 bits: among ten million different terms one in a hundred million is another's by chance. Digits and lower-case letters, five bits each. */
function termOf(key: SipKey, text: string): string {
  const { high, low } = sipHash(key, text);
  return fiveCharacters(high) + fiveCharacters(low);
}

function fiveCharacters(bits: number): string {
  return String.fromCharCode(
    character(bits >>> 20),
    character(bits >>> 15),
    character(bits >>> 10),
    character(bits >>> 5),
    character(bits),
  );
}

/** 0 to 9, a to v. */
function character(bits: number): number {
  const digit = bits & 31;
  return digit < 10 ? 48 + digit : 87 + digit;
}
