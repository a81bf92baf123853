// Messages of Amazon SNS: their signature, by a certificate that Amazon serves, and the confirmation of a subscription.
// https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message-verify-message-signature.html

import type { KeyObject } from 'node:crypto';
import { verify, X509Certificate } from 'node:crypto';

import { z } from 'zod';

import type { Outbound } from '../../ports/outbound.ts';
import { OutboundError } from '../../ports/outbound.ts';

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
  /** @throws OutboundError when its certificate can't be fetched */
  isSigned(message: SnsMessage, at: { readonly now: number; readonly signal: AbortSignal }): Promise<boolean>;
  /** Whether Amazon took it. @throws OutboundError */
  confirm(message: SnsMessage, signal: AbortSignal): Promise<boolean>;
}

/** Amazon changes them every few months, in each region by itself. */
const certificatesMax = 32;

interface Certificate {
  readonly key: KeyObject;
  /** UTC ms. */
  readonly validFrom: number;
  readonly validTo: number;
}

export function createSnsVerifier(outbound: Pick<Outbound, 'request'>): SnsVerifier {
  const known = new Map<string, Promise<Certificate>>();

  const certificateOf = (url: string, signal: AbortSignal): Promise<Certificate> => {
    const found = known.get(url);
    if (found !== undefined) return found;
    const [oldest] = known.keys();
    if (known.size >= certificatesMax && oldest !== undefined) known.delete(oldest);
    const fetching = fetchCertificate(outbound, url, signal);
    known.set(url, fetching);
    // Asked for again by the next message.
    fetching.catch(() => known.delete(url));
    return fetching;
  };

  return {
    async isSigned(sent, { now, signal }) {
      if (!isOfAmazon(sent.SigningCertURL, /^\/[\w./-]{1,200}\.pem$/)) return false;
      const { key, validFrom, validTo } = await certificateOf(sent.SigningCertURL, signal);
      if (now < validFrom || now > validTo) return false;
      const algorithm = sent.SignatureVersion === '2' ? 'sha256' : 'sha1';
      return verify(algorithm, Buffer.from(signedText(sent)), key, Buffer.from(sent.Signature, 'base64'));
    },
    async confirm({ SubscribeURL: url = '' }, signal) {
      if (!isOfAmazon(url, /^\/\?/)) return false;
      const { status } = await outbound.request({ method: 'GET', url, headers: {}, body: null, signal });
      return status >= 200 && status < 300;
    },
  };
}

/** Only what SNS itself serves: anybody may publish a certificate elsewhere at Amazon. */
function isOfAmazon(text: string, path: RegExp): boolean {
  const url = URL.parse(text);
  if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '') return false;
  return (
    url.port === '' &&
    /^sns\.[a-z0-9-]{3,40}\.amazonaws\.com(?:\.cn)?$/.test(url.hostname) &&
    path.test(url.pathname + url.search)
  );
}

async function fetchCertificate(
  outbound: Pick<Outbound, 'request'>,
  url: string,
  signal: AbortSignal,
): Promise<Certificate> {
  const { status, body } = await outbound.request({ method: 'GET', url, headers: {}, body: null, signal });
  if (status !== 200) throw new OutboundError('network', 'NO_CERTIFICATE', `Amazon answered ${status}.`);
  try {
    const { publicKey: key, validFrom, validTo } = new X509Certificate(body);
    return { key, validFrom: Date.parse(validFrom), validTo: Date.parse(validTo) };
  } catch {
    throw new OutboundError('network', 'NO_CERTIFICATE', 'What Amazon answered is no certificate.');
  }
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
