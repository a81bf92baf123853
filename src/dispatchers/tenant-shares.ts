// The shares that an operator gave tenants, as the turns see them: at once, from what was heard last.

import type { TenantId } from '../domain/ids.ts';
import type { TenantShare } from '../domain/tenant.ts';
import { ordinaryShare } from '../domain/tenant.ts';
import type { Clock } from '../ports/clock.ts';
import type { DeliveryDirectory } from '../ports/tenant-directory.ts';

export interface TenantShares {
  /** Everybody's until its own was heard. */
  of(tenantId: TenantId): TenantShare;
}

interface Heard {
  share: TenantShare;
  /** Monotonic ms. */
  askedAt: number;
}

/** The directory looks every 2 s what has changed: together under the 5 s within which settings are in force. */
const askEveryMs = 1_000;
/** Some 200 bytes each; past it all are asked for again. */
const heardMax = 10_000;

export function createTenantShares(by: {
  readonly directory: Pick<DeliveryDirectory, 'share'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}): TenantShares {
  const { directory, clock } = by;
  const heard = new Map<TenantId, Heard>();

  function ask(tenantId: TenantId, of: Heard): void {
    of.askedAt = clock.monotonic();
    directory.share(tenantId).then(
      (share) => {
        of.share = share;
      },
      // The settings are away: what was heard last holds.
      () => {},
    );
  }

  return {
    of(tenantId) {
      let known = heard.get(tenantId);
      if (known === undefined) {
        if (heard.size >= heardMax) heard.clear();
        known = { share: ordinaryShare, askedAt: Number.NEGATIVE_INFINITY };
        heard.set(tenantId, known);
      }
      if (clock.monotonic() - known.askedAt >= askEveryMs) ask(tenantId, known);
      return known.share;
    },
  };
}
