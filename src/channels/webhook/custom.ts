// WEBHOOK `custom`: a POST to the recipient's own URL, signed as Standard Webhooks 1.0 says.
//
// The body, the headers and what an answer means are this service's own contract (API.md, "Webhooks out" and "Retries").

import { z } from 'zod';

import type { DeliveryOutcome } from '../../domain/delivery-outcome.ts';
import { isRetryableStatus } from '../../domain/delivery-outcome.ts';
import type { FailureClass } from '../../domain/events.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Outbound, OutboundResponse } from '../../ports/outbound.ts';
import type { Delivery, DeliveryContext } from '../../ports/provider-registry.ts';
import { attemptKey, notReached, refused, retryAfterOf } from '../outcomes.ts';
import type { ListedProvider } from '../settings-check.ts';
import { providerConfig, settingsOf } from '../settings-check.ts';
import { createWebhookSigner, problemWithSecret } from './signature.ts';

const customConfig = providerConfig({
  retryMissing: z.boolean().optional().meta({
    title: 'Retry 404 and 410',
    description: 'true: 404 and 410 are tried again, like 5xx. Otherwise they end it at once.',
  }),
}).describe('The address is the recipient of each notification.');

const signingSecret = z
  .string()
  .superRefine((secret, context) => {
    const message = problemWithSecret(secret);
    if (message !== null) context.addIssue({ code: 'custom', message });
  })
  .meta({
    title: 'Signing secret',
    description:
      'The signing secret: whsec_ and base64, or any text of 16 to 200 characters, taken as its bytes: receivers’ libraries take that as whsec_ and the base64 of its bytes.',
  });

export function customWebhook(dependencies: { readonly outbound: Outbound; readonly clock: Clock }): ListedProvider {
  const { outbound, clock } = dependencies;
  const signer = createWebhookSigner();

  return {
    channel: 'WEBHOOK',
    name: 'custom',
    ...settingsOf('Signed webhook', customConfig, signingSecret),

    async send(delivery, context) {
      const now = clock.now();
      const body = Buffer.from(bodyOf(delivery));
      const id = attemptKey(delivery);
      const timestamp = String(Math.floor(now / 1000));
      const secrets = secretsFor(context);
      const signature = signer.sign(secrets, { id, timestamp, body });
      const headers = headersOf(delivery, { id, timestamp, signature });
      const { signal } = context;
      const { recipient: url, tenantId } = delivery;
      try {
        const response = await outbound.request({ method: 'POST', url, headers, body, tenantId, signal });
        return response.status >= 200 && response.status < 300 ? deliveredWebhook : refusal(response, context, now);
      } catch (error) {
        return notReached(error, context);
      }
    },
  };
}

/** A webhook's answer has no id. */
const deliveredWebhook: DeliveryOutcome = { kind: 'delivered', messageId: null };

/** `data` is JSON text already and is put in as it stands: nothing of the event is parsed on the way out. */
function bodyOf(delivery: Delivery): string {
  const { notificationId, request } = delivery;
  const { subject } = request;
  return (
    `{"type":"notification","id":"${notificationId}","timestamp":"${new Date(delivery.requestedAt).toISOString()}",` +
    `"data":{"notificationId":"${notificationId}","recipient":${JSON.stringify(delivery.recipient)},"channel":"WEBHOOK",` +
    `"subject":${subject === null ? 'null' : JSON.stringify(subject)},"body":${JSON.stringify(request.body)},` +
    `"data":${request.data},"metadata":${JSON.stringify(request.metadata)}}}`
  );
}

function headersOf(
  { traceparent, request: { tracestate, baggage } }: Delivery,
  signed: { readonly id: string; readonly timestamp: string; readonly signature: string },
): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'user-agent': 'Herald/1 (webhook)',
    'webhook-id': signed.id,
    'webhook-timestamp': signed.timestamp,
    'webhook-signature': signed.signature,
  };
  if (traceparent !== null) headers['traceparent'] = traceparent;
  if (tracestate !== null) headers['tracestate'] = tracestate;
  if (baggage !== null) headers['baggage'] = baggage;
  return headers;
}

/** Each once: what signs again after a while is among the former ones as well. */
function secretsFor({ provider, webhookSecret, formerSigners = [] }: DeliveryContext): readonly string[] {
  return [...new Set([provider?.apiKey ?? webhookSecret, ...formerSigners])];
}

function refusal(response: OutboundResponse, context: DeliveryContext, now: number): DeliveryOutcome {
  const { status } = response;
  const retryable =
    isRetryableStatus(status) || (isMissing(status) && context.provider?.config['retryMissing'] === true);
  return refused(
    {
      failureClass: classOf(status, retryable),
      retryable,
      code: String(status),
      message: messageOf(response),
      retryAfterMs: retryable ? retryAfterOf(response, now) : null,
    },
    context,
  );
}

/** A receiver that is moved or deployed anew may be there again soon: for its tenant to say. */
function isMissing(status: number): boolean {
  return status === 404 || status === 410;
}

/** Of what may work later these are about the one path, or the one message: whoever answers at that origin is up. */
const ofOne = new Set([404, 409, 410, 425]);

function classOf(status: number, retryable: boolean): FailureClass {
  if (retryable) return ofOne.has(status) ? 'recipient' : 'provider';
  return status === 401 || status === 403 ? 'credentials' : 'recipient';
}

function messageOf(response: OutboundResponse): string {
  const { status, body } = response;
  if (status >= 300 && status < 400) return `The receiver answered ${status}; a redirect is never followed.`;
  return body === '' ? `The receiver answered ${status}.` : `The receiver answered ${status}: ${body}`;
}
