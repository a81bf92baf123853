// The shares that an operator gave tenants, as the turns see them: at once, from what was heard last.

import type { TenantId } from '../domain/ids.ts';
import type { TenantShare } from '../domain/tenant.ts';
import { ordinaryShare } from '../domain/tenant.ts';
import type { Clock } from '../ports/clock.ts';
import type { DeliveryDirectory } from '../ports/tenant-directory.ts';

export interface TenantShares {
  /** Until its own was heard it has nothing in flight. */
  of(tenantId: TenantId): TenantShare;
  /** Told of each tenant whose share is heard for the first time, or can't be had: it may have its turns from then on. */
  onHeard(listener: (tenantId: TenantId) => void): void;
}

interface Heard {
  /** null: it was asked for. */
  share: TenantShare | null;
  /** Monotonic ms. */
  askedAt: number;
}

/** The directory looks every 2 s what has changed: together under the 5 s within which settings are in force. */
const askEveryMs = 1_000;
/** Some 200 bytes each; past it the first one is asked for again. More than can wait at once: 3 lanes of 5.5 MiB, of which an event takes 1.4 KiB at least. */
const heardMax = 12_000;
/** An operator's cap holds from a tenant's first attempt on. */
const unheard: TenantShare = { weight: 1, inFlightMax: 0 };

export function createTenantShares(by: {
  readonly directory: Pick<DeliveryDirectory, 'share'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}): TenantShares {
  const { directory, clock } = by;
  const heard = new Map<TenantId, Heard>();

  let told: (tenantId: TenantId) => void = () => {};

  function ask(tenantId: TenantId, of: Heard): void {
    of.askedAt = clock.monotonic();
    directory.share(tenantId).then(
      (share) => hear(tenantId, of, share),
      // The settings are away: what was heard last holds, and what can be sent without them isn't held up.
      () => hear(tenantId, of, of.share ?? ordinaryShare),
    );
  }

  function hear(tenantId: TenantId, of: Heard, share: TenantShare): void {
    const isFirst = of.share === null;
    of.share = share;
    if (isFirst) told(tenantId);
  }

  function add(tenantId: TenantId): Heard {
    if (heard.size >= heardMax) for (const first of heard.keys()) if (heard.delete(first)) break;
    const fresh: Heard = { share: null, askedAt: Number.NEGATIVE_INFINITY };
    heard.set(tenantId, fresh);
    return fresh;
  }

  return {
    of(tenantId) {
      const known = heard.get(tenantId) ?? add(tenantId);
      if (clock.monotonic() - known.askedAt >= askEveryMs) ask(tenantId, known);
      return known.share ?? unheard;
    },
    onHeard(listener) {
      told = listener;
    },
  };
}
