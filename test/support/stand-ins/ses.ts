// Amazon SES: https://docs.aws.amazon.com/ses/latest/APIReference/API_SendEmail.html and .../CommonErrors.html

import { awsError, awsProblem } from './aws-check.ts';
import { base64, httpStandIn } from './http-stand-in.ts';
import { emailRecipient, emailSender } from './parties.ts';

const apiKey = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY';
const accessKeyId = 'AKIAIOSFODNN7EXAMPLE';
const account = { accessKeyId, secretAccessKey: apiKey, region: 'eu-central-1', service: 'ses' };

export const sesStandIn = httpStandIn({
  traits: {
    channel: 'EMAIL',
    name: 'ses',
    messageId: /^0102018f-1$/,
    saysRetryAfter: false,
    hasAnswerForm: true,
    wrongKey: 'someoneElsesSecret',
    echoes: () => [apiKey, base64(apiKey)],
  },
  settings: { apiKey, config: { ...emailSender, region: account.region, accessKeyId } },
  recipient: () => emailRecipient,
  refusal(request) {
    const problem = awsProblem(request, account);
    if (problem !== null) return awsError(403, problem, 'The request signature we calculated does not match.');
    const form = new URLSearchParams(request.body);
    if (form.get('Action') !== 'SendEmail') return awsError(400, 'InvalidAction', 'The action is not valid.');
    return form.has('Destination.ToAddresses.member.1') ? null : awsError(400, 'ValidationError', 'No recipient.');
  },
  answers: (echo) => ({
    success: {
      status: 200,
      headers: { 'content-type': 'text/xml' },
      body:
        `<SendEmailResponse xmlns="http://ses.amazonaws.com/doc/2010-12-01/"><SendEmailResult>` +
        `<MessageId>0102018f-1</MessageId></SendEmailResult><ResponseMetadata><RequestId>r</RequestId>` +
        `</ResponseMetadata></SendEmailResponse>`,
    },
    'bad credentials': awsError(403, 'InvalidClientTokenId', 'The security token in the request is invalid.'),
    'bad recipient': awsError(400, 'InvalidParameterValue', "Missing final '@domain'"),
    throttled: awsError(400, 'Throttling', 'Maximum sending rate exceeded.'),
    'server error': { status: 503, body: 'Service Unavailable' },
    'malformed answer': { status: 200, body: '{"not":"xml"' },
    echo: awsError(403, 'SignatureDoesNotMatch', echo),
  }),
});
