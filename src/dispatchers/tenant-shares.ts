// The shares that an operator gave tenants, as the turns see them: at once, from what was heard a moment ago.

import type { TenantId } from '../domain/ids.ts';
import type { TenantShare } from '../domain/tenant.ts';
import { ordinaryShare } from '../domain/tenant.ts';
import type { Clock } from '../ports/clock.ts';
import type { DeliveryDirectory } from '../ports/tenant-directory.ts';

export interface TenantShares {
  /** Until its own was heard it begins nothing, for a moment: where that doesn't come what was heard last holds, of whom nothing was everybody's. */
  of(tenantId: TenantId): TenantShare;
  /** Told of each tenant that waited for its share, once that is heard or can't be had: it may have its turns from then on. */
  onHeard(listener: (tenantId: TenantId) => void): void;
}

interface Heard {
  share: TenantShare;
  /** Monotonic ms, and so is the next. */
  askedAt: number;
  holdsUntil: number;
  isAsked: boolean;
  /** It is asked for, and there was no answer for so long that nobody waits for it. */
  isSilent: boolean;
  isWaitedFor: boolean;
}

/** Whoever has turns meets no share that is older than this and an answer. */
const askEveryMs = 1_000;
/** Of who had none meanwhile. The directory looks every 2 s what has changed: together under the 5 s within which settings are in force. */
const holdsMs = 2_500;
/** While the settings are away: longer than the turn that it is for, and over when an attempt that found them away is made again. */
const holdsWhileAwayMs = 200;
/** An answer takes some ms. Settings that are away say so after seconds, and what can be sent without them (in-app items) waits no longer than this. */
const answerMaxMs = 300;
/** Some 200 bytes each; past it the first one is asked for again. More than can wait at once: 3 lanes of 5.5 MiB, of which an event takes 1.4 KiB at least. */
const heardMax = 12_000;

export function createTenantShares(by: {
  readonly directory: Pick<DeliveryDirectory, 'share'>;
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
}): TenantShares {
  const { directory, clock } = by;
  const heard = new Map<TenantId, Heard>();

  let told: (tenantId: TenantId) => void = () => {};

  function ask(tenantId: TenantId, of: Heard): void {
    of.askedAt = clock.monotonic();
    of.isAsked = true;
    const isOver = new AbortController();
    const hear = (share: TenantShare, forMs: number) => {
      isOver.abort();
      of.share = share;
      of.holdsUntil = Math.max(of.holdsUntil, clock.monotonic() + forMs);
      of.isAsked = false;
      of.isSilent = false;
      goOn(tenantId, of);
    };
    directory.share(tenantId).then(
      (share) => hear(share, holdsMs),
      // The settings are away: what was heard last holds, and what can be sent without them isn't held up. The next question is waited for again.
      () => hear(of.share, holdsWhileAwayMs),
    );
    void clock.sleep(answerMaxMs, isOver.signal).then(() => {
      if (isOver.signal.aborted) return;
      of.isSilent = true;
      goOn(tenantId, of);
    });
  }

  function goOn(tenantId: TenantId, of: Heard): void {
    if (!of.isWaitedFor) return;
    of.isWaitedFor = false;
    told(tenantId);
  }

  function add(tenantId: TenantId): Heard {
    if (heard.size >= heardMax) for (const first of heard.keys()) if (heard.delete(first)) break;
    const long = Number.NEGATIVE_INFINITY;
    const fresh = {
      share: ordinaryShare,
      askedAt: long,
      holdsUntil: long,
      isAsked: false,
      isSilent: false,
      isWaitedFor: false,
    };
    heard.set(tenantId, fresh);
    return fresh;
  }

  return {
    of(tenantId) {
      const known = heard.get(tenantId) ?? add(tenantId);
      const now = clock.monotonic();
      const holds = now < known.holdsUntil || known.isSilent;
      if (!known.isAsked && (!holds || now - known.askedAt >= askEveryMs)) ask(tenantId, known);
      if (holds) return known.share;
      known.isWaitedFor = true;
      return { ...known.share, inFlightMax: 0 };
    },
    onHeard(listener) {
      told = listener;
    },
  };
}
