// Which TLS handshakes with receivers begin at once. What a server sends in one costs the thread that all tenants share: 2 ms as a rule, but a chain of twenty
// certificates with keys of 16,384 bits 25 ms and more, and only when it was all computed is it known that nobody trusts it.
//
//   a tenant's 16 at once ──── one fails ───> 4 at once, and none for a second for each that failed, 5 s at most; ten minutes without one: 16 again
//
// So after the first sixteen such chains take a tenth of the thread at most, however many names their tenant has for its servers. Those that wait are answered
// in 10 s, as connections that could not be opened.

import type { Clock } from '../../ports/clock.ts';
import type { Metrics } from '../../ports/metrics.ts';
import type { Outbound } from '../../ports/outbound.ts';
import { OutboundError } from '../../ports/outbound.ts';

export type TakeHandshake = Outbound['takeHandshake'];

const atOnceMax = 16;
const atOnceAfterFailureMax = 4;
const restMs = 1_000;
const restMsMax = 5_000;
const failureKeptMs = 10 * 60_000;
/** A handshake that takes longer has failed, as far as this goes: a server may send what costs, and then nothing. */
const handshakeMs = 3_000;
const waitMs = 10_000;
/** Tenants with a failure, some 200 bytes each: beyond, whose was longest ago is forgotten. */
const tenantsMax = 10_000;

interface OfTenant {
  underWay: number;
  readonly waiting: Set<() => void>;
  failedAt: number;
  restsUntil: number;
}

export interface HandshakesDependencies {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly metrics?: Metrics | undefined;
}

export function createHandshakes({ clock, metrics }: HandshakesDependencies): TakeHandshake {
  /** Who has a handshake under way, or a failure. */
  const tenants = new Map<string, OfTenant>();
  let waiting = 0;
  metrics?.gauge('herald_tls_handshakes_waiting', () => waiting);

  function of(tenantId: string): OfTenant {
    let state = tenants.get(tenantId);
    if (state !== undefined) return state;
    state = { underWay: 0, waiting: new Set(), failedAt: Number.NEGATIVE_INFINITY, restsUntil: 0 };
    tenants.set(tenantId, state);
    return state;
  }

  function hasRoom({ underWay, failedAt, restsUntil }: OfTenant): boolean {
    const now = clock.monotonic();
    const atOnce = now - failedAt < failureKeptMs ? atOnceAfterFailureMax : atOnceMax;
    return underWay < atOnce && now >= restsUntil;
  }

  function goOn(state: OfTenant): void {
    for (const begin of state.waiting) {
      if (!hasRoom(state)) return;
      begin();
    }
  }

  /** A timer counts from the beginning of its turn, and so may come early. */
  function rested(state: OfTenant): void {
    const leftMs = state.restsUntil - clock.monotonic();
    if (leftMs <= 0) goOn(state);
    else setTimeout(rested, Math.ceil(leftMs), state).unref();
  }

  function failed(tenantId: string, state: OfTenant): void {
    const now = clock.monotonic();
    state.failedAt = now;
    state.restsUntil = Math.min(now + restMsMax, Math.max(now, state.restsUntil) + restMs);
    setTimeout(rested, state.restsUntil - now, state).unref();
    // The one that failed last stands last.
    tenants.delete(tenantId);
    tenants.set(tenantId, state);
    if (tenants.size <= tenantsMax) return;
    for (const [id, { underWay, waiting: behind }] of tenants) {
      if (underWay > 0 || behind.size > 0) continue;
      tenants.delete(id);
      return;
    }
  }

  function begun(tenantId: string, state: OfTenant): (isWell: boolean) => void {
    state.underWay++;
    let isOver = false;
    const over = (isWell: boolean): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(late);
      state.underWay--;
      if (!isWell) failed(tenantId, state);
      goOn(state);
      if (state.underWay === 0 && state.failedAt === Number.NEGATIVE_INFINITY) tenants.delete(tenantId);
    };
    const late = setTimeout(over, handshakeMs, false).unref();
    return over;
  }

  return (tenantId, begin, refuse) => {
    const state = of(tenantId);
    if (state.waiting.size === 0 && hasRoom(state)) return begin(begun(tenantId, state));
    waiting++;
    const leave = (): void => {
      clearTimeout(timer);
      state.waiting.delete(inTurn);
      waiting--;
    };
    const inTurn = (): void => {
      leave();
      begin(begun(tenantId, state));
    };
    const timer = setTimeout(() => {
      leave();
      refuse(new OutboundError('network', 'ETIMEDOUT', refusal));
    }, waitMs).unref();
    state.waiting.add(inTurn);
    goOn(state);
  };
}

const refusal = 'TLS with other servers of this tenant fails, and there was no turn for this one';
