// Until when what has ended is kept: pure.

import { heldCode } from '../domain/delivery-outcome.ts';
import { isIdOfKey, keyLifetimeMs } from '../domain/idempotency.ts';
import type { NotificationId } from '../domain/ids.ts';
import { clocksDifferMs } from '../domain/lease.ts';

/** As the settings say it; null: for ever. */
export interface Retention {
  readonly keptMs: number | null;
  /** Of the days that are counted, of what is forgotten. */
  readonly statisticsMs: number | null;
}

/** UTC ms: what was requested before it and has ended goes; null: nothing does. */
export function horizonAt(nowMs: number, keptMs: number | null): number | null {
  return keptMs === null ? null : nowMs - keptMs;
}

/**
 * Whether its Idempotency-Key may still be repeated: where that was never settled, or is lost, the record alone says that it was sent. Not what was requested
 * by a clock that was ahead for longer: no repeat looks for it.
 */
export function isKeptForItsKey(id: NotificationId, requestedAt: number, nowMs: number): boolean {
  return isIdOfKey(id) && Math.abs(nowMs - requestedAt) < keyLifetimeMs + clocksDifferMs;
}

/**
 * Whether a person may still send what a restored backup has held: that counts from when it was held, since what had waited for longer than anything is kept
 * would be gone with the first pass, before anybody could look at it. Not what was held by a clock that was ahead for longer than that.
 */
export function isHeld({ errorCode, failedAt }: Held, { now, horizon }: Judging): boolean {
  return errorCode === heldCode && failedAt !== null && Math.abs(now - failedAt) <= now - (horizon ?? -Infinity);
}

/** UTC ms. */
export interface Judging {
  readonly now: number;
  /** What was requested before it and has ended goes; null: nothing does. */
  readonly horizon: number | null;
}

interface Held {
  readonly errorCode: string | null;
  /** UTC ms; null unless it is FAILED. */
  readonly failedAt: number | null;
}

const restMinMs = 1000;
const restMaxMs = 60_000;
const passesPerRetention = 20;

/** From one pass to the next: what is to go waits for so long at most, a twentieth of what it was kept. */
export function restOf(keptMs: number): number {
  return Math.min(restMaxMs, Math.max(restMinMs, Math.floor(keptMs / passesPerRetention)));
}

const restsPerLookBack = 10;
const lookBacksPerRetention = 50;

/** From one look at all that was kept because it waited to the next: between two a pass goes on where the last one was. */
export function lookBackEveryMs(keptMs: number): number {
  return Math.max(restsPerLookBack * restOf(keptMs), Math.floor(keptMs / lookBacksPerRetention));
}
