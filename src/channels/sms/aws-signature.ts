// Signature Version 4 of a POST to the root of an Amazon service.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html

import { createHash, createHmac } from 'node:crypto';

export interface AwsSigner {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
  readonly service: string;
}

/**
 * The request's headers with `x-amz-date` and `authorization`. The host is signed, too: whoever sends the request must send it as the URL says.
 * @param request its URL has no query
 * @param now UTC ms
 */
export function signedHeaders(
  request: { readonly url: string; readonly headers: Readonly<Record<string, string>>; readonly body: string },
  signer: AwsSigner,
  now: number,
): Record<string, string> {
  const { host, pathname } = new URL(request.url);
  // 20150830T123600Z
  const time = new Date(now).toISOString().replaceAll(/[-:]|\.\d{3}/g, '');
  const headers: Record<string, string> = { ...request.headers, 'x-amz-date': time };
  const signed = Object.entries({ ...headers, host }).sort(([a], [b]) => (a < b ? -1 : 1));
  const names = signed.map(([name]) => name).join(';');

  const lines = signed.map(([name, value]) => `${name}:${value.trim()}\n`).join('');
  const canonical = ['POST', pathname, '', lines, names, sha256(request.body)].join('\n');
  const day = time.slice(0, 8);
  const scope = `${day}/${signer.region}/${signer.service}/aws4_request`;
  const signature = hmac(keyOf(signer, day), ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n'));

  const credential = `${signer.accessKeyId}/${scope}`;
  const authorization = `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names}, Signature=${signature.toString('hex')}`;
  return { ...headers, authorization };
}

function keyOf({ secretAccessKey, region, service }: AwsSigner, day: string): Buffer {
  return [day, region, service, 'aws4_request'].reduce(hmac, Buffer.from(`AWS4${secretAccessKey}`));
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
