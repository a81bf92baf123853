// Sends the content of a notification once more, whatever became of it: a new one, which names the other as its origin.

import { DomainError } from '../domain/errors.ts';
import type { Expiry } from '../domain/delivery-request.ts';
import type { NotificationContent } from '../domain/events.ts';
import type { NotificationFacts } from '../domain/notification.ts';
import type { TraceContext } from '../domain/trace-context.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { TenantDirectory } from '../ports/tenant-directory.ts';
import type { NotificationInput, Prepared } from './accept-notification.ts';
import { acceptPrepared, checkProvider } from './accept-notification.ts';
import type { AcceptedOnce, acceptOnce } from './accept-once.ts';
import { refuseErased } from './erase-notifications.ts';

interface Dependencies {
  readonly log: Pick<EventLog, 'append' | 'partitioning'>;
  readonly directory: Pick<TenantDirectory, 'canDeliver'>;
  readonly clock: Pick<Clock, 'now' | 'uuidV7'>;
  readonly once: ReturnType<typeof acceptOnce>;
}

interface Resend {
  readonly facts: NotificationFacts & { readonly request: NotificationContent };
  /** Of the request's Idempotency-Key; null: it has none. */
  readonly key: string | null;
  readonly trace: TraceContext;
}

/** At once, and worth as long as the other was; it belongs to no batch. @throws DomainError CONFLICT, NO_PROVIDER_CONFIGURED, IDEMPOTENCY_KEY_REUSED, TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE */
export function resendNotification({ directory, once, ...deps }: Dependencies) {
  const accept = acceptPrepared(deps);
  return async ({ facts, key, trace }: Resend): Promise<AcceptedOnce> => {
    refuseErased(facts);
    if (facts.isCut === true)
      throw new DomainError('CONFLICT', 'This notification was too large to be kept whole: send a new one instead.');
    const prepare = async (input: NotificationInput): Promise<Prepared> => {
      await checkProvider(directory, input);
      const { template, subject, body, bodyFormat } = facts.request;
      return { input, template, rendered: { subject, body, bodyFormat } };
    };
    const input = inputOf(facts, trace);
    if (key !== null) return once({ input, key, batchId: null, prepare });
    return { ...(await accept(await prepare(input))), isReplayed: false, batchId: null };
  };
}

/** As it was asked for. */
function inputOf(
  { id, tenantId, channel, recipient, priority, request, requestedAt }: Resend['facts'],
  trace: TraceContext,
): NotificationInput {
  const { template, subject, body, rawSubject, rawBody, data, metadata, sendAt, expiresAt = null } = request;
  const { replyTo = null, cc = [], bcc = [], transactional = false } = request;
  const isRaw = template === null;
  return {
    tenantId,
    channel,
    recipient,
    priority,
    template: template?.name ?? null,
    subject: isRaw ? (rawSubject ?? subject) : null,
    body: isRaw ? (rawBody ?? body) : null,
    data: null,
    dataText: data,
    metadata,
    strict: null,
    sendAt: null,
    expiry: lifetimeOf(expiresAt, sendAt ?? requestedAt),
    replyTo,
    cc,
    bcc,
    transactional,
    resendOf: id,
    trace,
  };
}

function lifetimeOf(expiresAt: number | null, from: number): Expiry | null {
  return expiresAt === null ? null : { kind: 'after', ms: Math.max(expiresAt - from, 1) };
}
