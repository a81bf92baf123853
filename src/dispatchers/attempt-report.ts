// What operations see of an attempt: one canonical log line (failures at info, successes at debug) and its metrics.

import type { AttemptFailed, AttemptSucceeded, Channel } from '../domain/events.ts';
import { traceIdOf } from '../domain/traceparent.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';

export type AttemptReport = (event: AttemptSucceeded | AttemptFailed) => void;

/** Labels: channels x providers (a registry's names) x 3 outcomes x 8 classes, of which few occur together. */
export function createAttemptReport(by: { channel: Channel; logger: Logger; metrics: Metrics }): AttemptReport {
  const { channel, logger, metrics } = by;

  return (event) => {
    const { tenantId, notificationId, provider, round, attempt, waitedMs, tookMs } = event;
    const traceId = traceIdOf(event.traceparent);
    const base = { traceId, channel, tenantId, notificationId, provider, round, attempt, waitedMs, tookMs };
    metrics.observe('herald_attempt_seconds', tookMs / 1000, { channel, provider });
    if (event.type === 'AttemptSucceeded') {
      metrics.increment('herald_attempts_total', { channel, provider, outcome: 'delivered', class: 'none' });
      logger.debug('attempt', { ...base, outcome: 'delivered' });
      return;
    }
    const outcome = event.retryAt === null ? 'failed' : 'retrying';
    const { failureClass, code, retryAt } = event;
    metrics.increment('herald_attempts_total', { channel, provider, outcome, class: failureClass });
    logger.info('attempt', { ...base, outcome, failureClass, code, retryAt });
  };
}
