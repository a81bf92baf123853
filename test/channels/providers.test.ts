// Every provider through the contract, against a local stand-in that answers as its documentation says.

import type { Behaviour, StandIn } from '../contracts/provider.ts';
import { providerContract } from '../contracts/provider.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { startSmtpSink } from '../support/smtp-sink.ts';

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

type Answers = (echo: string) => Readonly<Record<Exclude<Behaviour, 'hang'>, Answer>>;

async function httpStandIn(
  answers: Answers,
  rest: (sink: HttpSink) => Pick<StandIn, 'settings' | 'recipient' | 'providerUrls'>,
): Promise<StandIn> {
  let current: Answer | null = null;
  const sink = await startHttpSink({
    respond(_, response) {
      if (current === null) return;
      response.writeHead(current.status, { 'content-type': 'application/json', ...current.headers }).end(current.body);
    },
  });
  return {
    ...rest(sink),
    behave: (behaviour, echo) => (current = behaviour === 'hang' ? null : answers(echo)[behaviour]),
    sent: () => sink.requests.length,
    close: sink.close,
  };
}

const json = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  headers,
  body: JSON.stringify(body),
});

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const sender = { fromName: 'Acme, Inc.', fromEmail: 'noreply@example.com' };

const webhookAnswers: Answers = (echo) => ({
  success: { status: 204, body: '' },
  'bad credentials': { status: 401, body: 'no' },
  'bad recipient': { status: 410, body: 'gone' },
  throttled: { status: 429, headers: { 'retry-after': '7' }, body: 'slow down' },
  'server error': { status: 502, body: 'bad gateway' },
  'malformed answer': { status: 200, body: '' },
  echo: { status: 400, body: echo },
});

const webhookKey = 'a text/with+signs & spaces';

providerContract(
  {
    channel: 'WEBHOOK',
    name: 'custom',
    messageId: null,
    saysRetryAfter: true,
    hasAnswerForm: false,
    echoes: ({ apiKey }) => [apiKey, base64(apiKey), encodeURIComponent(apiKey)],
  },
  () =>
    httpStandIn(webhookAnswers, (sink) => ({
      settings: { apiKey: webhookKey, config: {} },
      recipient: `${sink.url}/hook`,
      providerUrls: {},
    })),
);

const resendAnswers: Answers = (echo) => ({
  success: json(200, { id: '49a3999c-0ce1-4ea6-ab68-afcd6dc2e794' }),
  'bad credentials': json(403, { statusCode: 403, name: 'invalid_api_key', message: 'API key is invalid' }),
  'bad recipient': json(422, { statusCode: 422, name: 'validation_error', message: 'Invalid `to` field.' }),
  throttled: json(429, { statusCode: 429, name: 'rate_limit_exceeded', message: 'Too many' }, { 'retry-after': '7' }),
  'server error': json(500, { statusCode: 500, name: 'application_error', message: 'An unexpected error occurred.' }),
  'malformed answer': { status: 200, body: '<html>welcome</html>' },
  echo: json(403, { statusCode: 403, name: 'invalid_api_key', message: echo }),
});

providerContract(
  {
    channel: 'EMAIL',
    name: 'resend',
    messageId: /^49a3999c-/,
    saysRetryAfter: true,
    hasAnswerForm: true,
    echoes: ({ apiKey }) => [apiKey, base64(apiKey)],
  },
  () =>
    httpStandIn(resendAnswers, (sink) => ({
      settings: { apiKey: 're_secret_123456', config: sender },
      recipient: 'ada@example.org',
      providerUrls: { resend: sink.url },
    })),
);

const sesError = (status: number, code: string, message: string): Answer => ({
  status,
  headers: { 'content-type': 'text/xml' },
  body:
    `<ErrorResponse xmlns="http://ses.amazonaws.com/doc/2010-12-01/"><Error><Type>Sender</Type>` +
    `<Code>${code}</Code><Message>${message}</Message></Error><RequestId>r1</RequestId></ErrorResponse>`,
});

const sesAnswers: Answers = (echo) => ({
  success: {
    status: 200,
    headers: { 'content-type': 'text/xml' },
    body:
      `<SendEmailResponse xmlns="http://ses.amazonaws.com/doc/2010-12-01/"><SendEmailResult>` +
      `<MessageId>0102018f-1</MessageId></SendEmailResult><ResponseMetadata><RequestId>r</RequestId>` +
      `</ResponseMetadata></SendEmailResponse>`,
  },
  'bad credentials': sesError(403, 'InvalidClientTokenId', 'The security token included in the request is invalid.'),
  'bad recipient': sesError(400, 'InvalidParameterValue', "Missing final '@domain'"),
  throttled: sesError(400, 'Throttling', 'Maximum sending rate exceeded.'),
  'server error': { status: 503, body: 'Service Unavailable' },
  'malformed answer': { status: 200, body: '{"not":"xml"' },
  echo: sesError(403, 'SignatureDoesNotMatch', echo),
});

providerContract(
  {
    channel: 'EMAIL',
    name: 'ses',
    messageId: /^0102018f-1$/,
    saysRetryAfter: false,
    hasAnswerForm: true,
    echoes: ({ apiKey }) => [apiKey, base64(apiKey)],
  },
  () =>
    httpStandIn(sesAnswers, (sink) => ({
      settings: {
        apiKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
        config: { ...sender, region: 'eu-central-1', accessKeyId: 'AKIAIOSFODNN7EXAMPLE' },
      },
      recipient: 'ada@example.org',
      providerUrls: { ses: sink.url },
    })),
);

const twilioError = (status: number, code: number, message: string, headers = {}): Answer =>
  json(status, { code, message, more_info: `https://www.twilio.com/docs/errors/${code}`, status }, headers);

const twilioAnswers: Answers = (echo) => ({
  success: json(201, { sid: 'SM00000000000000000000000000000001', status: 'queued', error_code: null }),
  'bad credentials': twilioError(401, 20003, 'Authenticate'),
  'bad recipient': twilioError(400, 21211, "The 'To' number is not a valid phone number."),
  throttled: twilioError(429, 20429, 'Too Many Requests', { 'retry-after': '7' }),
  'server error': { status: 503, body: '<html>Service Unavailable</html>' },
  'malformed answer': { status: 201, body: '<html>welcome</html>' },
  echo: twilioError(401, 20003, echo),
});

providerContract(
  {
    channel: 'SMS',
    name: 'twilio',
    messageId: /^SM0/,
    saysRetryAfter: true,
    hasAnswerForm: true,
    echoes: ({ apiKey, config }) => [apiKey, base64(apiKey), base64(`${String(config['accountSid'])}:${apiKey}`)],
  },
  () =>
    httpStandIn(twilioAnswers, (sink) => ({
      settings: {
        apiKey: '0123456789abcdef0123456789abcdef',
        config: { accountSid: `AC${'0'.repeat(32)}`, from: '+4930123456' },
      },
      recipient: '+491701234567',
      providerUrls: { twilio: sink.url },
    })),
);

providerContract(
  {
    channel: 'EMAIL',
    name: 'smtp',
    messageId: /^<notif_0abcdefghjkmnpqrstvwxyz012@example\.com>$/,
    saysRetryAfter: false,
    hasAnswerForm: false,
    echoes: ({ apiKey }) => [apiKey, base64(apiKey), base64(`\0mailer\0${apiKey}`)],
  },
  async () => {
    const sink = await startSmtpSink();
    return {
      settings: {
        apiKey: 'correct horse battery',
        config: { ...sender, host: '127.0.0.1', port: sink.port, user: 'mailer' },
      },
      recipient: 'ada@example.org',
      providerUrls: {},
      behave(behaviour, echo) {
        if (behaviour === 'hang') sink.hang();
        if (behaviour === 'bad credentials') sink.refuse({ at: 'login', code: 535, message: 'Authentication failed' });
        if (behaviour === 'bad recipient') sink.refuse({ at: 'recipient', code: 550, message: 'No such user here' });
        if (behaviour === 'throttled') sink.refuse({ at: 'data', code: 454, message: 'Throttling failure' });
        if (behaviour === 'server error') sink.refuse({ at: 'sender', code: 451, message: 'Local error' });
        if (behaviour === 'echo') sink.refuse({ at: 'login', code: 535, message: echo });
      },
      sent: () => sink.mails.length,
      close: sink.close,
    };
  },
);
