// EMAIL `resend`: POST /emails with an Idempotency-Key, so that a repeat within 24 h is not sent twice.
// https://resend.com/docs/api-reference/emails/send-email, https://resend.com/docs/api-reference/errors

import { z } from 'zod';

import type { DeliveryOutcome } from '../../domain/delivery-outcome.ts';
import { isRetryableStatus } from '../../domain/delivery-outcome.ts';
import type { FailureClass } from '../../domain/events.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Outbound, OutboundResponse } from '../../ports/outbound.ts';
import type { Delivery, DeliveryContext, Provider } from '../../ports/provider-registry.ts';
import { attemptKey, delivered, malformed, notReached, refused, retryAfterOf } from '../outcomes.ts';
import { headerKey, settingsCheck } from '../settings-check.ts';
import { senderFields, senderText } from './sender.ts';

const resendConfig = z.strictObject(senderFields);

export interface ResendDependencies {
  readonly outbound: Outbound;
  readonly clock: Clock;
  readonly baseUrl?: string | undefined;
}

export function resend(dependencies: ResendDependencies): Provider {
  const { outbound, clock, baseUrl = 'https://api.resend.com' } = dependencies;

  return {
    channel: 'EMAIL',
    name: 'resend',
    check: settingsCheck(resendConfig, headerKey.describe('An API key with sending access; begins with re_.')),

    async send(delivery, context) {
      const headers = {
        authorization: `Bearer ${context.provider?.apiKey ?? ''}`,
        'content-type': 'application/json',
        'user-agent': 'Herald/1',
        'idempotency-key': attemptKey(delivery),
      };
      const body = JSON.stringify(mailOf(delivery, context));
      const { signal } = context;
      try {
        const response = await outbound.request({ method: 'POST', url: `${baseUrl}/emails`, headers, body, signal });
        return outcomeOf(response, context, clock.now());
      } catch (error) {
        return notReached(error, context);
      }
    },
  };
}

function mailOf(delivery: Delivery, context: DeliveryContext): object {
  const { subject, body, bodyFormat } = delivery.request;
  const from = senderText(resendConfig.parse(context.provider?.config));
  return { from, to: [delivery.recipient], subject: subject ?? '', [bodyFormat]: body };
}

const success = z.object({ id: z.string().min(1) });
const failure = z.object({ name: z.string(), message: z.string() });

function outcomeOf(response: OutboundResponse, context: DeliveryContext, now: number): DeliveryOutcome {
  const { status, body } = response;
  const answer = jsonOf(body);
  if (status >= 200 && status < 300) {
    const taken = success.safeParse(answer);
    return taken.success ? delivered(taken.data.id, context) : malformed(context, body);
  }
  const { name, message } = failure.safeParse(answer).data ?? { name: '', message: body };
  const { failureClass, retryable } = meaningOf(status, name, message);
  return refused(
    {
      failureClass,
      retryable,
      code: name === '' ? String(status) : name,
      message: `Resend answered ${status}: ${message}`,
      retryAfterMs: retryable ? retryAfterOf(response, now) : null,
    },
    context,
  );
}

interface Meaning {
  readonly failureClass: FailureClass;
  readonly retryable: boolean;
}

/** By the names of the errors page; its 429 (rate, daily and monthly quota) and 5xx pass with time. */
function meaningOf(status: number, name: string, message: string): Meaning {
  // The key was used with another content: that one has been taken, and a repeat gets the same answer.
  if (name === 'invalid_idempotent_request') return { failureClass: 'content', retryable: false };
  if (isRetryableStatus(status)) return { failureClass: 'provider', retryable: true };
  // 401 and 403: no key, a wrong one, one without the right, a domain that is not verified.
  if (status === 401 || status === 403 || name === 'invalid_from_address') {
    return { failureClass: 'credentials', retryable: false };
  }
  if (status === 404 || status === 405) return { failureClass: 'provider', retryable: false };
  if (/`?\bto\b`? field/i.test(message)) return { failureClass: 'recipient', retryable: false };
  if (/`?\bfrom\b`? field/i.test(message)) return { failureClass: 'credentials', retryable: false };
  return { failureClass: 'content', retryable: false };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
