// One attempt in flight: what is known of it, and the send itself, whose answer is always an outcome.

import type { DeliveryOutcome } from '../domain/delivery-outcome.ts';
import { isExpired } from '../domain/delivery-request.ts';
import type { ProviderRole, WorkEvent } from '../domain/events.ts';
import { redactionOf } from '../domain/redaction.ts';
import type { Clock } from '../ports/clock.ts';
import type { Delivery, DeliveryContext } from '../ports/provider-registry.ts';
import type { Logger } from '../ports/logger.ts';
import type { Suppressions } from '../ports/suppressions.ts';
import type { UnsubscribeLinks } from '../ports/unsubscribe-links.ts';
import type { Pass } from './breakers.ts';
import type { ReadyMeans } from './means.ts';
import type { PartitionTracker } from './read-ahead.ts';
import type { WorkItem } from './work-item.ts';

export interface Attempt {
  readonly item: WorkItem;
  /** Aborted at the deadline. */
  readonly controller: AbortController;
  /** UTC ms of its start. */
  startedAt: number;
  /** The same on the monotonic clock, ms. */
  startedMonotonic: number;
  /** null as long as the settings are looked up; then it is being sent. */
  provider: string | null;
  /** Of the provider that it is made by. */
  role: ProviderRole;
  /** How it goes is still to be told to its breaker. */
  pass: Pass | null;
  isStartSaid: boolean;
  /** It has its outcome, or it was put back: whatever comes now is too late. */
  isOver: boolean;
}

export function newAttempt(item: WorkItem, clock: Pick<Clock, 'now' | 'monotonic'>): Attempt {
  return {
    item,
    controller: new AbortController(),
    startedAt: clock.now(),
    startedMonotonic: clock.monotonic(),
    provider: null,
    role: 'primary',
    pass: null,
    isStartSaid: false,
    isOver: false,
  };
}

/** Where attempts are being sent that began since then. */
export function beingSent(attempts: Iterable<Attempt>, since: number): ReadonlySet<PartitionTracker> {
  const trackers = new Set<PartitionTracker>();
  for (const { provider, startedMonotonic, item } of attempts)
    if (provider !== null && startedMonotonic >= since) trackers.add(item.tracker);
  return trackers;
}

interface SendDependencies {
  readonly logger: Logger;
  readonly suppressions?: Suppressions;
  readonly unsubscribeLinks?: Pick<UnsubscribeLinks, 'urlOf'>;
}

/** The provider's outcome; what it throws is a bug of ours, worth another try. Never rejects. */
export async function send(
  attempt: Attempt,
  means: ReadyMeans,
  { logger, suppressions, unsubscribeLinks }: SendDependencies,
): Promise<DeliveryOutcome> {
  const event = withoutSuppressed(attempt.item.event, suppressions);
  const unsubscribe = unsubscribeOf(event, unsubscribeLinks);
  const context: DeliveryContext = {
    provider: means.settings,
    webhookSecret: means.webhookSecret,
    formerSigners: means.formerSigners ?? [],
    secrets: means.secrets,
    callbackUrl: means.callbackUrl,
    signal: attempt.controller.signal,
  };
  try {
    return await means.provider.send(unsubscribe === null ? event : { ...event, unsubscribe }, context);
  } catch (err) {
    const { tenantId, notificationId } = event;
    logger.error('a provider threw', {
      tenantId,
      notificationId,
      provider: means.provider.name,
      thrown: describe(err, means),
    });
    return thrown;
  }
}

export const deadlinePassed: DeliveryOutcome = {
  kind: 'retryable',
  reason: { failureClass: 'network', code: 'ETIMEDOUT', message: 'The receiver did not answer within the deadline.' },
  retryAfterMs: null,
};

/** What keeps it from being sent at all: it is too late, or its tenant sends nothing to its recipient any more; null: nothing does. */
export function notToBeSent(
  item: WorkItem,
  now: number,
  suppressions: Suppressions | undefined,
): DeliveryOutcome | null {
  const { event } = item;
  if (isExpired(event, now)) return expired(item);
  return isSuppressed(event, event.recipient, suppressions) ? suppressed : null;
}

function isSuppressed(
  { tenantId, channel, request }: WorkEvent,
  recipient: string,
  suppressions?: Suppressions,
): boolean {
  return request.transactional !== true && suppressions?.has(tenantId, channel, recipient) === true;
}

/** Of a mail's copies those that its tenant sends to. */
function withoutSuppressed(event: WorkEvent, suppressions: Suppressions | undefined): WorkEvent {
  const { cc = [], bcc = [] } = event.request;
  if (cc.length + bcc.length === 0) return event;
  const isMeant = (address: string) => !isSuppressed(event, address, suppressions);
  return { ...event, request: { ...event.request, cc: cc.filter(isMeant), bcc: bcc.filter(isMeant) } };
}

/** What goes to many and isn't needed says how to get no more of it; null: the others don't. */
function unsubscribeOf(
  event: WorkEvent,
  links: SendDependencies['unsubscribeLinks'],
): NonNullable<Delivery['unsubscribe']> | null {
  if (links === undefined || event.channel !== 'EMAIL') return null;
  if (event.priority !== 'BULK' || event.request.transactional === true) return null;
  return { url: links.urlOf(event) };
}

const suppressed: DeliveryOutcome = {
  kind: 'rejected',
  reason: {
    failureClass: 'recipient',
    code: 'SUPPRESSED',
    message: 'The recipient is on the suppression list of the tenant: nothing is sent to it but what is transactional.',
  },
};

/** Of what wasn't delivered in time: no attempt is made. */
export function expired(item: WorkItem): DeliveryOutcome {
  const { expiresAt = null } = item.event.request;
  const by = expiresAt === null ? '' : ` by ${new Date(expiresAt).toISOString()}`;
  const message = `It was to be delivered${by}; it is not sent any more.`;
  return { kind: 'rejected', reason: { failureClass: 'expired', code: 'EXPIRED', message } };
}

const thrown: DeliveryOutcome = {
  kind: 'retryable',
  reason: { failureClass: 'system', code: null, message: 'The attempt failed inside the service.' },
  retryAfterMs: null,
};

/** The error with its stack, the tenant's secrets taken out: nobody knows what a bug says. */
function describe(err: unknown, means: ReadyMeans): string {
  const { settings, webhookSecret, formerSigners = [], secrets } = means;
  const text = err instanceof Error ? (err.stack ?? err.message) : String(err);
  return redactionOf([...secrets, webhookSecret, ...formerSigners, settings?.apiKey ?? '']).applied(text);
}
