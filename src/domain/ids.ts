// Ids: their spellings, and the rule that an id follows its cause, so that a repeat is recognised.

import type { Brand } from './brand.ts';
import { murmur3Words, murmur3WordsOfLines } from './murmur.ts';

export type TenantId = Brand<string, 'TenantId'>;
export type NotificationId = Brand<string, 'NotificationId'>;
export type EventId = Brand<string, 'EventId'>;
export type TemplateId = Brand<string, 'TemplateId'>;
export type BatchId = Brand<string, 'BatchId'>;
export type ApiKeyId = Brand<string, 'ApiKeyId'>;
export type JobId = Brand<string, 'JobId'>;

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const notificationIdPattern = /^notif_[0-7][0-9a-hjkmnp-tv-z]{25}$/;
const batchIdPattern = /^batch_[0-7][0-9a-hjkmnp-tv-z]{25}$/;
const jobIdPattern = /^job_[0-7][0-9a-hjkmnp-tv-z]{25}$/;
const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The 128 bits of a UUIDv7 (RFC 9562): 48 bits of milliseconds since 1970, then version, variant and 74 bits of the 10 random bytes from `at` on; put down in `bytes`. */
export function uuidV7Bytes(timeMs: number, random: Uint8Array, at = 0, bytes = new Uint8Array(16)): Uint8Array {
  const high = Math.floor(timeMs / 2 ** 32);
  bytes[0] = high >>> 8;
  bytes[1] = high;
  bytes[2] = timeMs >>> 24;
  bytes[3] = timeMs >>> 16;
  bytes[4] = timeMs >>> 8;
  bytes[5] = timeMs;
  for (let i = 0; i < 10; i++) bytes[6 + i] = random[at + i] ?? 0;
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes;
}

/** `notif_` and 26 characters of Crockford base32 of 128 bits (the first character holds the two top ones). */
export function notificationIdOf(bytes: Uint8Array): NotificationId {
  return base32('notif_', bytes) as NotificationId;
}

export function templateIdOf(bytes: Uint8Array): TemplateId {
  return base32('tpl_', bytes) as TemplateId;
}

export function tenantIdOf(bytes: Uint8Array): TenantId {
  return base32('tnt_', bytes) as TenantId;
}

export function batchIdOf(bytes: Uint8Array): BatchId {
  return base32('batch_', bytes) as BatchId;
}

export function isBatchId(text: string): text is BatchId {
  return batchIdPattern.test(text);
}

/** UTC ms at which it was made. */
export function timeOfBatchId(id: BatchId): number {
  return timeOf(base32Bytes(id.slice('batch_'.length)));
}

export function jobIdOf(bytes: Uint8Array): JobId {
  return base32('job_', bytes) as JobId;
}

export function isJobId(text: string): text is JobId {
  return jobIdPattern.test(text);
}

/** Of a further, named API key; the tenant's main one has none. */
export function apiKeyIdOf(bytes: Uint8Array): ApiKeyId {
  return base32('key_', bytes) as ApiKeyId;
}

/** UTC ms at which the id was made; of one that follows from an Idempotency-Key the beginning of that day (domain/idempotency.ts). */
export function timeOfNotificationId(id: NotificationId): number {
  return timeOf(base32Bytes(id.slice('notif_'.length)));
}

/** Of a UUIDv7. */
function timeOf(bytes: Uint8Array): number {
  return bytes.subarray(0, 6).reduce((ms, byte) => ms * 256 + byte, 0);
}

export function isNotificationId(text: string): text is NotificationId {
  return notificationIdPattern.test(text);
}

/** The UUID of an in-app item: the same 128 bits as its notification's id. */
export function inboxItemIdOf(id: NotificationId): string {
  return uuidText(base32Bytes(id.slice('notif_'.length)));
}

/** The notification that an in-app item's UUID stands for; null when the text is no UUID in lower case. */
export function notificationIdOfInboxItem(uuid: string): NotificationId | null {
  if (!uuidPattern.test(uuid)) return null;
  const hex = uuid.replaceAll('-', '');
  const bytes = new Uint8Array(16);
  for (let i = 0; i < 16; i++) bytes[i] = Number.parseInt(hex.slice(i * 2, i * 2 + 2), 16);
  return notificationIdOf(bytes);
}

/**
 * An event id that follows from its cause: murmur3-128 of the parts joined by a line feed, spelled as a UUID (version 8).
 * NotificationRequested: ('requested', notification id). DeliveryDue: ('due', causeId).
 * RetryRequested: ('retry', notification id, round). CancelRequested: ('cancel', notification id, round). BatchAccepted: ('batch', batch id). ProviderReported: ('reported', tenant id, provider, the provider's own id of it). NotificationCancelled: ('cancelled', causeId of the timer, or the work event that waited). NotificationsForgotten: ('forgotten', partition, sequence, and all ids and days in it). A dead letter: ('dead', topic, partition, offset).
 */
export function eventIdFrom(...parts: readonly (string | number)[]): EventId {
  const [first, second] = parts;
  const isPair = parts.length === 2 && typeof first === 'string' && typeof second === 'string';
  const words = isPair ? murmur3WordsOfLines(first, second) : murmur3Words(parts.join('\n'));
  for (let i = 0; i < 16; i++) eventBits[i] = (words[i >> 2] ?? 0) >>> (24 - 8 * (i & 3));
  eventBits[6] = ((eventBits[6] ?? 0) & 0x0f) | 0x80;
  eventBits[8] = ((eventBits[8] ?? 0) & 0x3f) | 0x80;
  return uuidText(eventBits) as EventId;
}

/** Of the event id that is being spelled: a piece of memory for each costs as much as hashing it. */
const eventBits = new Uint8Array(16);

/** The letters of an id are put down here and read as one text: one that grows letter by letter is put together anew by whoever writes it. */
const letters = Buffer.alloc(36);
const hexCodes = Buffer.from('0123456789abcdef');
const base32Codes = Buffer.from(alphabet);
const dash = 0x2d;

export function uuidText(bytes: Uint8Array): string {
  let at = 0;
  for (let i = 0; i < 16; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) letters[at++] = dash;
    const byte = bytes[i] ?? 0;
    letters[at++] = hexCodes[byte >> 4] ?? 0;
    letters[at++] = hexCodes[byte & 15] ?? 0;
  }
  return letters.toString('latin1', 0, 36);
}

/** 128 bits as 26 characters behind the prefix, the most significant first; two zero bits stand before them. */
function base32(prefix: string, bytes: Uint8Array): string {
  let held = 0;
  let bits = 2;
  let at = 0;
  for (; at < prefix.length; at++) letters[at] = prefix.charCodeAt(at);
  for (let i = 0; i < 16; i++) {
    held = (held << 8) | (bytes[i] ?? 0);
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      letters[at++] = base32Codes[(held >>> bits) & 31] ?? 0;
    }
    held &= (1 << bits) - 1;
  }
  return letters.toString('latin1', 0, at);
}

function base32Bytes(text: string): Uint8Array {
  const bytes = new Uint8Array(16);
  let held = 0;
  let bits = -2;
  let at = 0;
  for (const character of text) {
    held = (held << 5) | alphabet.indexOf(character);
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = (held >>> bits) & 255;
      held &= (1 << bits) - 1;
    }
  }
  return bytes;
}
