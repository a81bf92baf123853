// Arbitrary events for property tests: every type, every field in its range.

import type { DeliveryRequest, DomainEvent, EventType } from '../../src/domain/events.ts';
import {
  channels,
  deferralReasons,
  failureClasses,
  priorities,
  providerRoles,
  reportKinds,
  settingsSubjects,
  suppressionReasons,
} from '../../src/domain/events.ts';
import fc from './properties.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 40 });
const time = fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 });
const small = fc.integer({ min: 1, max: 9 });
const orNull = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });

const anyRequest = fc.record({
  subject: orNull(text),
  body: text,
  bodyFormat: fc.constantFrom('text' as const, 'html' as const),
  rawSubject: orNull(text),
  rawBody: orNull(text),
  data: fc.constantFrom('{}', '{"name":"Ada"}'),
  metadata: fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), text, { maxKeys: 3 }),
  template: orNull(fc.record({ id: fc.uuid(), name: text, version: small })),
  sendAt: orNull(time),
  batchId: orNull(fc.uuid()),
  expiresAt: orNull(time),
  tracestate: orNull(text),
  baggage: orNull(text),
  replyTo: orNull(text),
  cc: fc.array(text, { maxLength: 3 }),
  bcc: fc.array(text, { maxLength: 3 }),
  transactional: fc.boolean(),
}) as unknown as fc.Arbitrary<DeliveryRequest>;

const envelope = { eventId: fc.uuid(), occurredAt: time, tenantId: fc.uuid(), traceparent: orNull(text) };
const ofNotification = {
  ...envelope,
  notificationId: fc.uuid(),
  requestedAt: time,
  channel: fc.constantFrom(...channels),
  priority: fc.constantFrom(...priorities),
  recipient: text,
  round: small,
  partition: fc.nat(11),
};
const ofRecipient = {
  ...envelope,
  partition: fc.nat(11),
  channel: fc.constantFrom(...channels),
  recipient: text,
  actor: orNull(text),
};
const attempted = { causeId: fc.uuid(), attempt: small };
const continued = { ...attempted, firstAttempt: small };
const tries = { provider: text, role: fc.constantFrom(...providerRoles), waitedMs: fc.nat(), tookMs: fc.nat() };

const fieldsOf: Record<EventType, Record<string, fc.Arbitrary<unknown>>> = {
  NotificationRequested: { ...ofNotification, request: anyRequest, resendOf: orNull(fc.uuid()) },
  DeliveryDeferred: {
    ...ofNotification,
    ...continued,
    reason: fc.constantFrom(...deferralReasons),
    dueAt: time,
    request: anyRequest,
  },
  AttemptStarted: { ...ofNotification, ...attempted, provider: text },
  AttemptSucceeded: { ...ofNotification, ...attempted, ...tries, messageId: orNull(text) },
  AttemptFailed: {
    ...ofNotification,
    ...continued,
    ...tries,
    failureClass: fc.constantFrom(...failureClasses),
    code: orNull(text),
    message: text,
    retryAt: orNull(time),
    request: orNull(anyRequest),
  },
  DeliveryDue: { ...ofNotification, ...continued, dueAt: time, request: anyRequest },
  CancelRequested: ofNotification,
  NotificationCancelled: { ...ofNotification, causeId: fc.uuid() },
  RetryRequested: { ...ofNotification, attempt: small, request: anyRequest },
  ProviderReported: {
    ...envelope,
    notificationId: fc.uuid(),
    partition: fc.nat(11),
    channel: fc.constantFrom(...channels),
    provider: text,
    report: fc.constantFrom(...reportKinds),
    reportedAt: time,
    recipient: orNull(text),
    permanent: fc.boolean(),
    reason: orNull(text),
  },
  BatchAccepted: {
    ...envelope,
    batchId: fc.uuid(),
    partition: fc.nat(11),
    accepted: fc.nat(),
    rejected: fc.nat(),
  },
  InboxRead: {
    ...envelope,
    recipient: text,
    partition: fc.nat(11),
    notificationIds: fc.array(fc.uuid(), { maxLength: 5 }),
  },
  SettingsChanged: {
    ...envelope,
    partition: fc.nat(11),
    subject: fc.constantFrom(...settingsSubjects),
    subjectId: text,
    action: fc.constantFrom('created', 'updated', 'deleted', 'regenerated'),
    actor: text,
  },
  RecipientSuppressed: { ...ofRecipient, reason: fc.constantFrom(...suppressionReasons) },
  RecipientReleased: ofRecipient,
  RecipientErased: {
    ...envelope,
    partition: fc.nat(11),
    actor: orNull(text),
    notificationIds: fc.array(fc.uuid(), { maxLength: 5 }),
    eventIds: fc.array(fc.uuid(), { maxLength: 3 }),
  },
  TenantErased: { ...envelope, partition: fc.nat(11), actor: orNull(text) },
  TenantForgotten: {
    ...envelope,
    partition: fc.nat(11),
    notificationIds: fc.array(fc.uuid(), { maxLength: 5 }),
    batchIds: fc.array(fc.uuid(), { maxLength: 2 }),
    endedDays: fc.array(time, { maxLength: 3 }),
  },
  NotificationsForgotten: {
    ...envelope,
    partition: fc.nat(11),
    sequence: fc.nat(),
    follows: orNull(fc.uuid()),
    notificationIds: fc.array(fc.uuid(), { maxLength: 5 }),
    batchIds: fc.array(fc.uuid(), { maxLength: 2 }),
    kept: fc.array(
      fc.record({
        at: time,
        counts: fc.dictionary(fc.stringMatching(/^[A-Z.]{1,9}$/), fc.nat(9)),
        latency: fc.dictionary(fc.stringMatching(/^[A-Z.]{1,9}$/), fc.dictionary(fc.stringMatching(/^\d$/), fc.nat(9))),
        reports: fc.dictionary(fc.stringMatching(/^[A-Z.]{1,9}$/), fc.nat(9)),
      }),
      { maxLength: 3 },
    ),
    endedDays: fc.array(time, { maxLength: 3 }),
  },
  DeadLettered: {
    ...envelope,
    topic: text,
    partition: fc.nat(11),
    offset: fc.nat(),
    reason: text,
    bytes: fc.base64String(),
  },
};

export const anyEvent: fc.Arbitrary<DomainEvent> = fc.oneof(
  ...Object.entries(fieldsOf).map(
    ([type, fields]) => fc.record({ type: fc.constant(type), ...fields }) as unknown as fc.Arbitrary<DomainEvent>,
  ),
);
