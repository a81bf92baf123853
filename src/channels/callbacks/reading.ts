// What the readers of providers' reports have in common.

import { createHmac, timingSafeEqual } from 'node:crypto';

import { z } from 'zod';

import type { ReportKind } from '../../domain/events.ts';
import type { NotificationId } from '../../domain/ids.ts';
import { isNotificationId } from '../../domain/ids.ts';
import type { CallbackRequest, CallbackVerdict, ProviderReport } from '../../ports/callbacks.ts';

/** What a message carries to its provider, and a report brings back. Providers take letters, digits, `_` and `-` everywhere. */
export const notificationIdField = 'notificationId';

/**
 * What one event of a provider says; `other`: of a kind that nothing is kept of. `foreign`: of a message that isn't ours. `unreadable`: of a kind that
 * is kept, in a form that isn't known.
 */
export type ReadEvent = readonly ProviderReport[] | 'other' | 'foreign' | 'unreadable';

/** By the provider's own name of it; null: nothing is kept of it. */
export function kindOf(kinds: Readonly<Record<string, ReportKind>>, name: string): ReportKind | null {
  return Object.hasOwn(kinds, name) ? (kinds[name] ?? null) : null;
}

/** What a message carries comes back as an object; of one that carries nothing as an empty list, null, or not at all. */
export function carriedIn(fields: unknown): NotificationId | null {
  const carried = z.record(z.string(), z.unknown()).safeParse(fields).data;
  return notificationIdOfKey(carried?.[notificationIdField]);
}

/** @param key a notification's id, or its key of a later round (`notif_x.2`) */
export function notificationIdOfKey(key: unknown): NotificationId | null {
  const [id = ''] = typeof key === 'string' ? key.split('.') : [];
  return isNotificationId(id) ? id : null;
}

/** What can't be read is refused where nothing else has come with it: the provider's own list of calls shows it, too. */
export function taken(events: readonly ReadEvent[]): CallbackVerdict {
  const countOf = (what: ReadEvent) => events.filter((event) => event === what).length;
  if (events.length > 0 && countOf('unreadable') === events.length) return unreadable;
  return {
    kind: 'taken',
    reports: events.flatMap((event) => (typeof event === 'string' ? [] : event)),
    foreign: countOf('foreign'),
    other: countOf('other'),
    unreadable: countOf('unreadable'),
  };
}

export const unreadable: CallbackVerdict = {
  kind: 'malformed',
  message: 'The body is not what this provider is known to send.',
};

export function forged(message: string): CallbackVerdict {
  return { kind: 'forged', message };
}

/** A header that came once. */
export function headerOf({ headers }: Pick<CallbackRequest, 'headers'>, name: string): string {
  const value = headers[name];
  return typeof value === 'string' ? value : '';
}

export function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

export function hmac(
  algorithm: 'sha1' | 'sha256',
  key: string | Buffer,
  ...parts: readonly (string | Buffer)[]
): Buffer {
  const signature = createHmac(algorithm, key);
  for (const part of parts) signature.update(part);
  return signature.digest();
}

/** In a time that tells nothing. */
export function isSame(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** UTC ms of what the provider calls the time, but not later than now: clocks differ. */
export function timeOf(value: string | number | null | undefined, now: number): number {
  const time = typeof value === 'number' ? Math.round(value * 1000) : Date.parse(value ?? '');
  return Number.isFinite(time) && time > 0 ? Math.min(time, now) : now;
}
