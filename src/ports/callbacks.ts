// What providers report to Herald about messages that they have taken: each verifies and reads its own form of it.

import type { ReportKind } from '../domain/events.ts';
import type { ErrorDetail } from '../domain/errors.ts';
import type { NotificationId } from '../domain/ids.ts';
import type { ProviderSettings } from '../domain/tenant.ts';

export interface CallbackRequest {
  /** As the provider called it, with its query; null: the service doesn't know by which address it is reached. */
  readonly url: string | null;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** As it came: signatures are over its bytes. */
  readonly body: Buffer;
}

export interface CallbackContext {
  readonly provider: ProviderSettings;
  /** UTC ms. */
  readonly now: number;
  /** Aborts what has to be fetched to verify it. */
  readonly signal: AbortSignal;
}

export interface ProviderReport {
  readonly notificationId: NotificationId;
  readonly kind: ReportKind;
  /** UTC ms. */
  readonly at: number;
  /** The provider's own id of this report: the same when it tells it again. */
  readonly id: string;
  /** null where the provider doesn't say for certain whom it is about. */
  readonly recipient: string | null;
  /** Of a bounce: the recipient takes nothing at all. */
  readonly permanent: boolean;
  readonly reason: string | null;
}

export type CallbackVerdict =
  | {
      readonly kind: 'taken';
      readonly reports: readonly ProviderReport[];
      /** Of messages that carry no notification's id: others send by the same account. */
      readonly foreign: number;
      /** Of kinds that nothing is kept of, such as "processed". */
      readonly other: number;
      /** Of kinds that are kept, in a form that isn't known: nothing could be kept of them. */
      readonly unreadable: number;
    }
  /** Not by this provider, or not of this tenant's account. The sentences say what to look at. */
  | { readonly kind: 'forged'; readonly message: string }
  | { readonly kind: 'malformed'; readonly message: string }
  /** What it takes to verify it can't be had now: the provider is to try again. */
  | { readonly kind: 'unavailable'; readonly message: string };

export interface ProviderCallbacks {
  /** What a tenant saves as `callbackSecret`; null: signatures are verified by what is saved anyway, or there are none. */
  readonly secret: { readonly label: string; readonly help: string; problem(secret: string): string | null } | null;
  /** What the provider sends in one call at most: until a signature is verified, anybody has sent it. */
  readonly bodyBytesMax: number;
  read(request: CallbackRequest, context: CallbackContext): Promise<CallbackVerdict>;
}

/** What is wrong with a `callbackSecret` of this provider. */
export function callbackSecretProblems(
  callbacks: ProviderCallbacks | undefined,
  secret: string,
): readonly ErrorDetail[] {
  const path = 'callbackSecret';
  if (callbacks === undefined) return [{ path, message: 'is not for this provider: it reports nothing' }];
  if (callbacks.secret === null)
    return [{ path, message: 'is not for this provider: it signs with no secret of its own' }];
  const message = callbacks.secret.problem(secret);
  return message === null ? [] : [{ path, message }];
}
