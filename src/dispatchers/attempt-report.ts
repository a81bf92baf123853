// What operations see of an attempt: one canonical log line (failures at info, successes at debug) and its metrics.

import type { AttemptFailed, AttemptSucceeded, Channel } from '../domain/events.ts';
import { failureClasses } from '../domain/events.ts';
import { traceIdOf } from '../domain/traceparent.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';
import { namelessProviders, noProviderName } from './means.ts';

export type AttemptReport = (event: AttemptSucceeded | AttemptFailed) => void;

/** Labels: 13 providers x (delivered, and retrying or failed by 8 classes) = 221 series, those of accounts that can't be used, and of what expired; all of them there from the start. */
export function createAttemptReport(by: {
  readonly channel: Channel;
  /** Of the channel's providers. */
  readonly names: readonly string[];
  readonly logger: Logger;
  readonly metrics: Metrics;
}): AttemptReport {
  const { channel, names, logger, metrics } = by;
  for (const provider of namelessProviders)
    metrics.increment('herald_attempts_total', { channel, provider, outcome: 'failed', class: 'credentials' }, 0);
  const ofNobody = { channel, provider: noProviderName, outcome: 'failed', class: 'expired' };
  metrics.increment('herald_attempts_total', ofNobody, 0);
  for (const provider of names) {
    metrics.increment('herald_attempts_total', { channel, provider, outcome: 'delivered', class: 'none' }, 0);
    for (const outcome of ['retrying', 'failed']) {
      for (const failureClass of failureClasses)
        metrics.increment('herald_attempts_total', { channel, provider, outcome, class: failureClass }, 0);
    }
  }

  return (event) => {
    const { tenantId, notificationId, provider, round, attempt, waitedMs, tookMs } = event;
    const traceId = traceIdOf(event.traceparent);
    const base = { traceId, channel, tenantId, notificationId, provider, round, attempt, waitedMs, tookMs };
    metrics.observe('herald_attempt_seconds', tookMs / 1000, { channel, provider });
    if (event.type === 'AttemptSucceeded') {
      metrics.increment('herald_attempts_total', { channel, provider, outcome: 'delivered', class: 'none' });
      logger.debug('attempt', { ...base, outcome: 'delivered', messageId: event.messageId });
      return;
    }
    const outcome = event.retryAt === null ? 'failed' : 'retrying';
    const { failureClass, code, retryAt } = event;
    metrics.increment('herald_attempts_total', { channel, provider, outcome, class: failureClass });
    logger.info('attempt', { ...base, outcome, failureClass, code, retryAt });
  };
}
