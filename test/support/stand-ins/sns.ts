// Amazon SNS: https://docs.aws.amazon.com/sns/latest/api/API_Publish.html, https://docs.aws.amazon.com/sns/latest/api/CommonErrors.html

import { awsError, awsProblem } from './aws-check.ts';
import { base64, httpStandIn } from './http-stand-in.ts';
import { smsRecipient } from './parties.ts';

const apiKey = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
const accessKeyId = 'AKIAIOSFODNN7EXAMPLE';
const account = { accessKeyId, secretAccessKey: apiKey, region: 'eu-west-1', service: 'sns' };

const names = ['AWS.SNS.SMS.SMSType', 'AWS.SNS.SMS.SenderID', 'AWS.MM.SMS.OriginationNumber'];

export const snsStandIn = httpStandIn({
  traits: {
    channel: 'SMS',
    name: 'sns',
    messageId: /^94f20ce6-13c5-43a0-9a9e-ca52d816e90b$/,
    saysRetryAfter: false,
    hasAnswerForm: true,
    wrongKey: 'someoneElsesSecret',
    echoes: () => [apiKey, base64(apiKey), encodeURIComponent(apiKey)],
  },
  settings: { apiKey, config: { region: account.region, accessKeyId, from: 'AcmeInc' } },
  recipient: () => smsRecipient,
  refusal(request) {
    const problem = awsProblem(request, account);
    if (problem !== null) return awsError(403, problem, 'The request signature we calculated does not match.');
    const form = new URLSearchParams(request.body);
    if (form.get('Action') !== 'Publish' || form.get('Version') !== '2010-03-31') {
      return awsError(400, 'InvalidAction', 'Could not find operation.');
    }
    if (!/^\+\d+$/.test(form.get('PhoneNumber') ?? '')) return awsError(400, 'InvalidParameter', 'PhoneNumber');
    if ((form.get('Message') ?? '') === '') return awsError(400, 'InvalidParameter', 'Empty message');
    return attributesAreRight(form) ? null : awsError(400, 'ParameterValueInvalid', 'The attributes are not valid.');
  },
  answers: (echo) => ({
    success: {
      status: 200,
      headers: { 'content-type': 'text/xml' },
      body:
        `<PublishResponse xmlns="https://sns.amazonaws.com/doc/2010-03-31/"><PublishResult>` +
        `<MessageId>94f20ce6-13c5-43a0-9a9e-ca52d816e90b</MessageId></PublishResult><ResponseMetadata>` +
        `<RequestId>f187a3c1-376f-11df-8963-01868b7c937a</RequestId></ResponseMetadata></PublishResponse>`,
    },
    'bad credentials': awsError(403, 'AuthorizationError', 'User is not authorized to perform: SNS:Publish'),
    'bad recipient': awsError(
      400,
      'InvalidParameter',
      'Invalid parameter: PhoneNumber Reason: +491701234567 is not valid to publish to',
    ),
    throttled: awsError(429, 'Throttled', 'Rate exceeded'),
    'server error': awsError(500, 'InternalError', 'An internal error occurred.'),
    'malformed answer': { status: 200, body: '{"not":"xml"' },
    echo: awsError(403, 'SignatureDoesNotMatch', echo),
  }),
});

/** MessageAttributes.entry.N, from 1 on without a gap, each with a known name and a value of type String. */
function attributesAreRight(form: URLSearchParams): boolean {
  const given = [...form.keys()].filter((key) => key.startsWith('MessageAttributes.')).length;
  for (let n = 1; n <= given / 3; n++) {
    const entry = `MessageAttributes.entry.${n}`;
    if (!names.includes(form.get(`${entry}.Name`) ?? '')) return false;
    if (form.get(`${entry}.Value.DataType`) !== 'String') return false;
    if ((form.get(`${entry}.Value.StringValue`) ?? '') === '') return false;
  }
  return given % 3 === 0;
}
