// What Amazon's services have in common: region, access key, and the errors that every one of them may answer with.
// https://docs.aws.amazon.com/ses/latest/APIReference/CommonErrors.html, https://docs.aws.amazon.com/sns/latest/api/CommonErrors.html

import { z } from 'zod';

export const awsRegion = /^[a-z]{2}(-[a-z]+)+-\d{1,2}$/;

export const awsAccess = {
  region: z
    .string()
    .regex(awsRegion, 'must be an AWS region such as eu-central-1')
    .describe('The AWS region, e.g. eu-central-1.'),
  accessKeyId: z
    .string()
    .regex(/^\w{4,128}$/, 'must be an AWS access key id such as AKIA...')
    .meta({ title: 'Access key ID', description: 'The id of the access key; its secret goes into apiKey.' }),
};

export const awsCredentialErrors: ReadonlySet<string> = new Set([
  'AccessDenied',
  'AccessDeniedException',
  'ExpiredToken',
  'IncompleteSignature',
  'InvalidClientTokenId',
  'MissingAuthenticationToken',
  'NotAuthorized',
  'OptInRequired',
  'SignatureDoesNotMatch',
  'UnrecognizedClientException',
]);

/** Some of them come with status 400. RequestExpired is a clock that is off. */
export const awsPassingErrors: ReadonlySet<string> = new Set([
  'InternalFailure',
  'RequestExpired',
  'RequestThrottled',
  'ServiceUnavailable',
  'Throttling',
  'ThrottlingException',
]);
