// Whether an event still names somebody who was forgotten.

import type { Channel, DomainEvent } from '../domain/events.ts';
import { comparedRecipient } from '../domain/suppression.ts';
import { soughtBytesMin } from './plain-values.ts';

export interface Named {
  readonly channel: Channel;
  /** As it is compared. */
  readonly recipient: string;
  /** In whichever ways it is written. */
  readonly spellings: readonly string[];
}

/** As its recipient, or in what it says: there as a word, and only where that is long enough to be no other. */
export function isNamedIn(event: DomainEvent, { channel, recipient, spellings }: Named): boolean {
  const { recipient: to, ...said } = { recipient: null, ...event };
  // An InboxRead has none.
  const of = 'channel' in event ? event.channel : 'IN_APP';
  if (to !== null && of === channel && comparedRecipient(channel, to) === recipient) return true;
  const asCompared = (text: string) => (channel === 'EMAIL' ? text.toLowerCase() : text);
  const words = spellings.filter((one) => Buffer.byteLength(one) >= soughtBytesMin).map(asCompared);
  if (words.length === 0) return false;
  return textsOf(said).some((text) => {
    const compared = asCompared(text);
    return words.some((word) => hasWord(compared, word));
  });
}

/** Without the names of fields, but with those that the tenant gave: of metadata, and in `data`. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => {
    if (name === 'metadata') return textsAndNamesIn(part);
    return name === 'data' && typeof part === 'string' ? textsInJson(part) : textsOf(part);
  });
}

/** As it stands as well: numbers are in there to their last digit, and it needn't be JSON. */
function textsInJson(json: string): string[] {
  try {
    return [json, ...textsAndNamesIn(JSON.parse(json))];
  } catch (error) {
    if (error instanceof SyntaxError) return [json];
    throw error;
  }
}

/** However deep they are: a call for each level would end at some thousand. */
function textsAndNamesIn(value: unknown): string[] {
  const texts: string[] = [];
  const open = [value];
  while (open.length > 0) {
    const one = open.pop();
    if (typeof one === 'string') texts.push(one);
    if (typeof one !== 'object' || one === null) continue;
    for (const [name, part] of Object.entries(one)) {
      if (!Array.isArray(one)) texts.push(name);
      open.push(part);
    }
  }
  return texts;
}

/** Not within a longer name or address; a full stop behind it ends a sentence. */
function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const [before, behind] = [text.slice(Math.max(0, at - 2), at), text.slice(at + word.length, at + word.length + 3)];
    if (!/[\p{L}\p{N}_.%+@-]$/u.test(before) && !/^(?:[\p{L}\p{N}_%+@-]|\.[\p{L}\p{N}])/u.test(behind)) return true;
  }
  return false;
}
