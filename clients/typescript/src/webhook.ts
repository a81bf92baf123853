// Checks that a webhook comes from Herald: Standard Webhooks 1.0, over WebCrypto.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md

/** What a webhook of a notification says. */
export interface WebhookMessage {
  readonly type: 'notification';
  /** The notification's, also after a retry by hand: a repeat is told by the header `webhook-id`, which has the round behind it then (`notif_x.2`). */
  readonly id: string;
  /** Of the request; the same on every try. */
  readonly timestamp: string;
  readonly data: {
    readonly notificationId: string;
    readonly recipient: string;
    readonly channel: 'WEBHOOK';
    readonly subject: string | null;
    readonly body: string;
    readonly data: Readonly<Record<string, unknown>>;
    readonly metadata: Readonly<Record<string, string>>;
  };
}

/** It isn't Herald's, or not of now: answer 400 and do nothing. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

export interface WebhookToVerify {
  /** The tenant's, `whsec_...`; several while one replaces another. */
  readonly secrets: string | readonly string[];
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The bytes as they came: what was parsed and written again has another signature. */
  readonly body: string | Uint8Array;
  /** How far its time may be from now, either way; 300 unless it is said. */
  readonly toleranceSeconds?: number;
}

/** Two are sent while a secret is replaced. */
const signaturesMax = 10;
const prefix = 'whsec_';

/**
 * The message, once one of its signatures fits one of the secrets. Answer 2xx to an id that you have seen: a webhook is sent at least once.
 * @throws WebhookVerificationError
 */
export async function verifyWebhook(given: WebhookToVerify): Promise<WebhookMessage> {
  const { headers, toleranceSeconds = 300 } = given;
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) =>
    headerOf(headers, `webhook-${name}`),
  );
  if (id === undefined || timestamp === undefined || signatures === undefined)
    throw new WebhookVerificationError('webhook-id, webhook-timestamp or webhook-signature is missing.');
  const ageSeconds = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (!/^\d{1,12}$/.test(timestamp) || ageSeconds > toleranceSeconds)
    throw new WebhookVerificationError('webhook-timestamp is too far from now.');
  const body = typeof given.body === 'string' ? new TextEncoder().encode(given.body) : given.body;
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), body);
  const secrets = typeof given.secrets === 'string' ? [given.secrets] : given.secrets;
  if (!(await fitsAny(secrets, signatures, signed))) throw new WebhookVerificationError('No signature fits.');
  return JSON.parse(new TextDecoder().decode(body)) as WebhookMessage;
}

/** Every signature is tried with every secret, so that the time taken tells nothing; WebCrypto compares in constant time. */
async function fitsAny(
  secrets: readonly string[],
  signatures: string,
  signed: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const given = signatures
    .split(' ')
    .slice(0, signaturesMax)
    .flatMap((text) => (text.startsWith('v1,') ? [bytesOf(text.slice(3))] : []));
  const keys = await Promise.all(secrets.map(keyOf));
  const fits = await Promise.all(
    keys.flatMap((key) =>
      given.map(async (signature) => signature !== null && crypto.subtle.verify('HMAC', key, signature, signed)),
    ),
  );
  return fits.includes(true);
}

/** @throws WebhookVerificationError for a secret that is none */
function keyOf(secret: string): ReturnType<typeof crypto.subtle.importKey> {
  const bytes = secret.startsWith(prefix) ? bytesOf(secret.slice(prefix.length)) : new TextEncoder().encode(secret);
  if (bytes === null || bytes.length === 0)
    throw new WebhookVerificationError('A secret is whsec_ and base64, or text.');
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

/** null: it isn't base64. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function joined(begin: Uint8Array, end: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(begin.length + end.length);
  all.set(begin);
  all.set(end, begin.length);
  return all;
}

function headerOf(headers: WebhookToVerify['headers'], name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const [, value] = Object.entries(headers).find(([key]) => key.toLowerCase() === name) ?? [];
  return typeof value === 'object' ? value.join(' ') : value;
}
