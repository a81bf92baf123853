// EMAIL `ses`: Amazon SES by its SDK, loaded on first use, with its HTTP replaced by the guarded one.
// https://docs.aws.amazon.com/ses/latest/APIReference/API_SendEmail.html and .../CommonErrors.html,
// https://docs.aws.amazon.com/ses/latest/dg/manage-sending-quotas-errors.html

import type { SendEmailCommandInput, SendRawEmailCommandInput, SESClientConfig } from '@aws-sdk/client-ses';
import { z } from 'zod';

import type { DeliveryOutcome } from '../../domain/delivery-outcome.ts';
import { isRetryableStatus } from '../../domain/delivery-outcome.ts';
import type { FailureClass } from '../../domain/events.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Outbound, OutboundResponse } from '../../ports/outbound.ts';
import { OutboundError } from '../../ports/outbound.ts';
import type { Delivery, DeliveryContext } from '../../ports/provider-registry.ts';
import { awsAccess, awsCredentialErrors, awsPassingErrors } from '../aws.ts';
import { notificationIdField } from '../callbacks/reading.ts';
import { sesCallbacks } from '../callbacks/ses.ts';
import { delivered, malformed, notReached, refused } from '../outcomes.ts';
import type { ListedProvider } from '../settings-check.ts';
import { headerKey, providerConfig, settingsOf } from '../settings-check.ts';
import type { Mail } from './mail.ts';
import { mailOf } from './mail.ts';
import { compose } from './mime.ts';
import { senderFields, senderHeader } from './sender.ts';

const sesConfig = providerConfig({
  ...senderFields,
  ...awsAccess,
  configurationSet: z
    .string()
    .regex(/^[\w-]{1,64}$/, 'must be the name of a configuration set: letters, digits, _ and -')
    .optional()
    .describe('The configuration set whose events are reported to Herald. Without it the default one of the identity.'),
  snsTopicArn: z
    .string()
    .regex(/^arn:aws[\w-]*:sns:[\w-]{1,40}:\d{12}:[\w-]{1,256}$/, 'must be the ARN of an SNS topic')
    .optional()
    .describe('The SNS topic that the events come by: reports of another are refused.'),
});

export interface SesDependencies {
  readonly outbound: Outbound;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly baseUrl?: string | undefined;
}

export function ses(dependencies: SesDependencies): ListedProvider {
  return {
    channel: 'EMAIL',
    name: 'ses',
    ...settingsOf(
      'Amazon SES',
      sesConfig,
      headerKey.meta({ title: 'Secret access key', description: 'The secret of the access key.' }),
    ),
    callbacks: sesCallbacks(dependencies),
    send: (delivery, context) => sendWith(dependencies, delivery, context),
  };
}

async function sendWith(
  dependencies: SesDependencies,
  delivery: Delivery,
  context: DeliveryContext,
): Promise<DeliveryOutcome> {
  const { SendEmailCommand, SendRawEmailCommand, SESClient } = await import('@aws-sdk/client-ses');
  const config = sesConfig.parse(context.provider?.config);
  const http = guardedHttp(dependencies.outbound, context.signal);
  const client = new SESClient({
    region: config.region,
    credentials: { accessKeyId: config.accessKeyId, secretAccessKey: context.provider?.apiKey ?? '' },
    // Tries are the dispatcher's.
    maxAttempts: 1,
    requestHandler: http.handler,
    ...(dependencies.baseUrl === undefined ? {} : { endpoint: dependencies.baseUrl }),
  });
  try {
    const mail = mailOf(delivery, config);
    // Headers of one's own are for a whole mail alone, which an access key may not be allowed to send.
    const reported = reportedBy(delivery, config);
    const answer = await (mail.headers === null
      ? client.send(new SendEmailCommand({ ...inputOf(mail, config), ...reported }))
      : client.send(new SendRawEmailCommand({ ...(await wholeInputOf(mail, config)), ...reported })));
    if (answer.MessageId === undefined || answer.MessageId === '') return malformed(context, http.answer()?.body ?? '');
    return delivered(answer.MessageId, context);
  } catch (error) {
    return outcomeOf(error, http.answer(), context);
  } finally {
    client.destroy();
  }
}

type SesConfig = z.infer<typeof sesConfig>;

/** The events of the configuration set bring the tag back. */
function reportedBy({ notificationId }: Delivery, { configurationSet }: SesConfig) {
  return {
    ...(configurationSet === undefined ? {} : { ConfigurationSetName: configurationSet }),
    Tags: [{ Name: notificationIdField, Value: notificationId }],
  };
}

async function wholeInputOf(mail: Mail, config: SesConfig): Promise<SendRawEmailCommandInput> {
  const { to, cc, bcc } = mail;
  return {
    Source: senderHeader(config),
    Destinations: [to, ...cc, ...bcc],
    RawMessage: { Data: await compose(mail, config, {}) },
  };
}

function inputOf({ to, cc, bcc, replyTo, subject, text, html }: Mail, config: SesConfig): SendEmailCommandInput {
  const utf8 = (Data: string) => ({ Charset: 'UTF-8', Data });
  return {
    Source: senderHeader(config),
    Destination: {
      ToAddresses: [to],
      ...(cc.length > 0 ? { CcAddresses: [...cc] } : {}),
      ...(bcc.length > 0 ? { BccAddresses: [...bcc] } : {}),
    },
    ...(replyTo === null ? {} : { ReplyToAddresses: [replyTo] }),
    Message: {
      Subject: utf8(subject),
      Body: { ...(text === null ? {} : { Text: utf8(text) }), ...(html === null ? {} : { Html: utf8(html) }) },
    },
  };
}

interface GuardedHttp {
  readonly handler: NonNullable<SESClientConfig['requestHandler']>;
  /** The answer that came, for errors of the SDK that do not say. */
  answer(): OutboundResponse | null;
}

interface SdkRequest {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** The SDK's HTTP: one request through the guard. */
function guardedHttp(outbound: Outbound, signal: AbortSignal): GuardedHttp {
  let answer: OutboundResponse | null = null;
  return {
    answer: () => answer,
    handler: {
      async handle(request: SdkRequest) {
        const { protocol, hostname, port, path, headers, body } = request;
        const url = `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}`;
        // undici writes both itself, and refuses a second one.
        const { host: _host, 'content-length': _length, ...rest } = headers;
        answer = await outbound.request({ method: 'POST', url, headers: rest, body: body ?? null, signal });
        const response = { statusCode: answer.status, headers: answer.headers, body: Buffer.from(answer.body) };
        return { response: response as never };
      },
    },
  };
}

/** Beside the common errors: what is paused or isn't there is named in the settings, or the account's. */
const ownCredentialErrors = new Set([
  'AccountSendingPausedException',
  'ConfigurationSetDoesNotExistException',
  'ConfigurationSetSendingPausedException',
  'MailFromDomainNotVerifiedException',
]);
const ownPassingErrors = new Set(['LimitExceededException']);

function outcomeOf(error: unknown, answer: OutboundResponse | null, context: DeliveryContext): DeliveryOutcome {
  if (error instanceof OutboundError) return notReached(error, context);
  if (answer === null || !(error instanceof Error)) throw error;
  const { status } = answer;
  if (status >= 200 && status < 300) return malformed(context, answer.body);
  const retryable = awsPassingErrors.has(error.name) || ownPassingErrors.has(error.name) || isRetryableStatus(status);
  const failureClass = retryable ? 'provider' : classOf(error, status);
  const message = `Amazon SES answered ${status}: ${error.name}: ${error.message}`;
  return refused({ failureClass, retryable, code: error.name, message }, context);
}

function classOf(error: Error, status: number): FailureClass {
  if (awsCredentialErrors.has(error.name) || ownCredentialErrors.has(error.name)) return 'credentials';
  if (status === 401 || status === 403) return 'credentials';
  // "Email address is not verified": the sender, or in the sandbox the recipient; both are a matter of the account.
  if (error.name === 'MessageRejected' && /not verified/i.test(error.message)) return 'credentials';
  // "Missing final '@domain'", "Domain contains illegal character", "Illegal address".
  if (error.name === 'InvalidParameterValue') return 'recipient';
  return 'content';
}
