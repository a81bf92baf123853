// What operations see of an attempt: one canonical log line (failures at info, successes at debug) and its metrics.

import type { AttemptFailed, AttemptSucceeded, Channel } from '../domain/events.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';

export type AttemptReport = (event: AttemptSucceeded | AttemptFailed) => void;

export function createAttemptReport(by: { channel: Channel; logger: Logger; metrics: Metrics }): AttemptReport {
  const { channel, logger, metrics } = by;
  const ofChannel = { channel };
  const labels = {
    delivered: { channel, outcome: 'delivered' },
    retrying: { channel, outcome: 'retrying' },
    failed: { channel, outcome: 'failed' },
  };

  return (event) => {
    const { tenantId, notificationId, provider, round, attempt, waitedMs, tookMs } = event;
    const base = { channel, tenantId, notificationId, provider, round, attempt, waitedMs, tookMs };
    metrics.observe('herald_attempt_seconds', tookMs / 1000, ofChannel);
    if (event.type === 'AttemptSucceeded') {
      metrics.increment('herald_attempts_total', labels.delivered);
      logger.debug('attempt', { ...base, outcome: 'delivered' });
      return;
    }
    const outcome = event.retryAt === null ? 'failed' : 'retrying';
    const { failureClass, code, retryAt } = event;
    metrics.increment('herald_attempts_total', labels[outcome]);
    logger.info('attempt', { ...base, outcome, failureClass, code, retryAt });
  };
}
