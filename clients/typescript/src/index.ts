// What the package exports.

export { HeraldConnectionError, HeraldError } from './errors.ts';
export { createHerald } from './herald.ts';
export type { Herald, Received, StreamOptions } from './herald.ts';
export type {
  BatchItem,
  EmailRequest,
  InAppRequest,
  NotificationRequest,
  SmsRequest,
  WebhookRequest,
} from './notification-request.ts';
export type {
  Answer,
  CallOptions,
  Entry,
  Message,
  OperationName,
  PagesName,
  RequestName,
  RequestOptions,
  Schemas,
  StreamMessages,
  StreamName,
} from './operations.ts';
export type { TokenSource } from './held-token.ts';
export type { TransportOptions as HeraldOptions } from './transport.ts';
export { verifyWebhook, WebhookVerificationError } from './webhook.ts';
export type { WebhookMessage, WebhookToVerify } from './webhook.ts';
