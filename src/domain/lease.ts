// Leases by the wall clocks of several processes, which may differ, and be set back.

/** Clocks of processes that share an installation differ by no more; where they do, one of them is wrong. */
export const clocksDifferMs = 60_000;

/**
 * How long a lease holds still, in ms; 0: it is over. So is one that ends later than any that begins now can, since whoever took it had a clock that was ahead:
 * his process may have ended, and nobody could take it over for as long as the clock was wrong.
 */
export function leaseLeftMs(leaseUntil: number | null, now: number, leaseMs: number): number {
  const left = (leaseUntil ?? 0) - now;
  return left > leaseMs + clocksDifferMs ? 0 : Math.max(0, left);
}
