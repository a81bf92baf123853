// SMS `twilio`: the Messages resource of Twilio's SDK, over the guarded HTTP.
// https://www.twilio.com/docs/messaging/api/message-resource#create-a-message-resource, https://www.twilio.com/docs/api/errors
//
// Twilio has no idempotency key: a repeat after an answer that never came may be a second message.

import { z } from 'zod';

import type { DeliveryOutcome } from '../../domain/delivery-outcome.ts';
import { isRetryableStatus } from '../../domain/delivery-outcome.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Outbound, OutboundResponse } from '../../ports/outbound.ts';
import { OutboundError } from '../../ports/outbound.ts';
import type { Delivery, DeliveryContext } from '../../ports/provider-registry.ts';
import { notificationIdField } from '../callbacks/reading.ts';
import { twilioCallbacks } from '../callbacks/twilio.ts';
import { delivered, malformed, notReached, refused, retryAfterOf } from '../outcomes.ts';
import type { ListedProvider } from '../settings-check.ts';
import { headerKey, providerConfig, settingsOf } from '../settings-check.ts';
import { isNumberOrName } from './sender.ts';
import { classOfTwilioCode, passingTwilioCodes, unservedTwilioCodes } from './twilio-codes.ts';

const messagingService = /^MG[0-9a-zA-Z]{32}$/;

const twilioConfig = providerConfig({
  accountSid: z
    .string()
    .regex(/^AC[0-9a-zA-Z]{1,62}$/, 'must be an account SID, which begins with AC')
    .meta({ title: 'Account SID', description: 'The account SID; the auth token goes into apiKey.' }),
  from: z
    .string()
    .refine(
      isSender,
      'must be a phone number with +, a short code, a sender id of up to 11 characters, or a messaging service id',
    )
    .meta({
      title: 'Sender',
      description: 'The sending number (+4930...), a sender id such as ACME, or a messaging service id (MG...).',
    }),
});

function isSender(from: string): boolean {
  return messagingService.test(from) || isNumberOrName(from);
}

export interface TwilioDependencies {
  readonly outbound: Outbound;
  readonly clock: Clock;
  readonly baseUrl?: string | undefined;
}

export function twilio(dependencies: TwilioDependencies): ListedProvider {
  const { outbound, clock, baseUrl = 'https://api.twilio.com' } = dependencies;

  return {
    channel: 'SMS',
    name: 'twilio',
    ...settingsOf(
      'Twilio',
      twilioConfig,
      headerKey.meta({ title: 'Auth token', description: 'The auth token of the account.' }),
    ),

    callbacks: twilioCallbacks,

    async send(delivery, context) {
      const { accountSid, from } = twilioConfig.parse(context.provider?.config);
      const http = guardedHttp(
        outbound,
        { user: accountSid, password: context.provider?.apiKey ?? '' },
        context.signal,
      );
      const messages = await messagesOf(http, baseUrl, accountSid);
      const sender = messagingService.test(from) ? { messagingServiceSid: from } : { from };
      try {
        const message = await messages.create({
          to: delivery.recipient,
          body: delivery.request.body,
          ...sender,
          ...reportsTo(delivery, context),
        });
        return outcomeOfMessage(message, http.answer(), context);
      } catch (error) {
        return outcomeOfError(error, http.answer(), context, clock.now());
      }
    },
  };
}

/** Twilio takes addresses that it can reach alone, and says by this one which message a report is about. */
function reportsTo(
  { notificationId }: Pick<Delivery, 'notificationId'>,
  { callbackUrl }: DeliveryContext,
): { statusCallback?: string } {
  if (callbackUrl === undefined || !callbackUrl.startsWith('https://')) return {};
  return { statusCallback: `${callbackUrl}?${notificationIdField}=${notificationId}` };
}

/** The SDK's resource for messages alone takes 3 MB of memory; its whole client, with every product and its own HTTP, 31. */
async function messagesOf(http: GuardedHttp, baseUrl: string, accountSid: string) {
  const [{ MessageListInstance }, { default: domain }, { default: version }] = await Promise.all([
    import('twilio/lib/rest/api/v2010/account/message.js'),
    import('twilio/lib/base/Domain.js'),
    import('twilio/lib/base/Version.js'),
  ]);
  const api = new version.default(new domain.default(http as never, baseUrl), '2010-04-01');
  return MessageListInstance(api as never, accountSid);
}

interface TwilioRequest {
  readonly uri: string;
  readonly data?: Readonly<Record<string, string>>;
}

interface GuardedHttp {
  request(request: TwilioRequest): Promise<{ statusCode: number; body: string }>;
  /** The answer that came: the SDK's errors keep no headers. */
  answer(): OutboundResponse | null;
}

/** The part of the SDK's client that a resource calls. */
function guardedHttp(
  outbound: Outbound,
  login: { readonly user: string; readonly password: string },
  signal: AbortSignal,
): GuardedHttp {
  let answer: OutboundResponse | null = null;
  return {
    answer: () => answer,
    async request({ uri, data }) {
      const headers = {
        authorization: `Basic ${Buffer.from(`${login.user}:${login.password}`).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
        accept: 'application/json',
        'user-agent': 'Herald/1',
      };
      const body = new URLSearchParams(data).toString();
      answer = await outbound.request({ method: 'POST', url: uri, headers, body, signal });
      return { statusCode: answer.status, body: answer.body };
    },
  };
}

interface TwilioMessage {
  readonly sid: string | undefined;
  readonly status: string;
  readonly errorCode: number | null;
  readonly errorMessage: string | null;
}

function outcomeOfMessage(
  message: TwilioMessage,
  answer: OutboundResponse | null,
  context: DeliveryContext,
): DeliveryOutcome {
  const { sid, status, errorCode, errorMessage } = message;
  if (sid === undefined || sid === null) return malformed(context, answer?.body ?? '');
  if (status !== 'failed' && status !== 'undelivered') return delivered(sid, context);
  const text = `Twilio took it and failed: ${errorCode ?? status} ${errorMessage ?? ''}`;
  return refusedBy(errorCode, text, { status: 400, retryAfterMs: null }, context);
}

function outcomeOfError(
  error: unknown,
  answer: OutboundResponse | null,
  context: DeliveryContext,
  now: number,
): DeliveryOutcome {
  if (error instanceof OutboundError) return notReached(error, context);
  if (answer === null || !(error instanceof Error)) throw error;
  const { status, body } = answer;
  if (status >= 200 && status < 300) return malformed(context, body);
  const { code } = error as { code?: unknown };
  const text = `Twilio answered ${status}: ${error.message ?? body}`;
  const received = { status, retryAfterMs: retryAfterOf(answer, now) };
  return refusedBy(typeof code === 'number' ? code : null, text, received, context);
}

/** The status decides whether to try again, except for a few codes; the code decides whose fault it is. */
function refusedBy(
  code: number | null,
  message: string,
  received: { readonly status: number; readonly retryAfterMs: number | null },
  context: DeliveryContext,
): DeliveryOutcome {
  const { status } = received;
  const retryable = isRetryableStatus(status) || (code !== null && passingTwilioCodes.has(code));
  return refused(
    {
      failureClass: retryable ? 'provider' : classOfTwilioCode(code, status),
      retryable,
      code: String(code ?? status),
      message,
      retryAfterMs: retryable ? received.retryAfterMs : null,
      isUnserved: code !== null && unservedTwilioCodes.has(code),
    },
    context,
  );
}
