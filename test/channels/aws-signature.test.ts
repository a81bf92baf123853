// Signature Version 4 against the vectors that Amazon publishes (aws-sig-v4-test-suite, `post-x-www-form-urlencoded` and `post-vanilla`).

import { describe, expect, it } from '@jest/globals';

import { signedHeaders } from '../../src/channels/sms/aws-signature.ts';

const signer = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
  service: 'service',
};
const at = Date.UTC(2015, 7, 30, 12, 36, 0);
const credential = 'Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request';

describe('a request signed for Amazon', () => {
  it.each([
    [{ headers: {}, body: '' }, 'host;x-amz-date', '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
    [
      { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'Param1=value1' },
      'content-type;host;x-amz-date',
      'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
    ],
  ])('has the published signature: %#', (request, names, signature) => {
    const headers = signedHeaders({ url: 'https://example.amazonaws.com/', ...request }, signer, at);
    expect(headers).toEqual({
      ...request.headers,
      'x-amz-date': '20150830T123600Z',
      authorization: `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=${names}, Signature=${signature}`,
    });
  });
});
