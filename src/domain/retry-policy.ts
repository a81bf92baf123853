// When a failed attempt is made again: a table per channel, with jitter; the receiver's Retry-After wins when it is later.

import { retryAfterMaxMs } from './delivery-outcome.ts';
import type { Channel } from './events.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

const webhookDelaysMs = [5 * second, 30 * second, 2 * minute, 15 * minute, hour, 4 * hour, 12 * hour];
const messageDelaysMs = [5 * second, 30 * second, 2 * minute, 10 * minute, hour];

/** Delays after attempt 1, 2, ... of a round; n delays make n + 1 attempts. */
export interface RetryPolicy {
  readonly delaysMs: Readonly<Record<Channel, readonly number[]>>;
  /** Each delay is multiplied by 1 +- this. */
  readonly jitter: number;
}

export const defaultRetryPolicy: RetryPolicy = {
  delaysMs: { EMAIL: messageDelaysMs, SMS: messageDelaysMs, WEBHOOK: webhookDelaysMs, IN_APP: messageDelaysMs },
  jitter: 0.2,
};

/** The policy of RETRY_DELAYS: one table for every channel, no jitter. */
export function fixedRetryPolicy(delaysMs: readonly number[]): RetryPolicy {
  return { delaysMs: { EMAIL: delaysMs, SMS: delaysMs, WEBHOOK: delaysMs, IN_APP: delaysMs }, jitter: 0 };
}

/**
 * Milliseconds until the next attempt, or null when the round's attempts are used up.
 * @param attemptOfRound 1 for the round's first attempt, which just failed
 * @param retryAfterMs what the receiver asked for
 * @param random in [0, 1)
 */
export function retryDelayMs(
  policy: RetryPolicy,
  failed: { channel: Channel; attemptOfRound: number; retryAfterMs: number | null },
  random: number,
): number | null {
  const delay = policy.delaysMs[failed.channel][failed.attemptOfRound - 1];
  if (delay === undefined) return null;
  const jittered = Math.round(delay * (1 + policy.jitter * (2 * random - 1)));
  return Math.max(jittered, Math.min(failed.retryAfterMs ?? 0, retryAfterMaxMs));
}
