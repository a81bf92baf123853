// Whether an event still names somebody who was forgotten.

import type { Channel, DomainEvent } from '../domain/events.ts';
import { comparedRecipient } from '../domain/suppression.ts';
import { soughtBytesMin } from './plain-values.ts';

export interface Named {
  readonly channel: Channel;
  /** As it is compared. */
  readonly recipient: string;
}

/** As its recipient, or in what it says: there as a word, and only where that is long enough to be no other. */
export function isNamedIn(event: DomainEvent, { channel, recipient }: Named): boolean {
  const { recipient: to, ...said } = { recipient: null, ...event };
  // An InboxRead has none.
  const of = 'channel' in event ? event.channel : 'IN_APP';
  if (to !== null && of === channel && comparedRecipient(channel, to) === recipient) return true;
  if (Buffer.byteLength(recipient) < soughtBytesMin) return false;
  const asCompared = (text: string) => (channel === 'EMAIL' ? text.toLowerCase() : text);
  return textsOf(said).some((text) => hasWord(asCompared(text), recipient));
}

/** Without the names of fields. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

/** Not within a longer name or address; a full stop behind it ends a sentence. */
function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const [before, behind] = [text.slice(Math.max(0, at - 2), at), text.slice(at + word.length, at + word.length + 3)];
    if (!/[\p{L}\p{N}_.%+@-]$/u.test(before) && !/^(?:[\p{L}\p{N}_%+@-]|\.[\p{L}\p{N}])/u.test(behind)) return true;
  }
  return false;
}
