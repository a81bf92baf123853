// Messages of Amazon SNS: their signature, by a certificate that Amazon serves, and the confirmation of a subscription.
// https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message-verify-message-signature.html

import { verify } from 'node:crypto';

import { z } from 'zod';

import { awsRegion } from '../aws.ts';
import type { Asking, SnsDependencies } from './sns-certificates.ts';
import { createSnsCertificates } from './sns-certificates.ts';

const message = z.object({
  Type: z.enum(['Notification', 'SubscriptionConfirmation', 'UnsubscribeConfirmation']),
  MessageId: z.string().min(1).max(256),
  TopicArn: z.string().max(512),
  Message: z.string(),
  Timestamp: z.string().max(64),
  SignatureVersion: z.enum(['1', '2']),
  Signature: z.string(),
  SigningCertURL: z.string().max(2048),
  Subject: z.string().nullish(),
  Token: z.string().optional(),
  SubscribeURL: z.string().max(2048).optional(),
});

export type SnsMessage = z.infer<typeof message>;

export function snsMessageOf(json: unknown): SnsMessage | null {
  return message.safeParse(json).data ?? null;
}

export interface SnsVerifier {
  /** @throws OutboundError when its certificate can't be fetched, or not now */
  isSigned(message: SnsMessage, by: SnsReading): Promise<boolean>;
  /** Whether Amazon took it. @throws OutboundError */
  confirm(message: SnsMessage, by: SnsReading): Promise<boolean>;
}

export interface SnsReading extends Asking {
  /** Of the topic. */
  readonly region: string;
  /** UTC ms. */
  readonly now: number;
}

export function createSnsVerifier(dependencies: SnsDependencies): SnsVerifier {
  const certificateOf = createSnsCertificates(dependencies);
  return {
    async isSigned(sent, { region, now, ...asking }) {
      const url = urlAtAmazon(sent.SigningCertURL, region, /^\/[\w./-]{1,200}\.pem$/);
      if (url === null) return false;
      const { key, validFrom, validTo } = await certificateOf(url, asking);
      if (now < validFrom || now > validTo) return false;
      const algorithm = sent.SignatureVersion === '2' ? 'sha256' : 'sha1';
      return verify(algorithm, Buffer.from(signedText(sent)), key, Buffer.from(sent.Signature, 'base64'));
    },
    async confirm({ SubscribeURL = '' }, { region, signal }) {
      const url = urlAtAmazon(SubscribeURL, region, /^\/\?/);
      if (url === null) return false;
      const { status } = await dependencies.outbound.request({ method: 'GET', url, headers: {}, body: null, signal });
      return status >= 200 && status < 300;
    },
  };
}

/**
 * Only what SNS itself serves, in the region that its topic is in: anybody may publish a certificate elsewhere at Amazon, and name any region.
 * @returns it in the one way to write it, however it is written; null: it is another
 */
function urlAtAmazon(text: string, region: string, path: RegExp): string | null {
  const url = URL.parse(text);
  if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '') return null;
  const { host, origin, pathname, search } = url;
  const isThere =
    awsRegion.test(region) && [`sns.${region}.amazonaws.com`, `sns.${region}.amazonaws.com.cn`].includes(host);
  return isThere && path.test(pathname + search) ? origin + pathname + search : null;
}

function signedText(sent: SnsMessage): string {
  const { Type, Message, MessageId, Subject, SubscribeURL, Timestamp, Token, TopicArn } = sent;
  const fields =
    Type === 'Notification'
      ? { Message, MessageId, Subject, Timestamp, TopicArn, Type }
      : { Message, MessageId, SubscribeURL, Timestamp, Token, TopicArn, Type };
  return Object.entries(fields)
    .map(([name, value]) => (value === undefined || value === null ? '' : `${name}\n${value}\n`))
    .join('');
}
