// Amazon's side of Signature Version 4: computes the signature from what really arrived, header by header.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html

import { createHash, createHmac } from 'node:crypto';

import type { SinkRequest } from '../http-sink.ts';
import type { StandInAnswer } from './http-stand-in.ts';

export interface AwsAccount {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
  readonly service: string;
}

const form =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/;

/** The code of Amazon's error; null when the request is signed as the account signs. */
export function awsProblem(request: SinkRequest, account: AwsAccount): string | null {
  const match = form.exec(request.headers.authorization ?? '');
  if (match === null) return 'IncompleteSignature';
  const [, accessKeyId, day = '', region = '', service = '', names = '', signature] = match;
  if (accessKeyId !== account.accessKeyId) return 'InvalidClientTokenId';
  if (region !== account.region || service !== account.service) return 'SignatureDoesNotMatch';
  if (!names.split(';').includes('host')) return 'IncompleteSignature';

  const headers = names.split(';').map((name) => `${name}:${String(request.headers[name]).trim()}\n`);
  const canonical = [request.method, request.path, '', headers.join(''), names, sha256(request.body)].join('\n');
  const scope = `${day}/${region}/${service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', String(request.headers['x-amz-date']), scope, sha256(canonical)].join('\n');
  let key: string | Buffer = `AWS4${account.secretAccessKey}`;
  for (const part of [...scope.split('/'), text]) key = createHmac('sha256', key).update(part).digest();
  return (key as Buffer).toString('hex') === signature ? null : 'SignatureDoesNotMatch';
}

export function awsError(status: number, code: string, message: string): StandInAnswer {
  const error = `<Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error>`;
  const body = `<ErrorResponse xmlns="http://example.amazonaws.com/doc/">${error}<RequestId>r1</RequestId></ErrorResponse>`;
  return { status, headers: { 'content-type': 'text/xml' }, body };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
