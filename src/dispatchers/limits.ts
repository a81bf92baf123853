// How much a dispatcher has under way at once.

import type { Channel } from '../domain/events.ts';
import { accountLimits } from './partition-account.ts';
import type { AccountLimits } from './partition-account.ts';

export interface DispatcherLimits {
  /** Attempts in flight of this channel in this process. */
  readonly inFlightMax: number;
  /** Of those, how many are for HIGH alone: slow tenants' DEFAULT and BULK, however many tenants they are, leave them free. */
  readonly inFlightHighOnly: number;
  /** Of `inFlightMax`, of one tenant and its provider. */
  readonly inFlightPerTenantProviderMax: number;
  readonly attemptDeadlineMs: number;
  /** Attempts begun in one turn of the event loop, so that accepting never stands behind a burst: 8 x some 100 us are under 1 ms. */
  readonly startsPerTurn: number;
  /** Of each partition number of a lane. */
  readonly account: AccountLimits;
}

/** First guesses of the design. */
const inFlightMaxOf: Readonly<Record<Channel, number>> = { EMAIL: 64, SMS: 64, WEBHOOK: 256, IN_APP: 256 };

export function defaultDispatcherLimits(channel: Channel): DispatcherLimits {
  const inFlightMax = inFlightMaxOf[channel];
  return {
    inFlightMax,
    inFlightHighOnly: inFlightMax / 4,
    inFlightPerTenantProviderMax: 32,
    attemptDeadlineMs: 15_000,
    startsPerTurn: 8,
    account: accountLimits,
  };
}
