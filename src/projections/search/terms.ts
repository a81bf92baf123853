// The terms that a notification is found by: beginnings of its recipient, words of its subject and body, its metadata. Each is kept as a hash of tenant, kind
// and text, 8 characters long: nothing of a body can be read from the index, and one tenant's terms never meet another's.
//
//   'Ada@x.org'          r:a r:ada r:ada@x r:ada@x.o r:ada@x.org
//   'Order 17 shipped'   w:order w:17 w:shipped
//   { plan: 'gold' }     m:plan=gold

import type { NotificationRequested } from '../../domain/events.ts';
import type { TenantId } from '../../domain/ids.ts';
import { murmur3 } from '../../domain/murmur.ts';
import { visibleText } from './visible-text.ts';

/** The first so many different words of subject and body are found; an order's mail has fewer. */
export const wordsPerNotificationMax = 32;

export function termsOf({ tenantId, recipient, request }: NotificationRequested): string[] {
  const body = request.bodyFormat === 'html' ? visibleText(request.body, textMax) : request.body.slice(0, textMax);
  const words = wordsOf(request.subject === null ? body : `${request.subject}\n${body}`, wordsPerNotificationMax);
  const terms = new Set<string>();
  for (const beginning of beginningsOf(recipient)) terms.add(hashOf(tenantId, 'r', beginning));
  for (const word of words) terms.add(hashOf(tenantId, 'w', word));
  for (const [key, value] of Object.entries(request.metadata)) terms.add(metadataTerm(tenantId, key, value));
  return [...terms];
}

export function wordTerm(tenantId: TenantId, word: string): string {
  return hashOf(tenantId, 'w', word);
}

export function metadataTerm(tenantId: TenantId, key: string, value: string): string {
  return hashOf(tenantId, 'm', `${key}\n${value}`);
}

/** Of the longest beginning that is kept; a longer prefix is looked at on the records. */
export function recipientTerm(tenantId: TenantId, prefix: string): string {
  return hashOf(tenantId, 'r', beginningsOf(prefix).at(-1) ?? '');
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
  for (const [word] of plain(text).matchAll(/[\p{L}\p{N}]+/gu)) {
    if (!/^[a-z]$/.test(word)) words.add(word.slice(0, wordLengthMax));
    if (words.size === wordsMax) break;
  }
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
  // Most texts are ASCII, and normalizing costs as much as all the rest.
  if (/^[\0-\x7f]*$/.test(text)) return text.toLowerCase();
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** 48 bits: among ten million different terms one in 28 million is another's by chance. */
function hashOf(tenantId: TenantId, kind: 'r' | 'w' | 'm', text: string): string {
  const [high, low] = murmur3(`${tenantId}\n${kind}\n${text}`);
  return fourCharacters(high) + fourCharacters(low);
}

function fourCharacters(bits: number): string {
  const at = (shift: number): string => alphabet.charAt((bits >>> shift) & 63);
  return at(18) + at(12) + at(6) + at(0);
}
