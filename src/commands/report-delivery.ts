// Takes what a provider reports of a tenant's messages: events of the notifications, and recipients that nothing is sent to any more.

import { unavailable } from '../domain/errors.ts';
import type { Channel, ProviderReported, RecipientSuppressed } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import { eventIdFrom } from '../domain/ids.ts';
import { comparedRecipient, suppressionIdOf, suppressionsOfRecipientsMax } from '../domain/suppression.ts';
import { partitionOf, suppressionPartition } from '../domain/topics.ts';
import type { ProviderReport } from '../ports/callbacks.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { SuppressionList } from '../ports/suppressions.ts';

export interface ReportDeliveryDependencies {
  readonly log: Pick<EventLog, 'append' | 'partitioning' | 'isErased'>;
  readonly suppressions: SuppressionList;
  readonly clock: Pick<Clock, 'now'>;
}

export interface ReportedMessages {
  readonly tenantId: TenantId;
  readonly channel: Channel;
  readonly provider: string;
  readonly reports: readonly ProviderReport[];
}

export interface ReportOutcome {
  /** Recipients put on the suppression list. */
  readonly suppressed: number;
  /** Recipients that were not, since the list is full. */
  readonly unsuppressed: number;
}

/** Under way at once: a flush or two of the log, and 200 KiB. */
const flushEventsMax = 200;
/** An address has 254 characters, a number 16. */
const recipientMax = 320;
const reasonMax = 512;

/** All of it is durable when it resolves; told again it changes nothing. @throws DomainError SERVICE_UNAVAILABLE: some of it may be, the rest isn't */
export function reportDelivery(deps: ReportDeliveryDependencies) {
  const { log, suppressions, clock } = deps;

  const append = async (events: readonly (ProviderReported | RecipientSuppressed)[]): Promise<void> => {
    for (let at = 0; at < events.length; at += flushEventsMax) {
      const results = await Promise.all(events.slice(at, at + flushEventsMax).map((event) => log.append(event)));
      if (results.some(({ kind }) => kind !== 'durable'))
        throw unavailable(
          'The reports are not all durable: the event log takes nothing at the moment. Send them again.',
        );
    }
  };

  const eventOf = (of: ReportedMessages, report: ProviderReport): ProviderReported => {
    const { tenantId, channel, provider } = of;
    const { notificationId, kind, at, id, permanent, reason } = report;
    const recipient = log.isErased(notificationId) ? null : recipientOf(channel, report.recipient);
    const key = { tenantId, channel, recipient: recipient ?? '', notificationId };
    return {
      type: 'ProviderReported',
      eventId: eventIdFrom('reported', tenantId, provider, id),
      occurredAt: clock.now(),
      tenantId,
      traceparent: null,
      notificationId,
      partition: partitionOf(key, log.partitioning),
      channel,
      provider,
      report: kind,
      reportedAt: at,
      recipient,
      permanent,
      reason: reason === null ? null : oneLine(reason),
    };
  };

  /** null where the report is no reason for it, or not any more: its tenant has released the recipient since. */
  const suppressionBy = (event: ProviderReported): RecipientSuppressed | null => {
    const { tenantId, channel, recipient, report, permanent, reportedAt: at } = event;
    const reason = report === 'complained' ? 'complaint' : report === 'bounced' && permanent ? 'bounce' : null;
    if (reason === null || recipient === null || suppressions.has(tenantId, channel, recipient)) return null;
    const eventId = eventIdFrom('suppressed', event.eventId);
    const id = suppressionIdOf(tenantId, channel, recipient);
    if (suppressions.wasReleased(tenantId, id, { at, eventId })) return null;
    const partition = suppressionPartition(tenantId, recipient, log.partitioning);
    const { occurredAt, traceparent } = event;
    const of = { tenantId, traceparent, partition, channel, recipient, actor: null };
    return { type: 'RecipientSuppressed', eventId, occurredAt, ...of, reason };
  };

  return async (of: ReportedMessages): Promise<ReportOutcome> => {
    const events = of.reports.map((report) => eventOf(of, report));
    const byRecipient = new Map<string, RecipientSuppressed>();
    for (const event of events) {
      const suppressed = suppressionBy(event);
      if (suppressed !== null) byRecipient.set(suppressed.recipient, suppressed);
    }
    const room = Math.max(0, suppressionsOfRecipientsMax - suppressions.count(of.tenantId));
    const all = [...byRecipient.values()];
    // Before the reports: whoever dies between the two is told all of it again.
    await append(all.slice(0, room));
    await append(events);
    return { suppressed: Math.min(all.length, room), unsuppressed: Math.max(0, all.length - room) };
  };
}

function recipientOf(channel: Channel, recipient: string | null): string | null {
  return recipient === null || recipient.length > recipientMax ? null : comparedRecipient(channel, recipient.trim());
}

function oneLine(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .slice(0, reasonMax)
    .toWellFormed();
}
