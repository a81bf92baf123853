// What a repeated request is recognised by: its key, the id that follows from it, and what was asked for.
//
//   key, tenant ──hash──> key hash ──with the UTC day of the first request──> notification id
//
// A key's 24 h begin with its first request, so two of its notifications never begin on the same day, and one that still counts began today or yesterday.

import type { Expiry } from './delivery-request.ts';
import { expiresAtOf } from './delivery-request.ts';
import type { Channel, Priority } from './events.ts';
import { uuidV7Bytes, notificationIdOf, timeOfNotificationId } from './ids.ts';
import type { NotificationId } from './ids.ts';

const dayMs = 24 * 60 * 60 * 1000;

export const keyLifetimeMs = dayMs;

/** SHA-256 of the text in UTF-8: nobody can choose a key so that its notification has the id of another one. */
export type Digest = (text: string) => Uint8Array;

/** In hex. */
export function hashText(text: string, digest: Digest): string {
  const { buffer, byteOffset, length } = digest(text);
  return Buffer.from(buffer, byteOffset, length).toString('hex');
}

/** The id of the notification that was first asked for on the UTC day of `timeMs`. Its own time is the beginning of that day. */
export function idOfKey(keyHash: string, timeMs: number, digest: Digest): NotificationId {
  const day = timeMs - (timeMs % dayMs);
  return notificationIdOf(uuidV7Bytes(day, digest(`notification\n${keyHash}\n${day}`)));
}

/** Its own time says the day and no more. */
export function isIdOfKey(id: NotificationId): boolean {
  return timeOfNotificationId(id) % dayMs === 0;
}

/** What was asked for, checked and filled in; as it stands in a request, and as a record has it. */
export interface AskedFor {
  readonly channel: Channel;
  readonly recipient: string;
  readonly priority: Priority;
  readonly template: string | null;
  readonly subject: string | null;
  readonly body: string | null;
  /** As JSON text. */
  readonly data: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** UTC ms. */
  readonly sendAt: number | null;
  readonly expiry: Expiry | null;
  readonly replyTo: string | null;
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  readonly transactional: boolean;
  readonly resendOf: NotificationId | null;
}

/** One text for all requests that ask for the same, however their fields are named and in whichever order they come. */
export function contentText(asked: AskedFor, requestedAt: number): string {
  const { channel, recipient, priority, template, subject, body, data, metadata, sendAt, expiry } = asked;
  const { replyTo, cc, bcc, transactional, resendOf } = asked;
  const ahead = sendAt !== null && sendAt > requestedAt ? sendAt : null;
  const values = [channel, recipient, priority, template, subject, body, sorted(JSON.parse(data)), sorted(metadata)];
  const expiresAt = expiresAtOf(expiry, sendAt, requestedAt);
  // What came with later versions stands there only where it says something, each in a form of its own: keys of before keep their fingerprints.
  const later = [
    ...(expiresAt === null ? [] : [expiresAt]),
    ...(replyTo === null && cc.length + bcc.length === 0 ? [] : [{ replyTo, cc, bcc }]),
    ...(transactional ? [{ transactional }] : []),
    ...(resendOf === null ? [] : [{ resendOf }]),
  ];
  return JSON.stringify([...values, ahead, ...later]);
}

/** The same value with the fields of its objects in one order. Its depth is bounded by whoever takes it. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  // Not a list: an object and a list of its pairs are two things.
  return { fields: entries.map(([name, inner]) => [name, sorted(inner)]) };
}
