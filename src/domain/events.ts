// Everything that can have happened: the events of the log, past tense, immutable, never renamed.
// The wire form of each is schemas/<Type>.v<n>.avsc; DESIGN section 2 says who appends which.

import type { BatchId, EventId, NotificationId, TemplateId, TenantId } from './ids.ts';

export const channels = ['EMAIL', 'SMS', 'WEBHOOK', 'IN_APP'] as const;
export type Channel = (typeof channels)[number];

export const priorities = ['HIGH', 'DEFAULT', 'BULK'] as const;
export type Priority = (typeof priorities)[number];

/**
 * Whose fault a failed attempt is. The tenant's or the receiver's: recipient, credentials, content, blocked (the address guard), expired.
 * The world's: provider, network. Ours: system.
 */
export const failureClasses = [
  'recipient',
  'credentials',
  'content',
  'provider',
  'network',
  'blocked',
  'expired',
  'system',
] as const;
export type FailureClass = (typeof failureClasses)[number];

/** Which of a channel's two providers: the fallback takes over while the first one can't. */
export const providerRoles = ['primary', 'fallback'] as const;
export type ProviderRole = (typeof providerRoles)[number];

export const deferralReasons = ['scheduled', 'breaker', 'rate', 'window'] as const;
export type DeferralReason = (typeof deferralReasons)[number];

export interface TemplateReference {
  readonly id: TemplateId;
  readonly name: string;
  readonly version: number;
}

/** What a tenant asked for, rendered: what is shown of it. */
export interface NotificationContent {
  readonly subject: string | null;
  readonly body: string;
  readonly bodyFormat: 'text' | 'html';
  /** The request's own subject and body, when no template was used and they differ from what is rendered (older events: always, when none was used). */
  readonly rawSubject: string | null;
  readonly rawBody: string | null;
  /** The request's `data`, as JSON text of an object. */
  readonly data: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly template: TemplateReference | null;
  /** UTC ms; null when it is to be sent at once. */
  readonly sendAt: number | null;
  readonly batchId: BatchId | null;
  /** UTC ms: what isn't delivered by then isn't sent any more. Documents hold it only where there is one. */
  readonly expiresAt?: number | null;
  /** Of a mail: where answers go to, and who gets a copy. Documents hold them only where there are some. */
  readonly replyTo?: string | null;
  readonly cc?: readonly string[];
  readonly bcc?: readonly string[];
  /** Of a mail or a text message: it goes to suppressed recipients, too. */
  readonly transactional?: boolean;
}

/** Everything that is needed to deliver it: beside what is shown the headers that its caller's tracing hands on to a webhook's receiver. */
export interface DeliveryRequest extends NotificationContent {
  readonly tracestate: string | null;
  readonly baggage: string | null;
}

interface Envelope {
  readonly eventId: EventId;
  /** UTC ms. */
  readonly occurredAt: number;
  readonly tenantId: TenantId;
  /** W3C trace context of the request that began it. */
  readonly traceparent: string | null;
}

/** What every event of a notification carries. */
export interface NotificationEnvelope extends Envelope {
  readonly notificationId: NotificationId;
  /** UTC ms; the notification's place in every list and statistic. */
  readonly requestedAt: number;
  readonly channel: Channel;
  readonly priority: Priority;
  readonly recipient: string;
  /** 1 for the request itself, one more for each retry by hand. */
  readonly round: number;
  /** The partition number of all topics that this notification's events go to. */
  readonly partition: number;
}

/** The work event that an outcome answers, and the number of the attempt: numbers go on over the rounds. */
interface Attempted {
  readonly causeId: EventId;
  readonly attempt: number;
}

/** What leads to a further attempt also says which attempt began the round: the retry table counts from it. */
interface Continued extends Attempted {
  readonly firstAttempt: number;
}

export interface NotificationRequested extends NotificationEnvelope {
  readonly type: 'NotificationRequested';
  readonly request: DeliveryRequest;
  /** The notification whose content this one has: a person sent it once more. */
  readonly resendOf?: NotificationId | null;
}

export interface DeliveryDeferred extends NotificationEnvelope, Continued {
  readonly type: 'DeliveryDeferred';
  readonly reason: DeferralReason;
  /** UTC ms. */
  readonly dueAt: number;
  readonly request: DeliveryRequest;
}

export interface AttemptStarted extends NotificationEnvelope, Attempted {
  readonly type: 'AttemptStarted';
  readonly provider: string;
}

export interface AttemptSucceeded extends NotificationEnvelope, Attempted {
  readonly type: 'AttemptSucceeded';
  readonly provider: string;
  /** The provider's own id of the message. */
  readonly messageId: string | null;
  /** From when it was due to the start of the attempt, and the attempt itself; ms. */
  readonly waitedMs: number;
  readonly tookMs: number;
  /** Of the provider; absent: the first one. */
  readonly role?: ProviderRole;
}

export interface AttemptFailed extends NotificationEnvelope, Continued {
  readonly type: 'AttemptFailed';
  readonly provider: string;
  readonly failureClass: FailureClass;
  /** The receiver's own code: an HTTP status, an SMTP code, a provider's error code. */
  readonly code: string | null;
  /** At most 1 KiB, secrets taken out. */
  readonly message: string;
  readonly waitedMs: number;
  readonly tookMs: number;
  /** UTC ms of the next attempt, with the request; null ends the round. */
  readonly retryAt: number | null;
  readonly request: DeliveryRequest | null;
  /** Of the provider; absent: the first one. */
  readonly role?: ProviderRole;
}

/** The timer set by `causeId` (a DeliveryDeferred or an AttemptFailed) fired: attempt number `attempt` is to be made now. */
export interface DeliveryDue extends NotificationEnvelope, Continued {
  readonly type: 'DeliveryDue';
  readonly dueAt: number;
  readonly request: DeliveryRequest;
}

export interface CancelRequested extends NotificationEnvelope {
  readonly type: 'CancelRequested';
}

/** `causeId` is the eventId of what had set the timer that was taken away, or of the work event that was due and waited for its turn. */
export interface NotificationCancelled extends NotificationEnvelope {
  readonly type: 'NotificationCancelled';
  readonly causeId: EventId;
}

/** A person sends a failed one again: `round` is the new one, `attempt` the number of its first attempt. */
export interface RetryRequested extends NotificationEnvelope {
  readonly type: 'RetryRequested';
  readonly attempt: number;
  readonly request: DeliveryRequest;
}

export interface InboxRead extends Envelope {
  readonly type: 'InboxRead';
  readonly recipient: string;
  readonly partition: number;
  /** At most 5,000. */
  readonly notificationIds: readonly NotificationId[];
}

/** A batch was read to its end: how many of its items became notifications, which carry its id. Appended after them. */
export interface BatchAccepted extends Envelope {
  readonly type: 'BatchAccepted';
  readonly batchId: BatchId;
  readonly partition: number;
  readonly accepted: number;
  readonly rejected: number;
}

export const settingsSubjects = ['tenant', 'key', 'provider', 'template'] as const;
export type SettingsSubject = (typeof settingsSubjects)[number];

/** The audit: who changed what and when. Never a secret, never a key. */
export interface SettingsChanged extends Envelope {
  readonly type: 'SettingsChanged';
  readonly partition: number;
  readonly subject: SettingsSubject;
  /** A template's id, a provider's channel, a key's id, the tenant's id. */
  readonly subjectId: string;
  readonly action: 'created' | 'updated' | 'deleted' | 'regenerated';
  /** The `sub` of the token. */
  readonly actor: string;
}

export const suppressionReasons = ['bounce', 'complaint', 'unsubscribe', 'manual'] as const;
export type SuppressionReason = (typeof suppressionReasons)[number];

interface OfRecipient extends Envelope {
  readonly partition: number;
  readonly channel: Channel;
  /** As `comparedRecipient` writes it. */
  readonly recipient: string;
  /** The `sub` of the token; null: no person's doing. */
  readonly actor: string | null;
}

/** Nothing is sent to it any more but what is `transactional`. All of a recipient's stand in one partition: the last one counts. */
export interface RecipientSuppressed extends OfRecipient {
  readonly type: 'RecipientSuppressed';
  readonly reason: SuppressionReason;
}

export interface RecipientReleased extends OfRecipient {
  readonly type: 'RecipientReleased';
}

/**
 * A recipient is to be forgotten: whoever reads the log from now on sees these events without what they said of it (domain/erasure.ts). It names ids alone, so
 * nobody can tell from it who was meant.
 */
export interface RecipientErased extends Envelope {
  readonly type: 'RecipientErased';
  /** The number of all that it names: each read model meets it where it has the documents. */
  readonly partition: number;
  /** The `sub` of the token; null: an operator's doing. */
  readonly actor: string | null;
  /** At most 1,000. */
  readonly notificationIds: readonly NotificationId[];
  /** Events of no notification that name the recipient: of the suppression list, and dead letters. At most 1,000. */
  readonly eventIds: readonly EventId[];
}

/**
 * A tenant is erased: whoever reads the log from now on passes over all that is of it, and nothing of it is sent any more. One in each of its numbers. Its id is
 * never given again.
 */
export interface TenantErased extends Envelope {
  readonly type: 'TenantErased';
  readonly partition: number;
  /** Who did it, as an operator names himself; null: it isn't said. */
  readonly actor: string | null;
}

/** What the read models had of an erased tenant: these documents go. To whoever folds the log anew it says nothing, who has none of them. */
export interface TenantForgotten extends Envelope {
  readonly type: 'TenantForgotten';
  /** The number of all that it names. */
  readonly partition: number;
  /** At most 1,000. */
  readonly notificationIds: readonly NotificationId[];
  /** Of what was said of whole batches; at most 1,000. */
  readonly batchIds: readonly BatchId[];
  /** Days (UTC ms at which they begin) of which something was kept; at most 1,000. */
  readonly endedDays: readonly number[];
}

/** What a provider tells of a message after it has taken it. */
export const reportKinds = ['delivered', 'bounced', 'complained', 'opened', 'clicked'] as const;
export type ReportKind = (typeof reportKinds)[number];

/**
 * A provider's word on what became of a message: a fact beside the status, which it never changes. Appended by whoever was told, without a look at the record:
 * so there may be none of this id, and tenant and id together say whose it is.
 */
export interface ProviderReported extends Envelope {
  readonly type: 'ProviderReported';
  readonly notificationId: NotificationId;
  /** The number that the notification's events have. */
  readonly partition: number;
  readonly channel: Channel;
  readonly provider: string;
  readonly report: ReportKind;
  /** UTC ms: when it happened, as the provider says; it may tell of it days later. */
  readonly reportedAt: number;
  /** Whom it is about, as `comparedRecipient` writes it: of a mail with copies one of several. null: the provider doesn't say. */
  readonly recipient: string | null;
  /** Of a bounce: the recipient takes no mail at all, now or later. */
  readonly permanent: boolean;
  /** In the provider's words, at most 512 characters. */
  readonly reason: string | null;
}

export type SuppressionEvent = RecipientSuppressed | RecipientReleased;

/** What stays of the notifications of one tenant and partition number that were requested in one day (UTC), once they are gone. */
export interface KeptDay {
  /** UTC ms at which it begins. */
  readonly at: number;
  /** How many, by `CHANNEL.PRIORITY.STATUS.PROVIDER`. */
  readonly counts: Readonly<Record<string, number>>;
  /** Request to delivery, by `CHANNEL.PRIORITY.PROVIDER`: how many of which bucket. */
  readonly latency: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Notifications whose first report came on that day, by `CHANNEL.PROVIDER.KIND`. */
  readonly reports: Readonly<Record<string, number>>;
}

/**
 * Retention has ended for these notifications of a tenant: no read model shows them any more, whichever of their events the log still has. The events of a
 * partition number are a chain, so that of two that were made side by side the first counts.
 */
export interface NotificationsForgotten extends Envelope {
  readonly type: 'NotificationsForgotten';
  readonly partition: number;
  /** From 1, one more with each. */
  readonly sequence: number;
  /** The one before; null: there was none. */
  readonly follows: EventId | null;
  /** At most 500. */
  readonly notificationIds: readonly NotificationId[];
  /** Of what was said of whole batches. */
  readonly batchIds: readonly BatchId[];
  readonly kept: readonly KeptDay[];
  /** Days (UTC ms at which they begin) of which nothing is kept any more. */
  readonly endedDays: readonly number[];
}

/** Bytes that do not decode under a known schema, and where they came from. */
export interface DeadLettered extends Envelope {
  readonly type: 'DeadLettered';
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly reason: string;
  /** base64 */
  readonly bytes: string;
}

/** Events that ask a dispatcher for an attempt. */
export type WorkEvent = NotificationRequested | DeliveryDue | RetryRequested;

/** What a dispatcher and the scheduler say of a notification, and what a person wants stopped. */
export type DeliveryEvent =
  | DeliveryDeferred
  | AttemptStarted
  | AttemptSucceeded
  | AttemptFailed
  | CancelRequested
  | NotificationCancelled;

/** What its status and its timers follow from. */
export type NotificationEvent = WorkEvent | DeliveryEvent;

export function isNotificationEvent(event: DomainEvent): event is NotificationEvent {
  return 'notificationId' in event && event.type !== 'ProviderReported';
}

export type DomainEvent =
  | NotificationEvent
  | ProviderReported
  | BatchAccepted
  | InboxRead
  | SettingsChanged
  | SuppressionEvent
  | NotificationsForgotten
  | RecipientErased
  | TenantErased
  | TenantForgotten
  | DeadLettered;

export type EventType = DomainEvent['type'];
