// What became of one attempt, as a provider says it; the dispatcher turns it into an event.

import type { FailureClass } from './events.ts';

export interface Reason {
  readonly failureClass: FailureClass;
  /** The receiver's own code: an HTTP status, an SMTP code, a provider's error code. */
  readonly code: string | null;
  readonly message: string;
}

/** Of what was pending in a log that was restored from a backup, and is sent once a person retries it. */
export const heldCode = 'RESTORED';

export type DeliveryOutcome =
  | { readonly kind: 'delivered'; readonly messageId: string | null }
  /** Worth another try. `retryAfterMs` counts from now and is what the receiver asked for. */
  | { readonly kind: 'retryable'; readonly reason: Reason; readonly retryAfterMs: number | null }
  /**
   * The same request can never work. `isUnserved`: by this account, which doesn't send to this recipient whatever it does for others (a region that it is
   * closed for); another may.
   */
  | { readonly kind: 'rejected'; readonly reason: Reason; readonly isUnserved?: true };

const retryableStatuses = new Set([408, 409, 425, 429]);

/** The rule for every HTTP receiver: 5xx and 408, 409, 425, 429 are worth another try; any other non-2xx is not. */
export function isRetryableStatus(status: number): boolean {
  return status >= 500 || retryableStatuses.has(status);
}

/**
 * Milliseconds that a Retry-After header asks for (RFC 9110 10.2.3: whole seconds or a date), at most 24 h; null when absent or malformed.
 * @param nowMs UTC ms
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  const text = header.trim();
  const wait = /^\d{1,10}$/.test(text) ? Number(text) * 1000 : httpDateMs(text) - nowMs;
  if (!Number.isFinite(wait)) return null;
  return Math.min(Math.max(wait, 0), retryAfterMaxMs);
}

export const retryAfterMaxMs = 24 * 60 * 60 * 1000;

/** An HTTP-date (RFC 9110 5.6.7) begins with its weekday; without that Date.parse would read `1.5` as a day in 2001. NaN when it isn't one. */
function httpDateMs(text: string): number {
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? /.test(text)) return Number.NaN;
  return Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
}
