// Three days of a made-up shop, the same events each time: what docs/analysts.md looks into. Mails by one provider that is down for two hours, so that its
// fallback takes over; a template in three versions, of which the second sends some recipients nowhere; text messages; webhooks.

import type {
  AttemptFailed,
  AttemptSucceeded,
  Channel,
  DeliveryRequest,
  DomainEvent,
  FailureClass,
  NotificationRequested,
  Priority,
  ProviderReported,
  ReportKind,
} from '../../src/domain/events.ts';
import type { TemplateId, TenantId } from '../../src/domain/ids.ts';
import { eventIdFrom, notificationIdOf, uuidV7Bytes } from '../../src/domain/ids.ts';
import { defaultPartitioning, partitionOf } from '../../src/domain/topics.ts';

const tenantId = 'tnt_0000000000000000000000shop' as TenantId;
const hourMs = 3_600_000;
const begin = Date.UTC(2026, 10, 16);
const hours = 72;
/** Of the first provider, from 13:00 to 15:00 of the second day. */
const outage = { from: begin + 37 * hourMs, to: begin + 39 * hourMs };

interface Failure {
  readonly failureClass: FailureClass;
  readonly code: string;
  readonly message: string;
}

const outOfOrder: Failure = { failureClass: 'provider', code: '503', message: 'Service Unavailable' };
const noSuchMailbox: Failure = { failureClass: 'recipient', code: '550', message: 'No such mailbox' };
const noSuchHook: Failure = { failureClass: 'recipient', code: '410', message: 'Gone' };
const noSuchNumber: Failure = { failureClass: 'recipient', code: '21211', message: 'Not a valid phone number' };

/** In [0, 1), the same numbers each time (mulberry32). */
function createChance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** In the order in which they happened. */
export function shopEvents(): readonly DomainEvent[] {
  const chance = createChance(16);
  const events: DomainEvent[] = [];
  for (let hour = 0; hour < hours; hour++) {
    const count = Math.round(12 + 18 * (1 - Math.cos((hour / 24) * 2 * Math.PI)));
    for (let i = 0; i < count; i++) {
      const requestedAt = begin + hour * hourMs + Math.floor(chance() * hourMs);
      events.push(...lifeOf(requestedAt, chance));
    }
  }
  return events.toSorted((a, b) => a.occurredAt - b.occurredAt || (a.eventId < b.eventId ? -1 : 1));
}

type Chance = () => number;

function lifeOf(requestedAt: number, chance: Chance): readonly DomainEvent[] {
  const channel = channelBy(chance());
  const requested = requestedOf(channel, requestedAt, chance);
  const waitedMs = waitOf(requested.priority, chance);
  const tookMs = Math.round(60 + 240 * chance() * chance());
  const how = { waitedMs, tookMs, occurredAt: requestedAt + waitedMs + tookMs };
  if (channel === 'EMAIL') return [requested, ...mailOf(requested, how, chance)];
  const provider = channel === 'SMS' ? 'twilio' : 'webhook';
  const [odds, failure] = channel === 'SMS' ? [0.03, noSuchNumber] : [0.05, noSuchHook];
  if (chance() < odds) return [requested, failed(requested, { ...how, attempt: 1, provider, failure })];
  return [requested, succeeded(requested, { ...how, attempt: 1, provider })];
}

interface How {
  readonly waitedMs: number;
  readonly tookMs: number;
  readonly occurredAt: number;
}

function mailOf(requested: NotificationRequested, how: How, chance: Chance): readonly DomainEvent[] {
  const version = requested.request.template?.version ?? 0;
  const isDown = how.occurredAt >= outage.from && how.occurredAt < outage.to;
  if (chance() < (version === 2 ? 0.09 : 0.02))
    return [failed(requested, { ...how, attempt: 1, provider: 'sendgrid', failure: noSuchMailbox })];
  // Ten failures open its breaker: from then on the fallback has them at once, but for one probe in ten.
  if (!isDown) return delivered(requested, { ...how, attempt: 1, provider: 'sendgrid' }, chance);
  if (chance() > 0.15)
    return delivered(requested, { ...how, attempt: 1, provider: 'postmark', role: 'fallback' }, chance);
  const retryAt = how.occurredAt + 5_000;
  const probe = failed(requested, { ...how, attempt: 1, provider: 'sendgrid', failure: outOfOrder, retryAt });
  const again = { waitedMs: 20, tookMs: how.tookMs, occurredAt: retryAt + 20 + how.tookMs };
  return [probe, ...delivered(requested, { ...again, attempt: 2, provider: 'postmark', role: 'fallback' }, chance)];
}

type Success = How & { readonly attempt: number; readonly provider: string; readonly role?: 'fallback' };

/** And what its reader does: the third version is the one that is clicked. */
function delivered(requested: NotificationRequested, success: Success, chance: Chance): readonly DomainEvent[] {
  const version = requested.request.template?.version ?? 0;
  const at = success.occurredAt + Math.round(chance() * 6 * hourMs);
  const opened = version > 0 && chance() < 0.42;
  const clicked = opened && chance() < (version === 3 ? 0.35 : 0.12);
  return [
    succeeded(requested, success),
    ...(opened ? [reported(requested, 'opened', at)] : []),
    ...(clicked ? [reported(requested, 'clicked', at + 30_000)] : []),
  ];
}

function channelBy(odds: number): Channel {
  if (odds < 0.6) return 'EMAIL';
  return odds < 0.85 ? 'SMS' : 'WEBHOOK';
}

function priorityBy(odds: number): Priority {
  if (odds < 0.2) return 'HIGH';
  return odds < 0.7 ? 'DEFAULT' : 'BULK';
}

function waitOf(priority: Priority, chance: Chance): number {
  const usual = { HIGH: 8, DEFAULT: 60, BULK: 4_000 }[priority];
  return Math.round(-Math.log(1 - chance()) * usual);
}

function requestedOf(channel: Channel, requestedAt: number, chance: Chance): NotificationRequested {
  const random = Uint8Array.from({ length: 10 }, () => Math.floor(chance() * 256));
  const notificationId = notificationIdOf(uuidV7Bytes(requestedAt, random));
  const customer = Math.floor(chance() * 900);
  const recipient = recipientOf(channel, customer);
  const priority = priorityBy(chance());
  const isTemplate = channel === 'EMAIL' && chance() < 0.7;
  const version = 1 + Math.floor((requestedAt - begin) / (24 * hourMs));
  return {
    type: 'NotificationRequested',
    eventId: eventIdFrom('requested', notificationId),
    occurredAt: requestedAt,
    tenantId,
    traceparent: null,
    notificationId,
    requestedAt,
    channel,
    priority,
    recipient,
    round: 1,
    partition: partitionOf({ tenantId, channel, recipient, notificationId }, defaultPartitioning),
    request: {
      ...plainRequest,
      data: JSON.stringify({ order: customer }),
      template: isTemplate ? { id: 'tpl_welcome' as TemplateId, name: 'welcome', version } : null,
    },
  };
}

const plainRequest: DeliveryRequest = {
  subject: 'Your order',
  body: 'It is on its way.',
  bodyFormat: 'text',
  rawSubject: null,
  rawBody: null,
  data: '{}',
  metadata: {},
  template: null,
  sendAt: null,
  batchId: null,
  tracestate: null,
  baggage: null,
};

function recipientOf(channel: Channel, customer: number): string {
  if (channel === 'EMAIL') return `customer-${customer}@example.com`;
  return channel === 'SMS' ? `+1500555${String(customer).padStart(4, '0')}` : `https://example.com/hooks/${customer}`;
}

function envelopeOf(of: NotificationRequested, occurredAt: number, attempt: number) {
  const { notificationId, requestedAt, channel, priority, recipient, round, partition } = of;
  const ofNotification = { notificationId, requestedAt, channel, priority, recipient, round, partition };
  const causeId = of.eventId;
  return { tenantId, traceparent: null, occurredAt, causeId, attempt, ...ofNotification };
}

function succeeded(of: NotificationRequested, { occurredAt, attempt, ...how }: Success): AttemptSucceeded {
  const eventId = eventIdFrom('succeeded', of.notificationId, String(attempt));
  return { type: 'AttemptSucceeded', eventId, messageId: null, ...envelopeOf(of, occurredAt, attempt), ...how };
}

function failed(
  of: NotificationRequested,
  { occurredAt, attempt, failure, retryAt = null, ...how }: Success & { failure: Failure; retryAt?: number | null },
): AttemptFailed {
  const eventId = eventIdFrom('failed', of.notificationId, String(attempt));
  const ends = { retryAt, request: retryAt === null ? null : of.request };
  return {
    type: 'AttemptFailed',
    eventId,
    firstAttempt: 1,
    ...envelopeOf(of, occurredAt, attempt),
    ...how,
    ...failure,
    ...ends,
  };
}

function reported(of: NotificationRequested, report: ReportKind, reportedAt: number): ProviderReported {
  const { notificationId, partition, channel } = of;
  return {
    type: 'ProviderReported',
    eventId: eventIdFrom('reported', notificationId, report),
    occurredAt: reportedAt,
    tenantId,
    traceparent: null,
    notificationId,
    partition,
    channel,
    provider: 'sendgrid',
    report,
    reportedAt,
    recipient: null,
    permanent: false,
    reason: null,
  };
}
