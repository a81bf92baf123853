// What POST /notify takes, by channel: rules between fields that an OpenAPI document can only tell in words.

import type { operations } from './openapi.ts';

type Wire = operations['notify']['requestBody']['content']['application/json'];
type WireTemplate = { readonly [Name in 'template']: NonNullable<Wire[Name]> };

/** What every channel takes. */
type Common = Omit<
  Wire,
  | 'channel'
  | 'template'
  | 'templateName'
  | 'subject'
  | 'rawSubject'
  | 'body'
  | 'rawBody'
  | 'replyTo'
  | 'cc'
  | 'bcc'
  | 'transactional'
  | 'expiresAt'
  | 'ttlSeconds'
> &
  Expiry;

/** One of them, or neither. */
type Expiry =
  | { readonly expiresAt?: Wire['expiresAt']; readonly ttlSeconds?: never }
  | { readonly ttlSeconds?: Wire['ttlSeconds']; readonly expiresAt?: never };

/** A template of the channel, whose subject and body it takes. */
type FromTemplate = WireTemplate & { readonly subject?: never; readonly body?: never };

interface WithoutTemplate {
  readonly template?: never;
  /** At most 200 KiB. In an EMAIL text with HTML tags is HTML. */
  readonly body: string;
}

type Raw = WithoutTemplate & { readonly subject?: string };
/** A raw mail needs a subject. */
type RawMail = WithoutTemplate & { readonly subject: string };

type OfMails = { readonly [Name in 'replyTo' | 'cc' | 'bcc']?: Wire[Name] };
type OfPeople = { readonly [Name in 'transactional']?: Wire[Name] };

export type EmailRequest = Common & OfMails & OfPeople & { readonly channel: 'EMAIL' } & (FromTemplate | RawMail);
export type SmsRequest = Common & OfPeople & { readonly channel: 'SMS' } & (FromTemplate | Raw);
export type WebhookRequest = Common & { readonly channel: 'WEBHOOK' } & (FromTemplate | Raw);
export type InAppRequest = Common & { readonly channel: 'IN_APP' } & (FromTemplate | Raw);

export type NotificationRequest = EmailRequest | SmsRequest | WebhookRequest | InAppRequest;

/** An item of a batch; a key is made where none is given. */
export type BatchItem = NotificationRequest & { readonly idempotencyKey?: string };
