// The ways in which an attempt ends, as every provider says them.

import type { DeliveryOutcome, Reason } from '../domain/delivery-outcome.ts';
import { retryAfterMs } from '../domain/delivery-outcome.ts';
import type { FailureClass } from '../domain/events.ts';
import type { OutboundResponse } from '../ports/outbound.ts';
import { OutboundError } from '../ports/outbound.ts';
import type { Delivery, DeliveryContext } from '../ports/provider-registry.ts';
import { kept } from './redact.ts';

/**
 * What all tries of a round have in common and no other round has: the notification's id, from round 2 on with the round (`notif_x.2`).
 * Receivers and providers recognise a repeat by it; a retry by hand is meant to be sent again.
 */
export function attemptKey(delivery: Delivery): string {
  return delivery.round === 1 ? delivery.notificationId : `${delivery.notificationId}.${delivery.round}`;
}

/** Everything that must not be kept of an answer. */
function secretsOf(context: DeliveryContext): readonly string[] {
  const { provider } = context;
  const secrets = [...context.secrets, context.webhookSecret, ...(context.formerSigners ?? [])];
  if (provider !== null) secrets.push(provider.apiKey);
  return secrets;
}

/** An answer that says no. */
export interface Refusal {
  readonly failureClass: FailureClass;
  readonly retryable: boolean;
  readonly code: string;
  readonly message: string;
  readonly retryAfterMs?: number | null;
  /** This account doesn't send to this recipient; another may. */
  readonly isUnserved?: boolean;
}

export function refused(refusal: Refusal, context: DeliveryContext): DeliveryOutcome {
  const { failureClass, code, message } = refusal;
  const secrets = secretsOf(context);
  const reason: Reason = { failureClass, code: kept(code, secrets), message: kept(withoutOurSide(message), secrets) };
  if (refusal.retryable) return { kind: 'retryable', reason, retryAfterMs: refusal.retryAfterMs ?? null };
  return refusal.isUnserved === true ? { kind: 'rejected', reason, isUnserved: true } : { kind: 'rejected', reason };
}

/**
 * What Node says of sockets and TLS tells of this process too: the local end of the connection, the thread, the source file.
 * Whichever transport or SDK says it, a tenant is shown the reason alone.
 */
function withoutOurSide(message: string): string {
  return message.replaceAll(localEnd, '').replaceAll(opensslError, 'TLS error $1: $2');
}

/** ` - Local (10.0.0.5:54321)` */
const localEnd = / - Local \([^)\s]{1,64}\)/g;
/** `C0E7A4F6F07F0000:error:0A000438:SSL routines:ssl3_read_bytes:tlsv1 alert internal error:../ssl/rec_layer_s3.c:916:SSL alert number 80` */
const opensslError =
  /\b[0-9A-F]{8,16}:error:([0-9A-F]{1,8}):[^:\n]{0,100}:[^:\n]{0,100}:([^:\n]{0,200})(?::[^:\n]{0,300}:\d{1,9}:[^\n]{0,200})?/g;

/** No answer at all. @throws whatever is not an OutboundError: a bug of ours */
export function notReached(error: unknown, context: DeliveryContext): DeliveryOutcome {
  if (!(error instanceof OutboundError)) throw error;
  const { code, message } = error;
  const blocked = error.kind === 'blocked';
  return refused({ failureClass: blocked ? 'blocked' : 'network', retryable: !blocked, code, message }, context);
}

/** A success whose body is not what the provider documents: whether it sent anything is unknown, so it is tried again. */
export function malformed(context: DeliveryContext, body: string): DeliveryOutcome {
  const message = `The provider's answer can't be read: ${body}`;
  return refused({ failureClass: 'provider', retryable: true, code: 'MALFORMED_ANSWER', message }, context);
}

/** The provider's own id of what it took, where it gives one; longer ones are no ids. */
export function delivered(messageId: string | null, context: DeliveryContext): DeliveryOutcome {
  const isId = messageId !== null && messageId.length <= 255;
  return { kind: 'delivered', messageId: isId ? kept(messageId, secretsOf(context)) : null };
}

export function retryAfterOf(response: OutboundResponse, now: number): number | null {
  return retryAfterMs(response.headers['retry-after'], now);
}
