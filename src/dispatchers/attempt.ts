// One attempt in flight: what is known of it, and the send itself, whose answer is always an outcome.

import type { DeliveryOutcome } from '../domain/delivery-outcome.ts';
import type { Clock } from '../ports/clock.ts';
import type { DeliveryContext } from '../ports/provider-registry.ts';
import type { Logger } from '../ports/logger.ts';
import type { ReadyMeans } from './means.ts';
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
    isStartSaid: false,
    isOver: false,
  };
}

/** The provider's outcome; what it throws is a bug of ours, worth another try. Never rejects. */
export async function send(attempt: Attempt, means: ReadyMeans, logger: Logger): Promise<DeliveryOutcome> {
  const { event } = attempt.item;
  const context: DeliveryContext = {
    provider: means.settings,
    webhookSecret: means.webhookSecret,
    secrets: means.secrets,
    signal: attempt.controller.signal,
  };
  try {
    return await means.provider.send(event, context);
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

const thrown: DeliveryOutcome = {
  kind: 'retryable',
  reason: { failureClass: 'system', code: null, message: 'The attempt failed inside the service.' },
  retryAfterMs: null,
};

/** The error with its stack, the tenant's secrets taken out: nobody knows what a bug says. */
function describe(err: unknown, means: ReadyMeans): string {
  const { settings, webhookSecret, secrets } = means;
  let text = err instanceof Error ? (err.stack ?? err.message) : String(err);
  for (const secret of [...secrets, webhookSecret, settings?.apiKey ?? '', settings?.previousApiKey ?? '']) {
    if (secret !== '') text = text.replaceAll(secret, '[secret]');
  }
  return text;
}
