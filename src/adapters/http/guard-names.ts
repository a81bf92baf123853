// Resolves names for the guard: one question per name at a time, answers kept for a while, so that 256 new connections to one host ask once.

import type { Clock } from '../../ports/clock.ts';
import type { ResolvedAddress } from './guard-addresses.ts';

export interface ResolvedName {
  /** At least one. */
  readonly addresses: readonly ResolvedAddress[];
  /** How long the answer is good for, as its source says. */
  readonly ttlMs: number;
}

/** @throws Error with the code of what went wrong (ENOTFOUND, ETIMEDOUT, ...) */
export type LookUp = (name: string) => Promise<ResolvedName>;

export type Resolve = (name: string) => Promise<readonly ResolvedAddress[]>;

/** Times to live are honoured between these: a shorter one would be a question for each connection, a longer one an address that is long gone. */
const keptMinMs = 1_000;
const keptMaxMs = 30_000;
/** Failures too: a dead name is not to be asked for again and again. */
const failureKeptMs = 5_000;
/** Some 300 bytes each, 4 KiB with as many addresses as are taken. */
const namesMax = 1_000;

interface Known {
  readonly answer: Promise<readonly ResolvedAddress[]>;
  /** By the monotonic clock. */
  until: number;
}

export function createNameCache(dependencies: { readonly clock: Clock; readonly lookUp: LookUp }): Resolve {
  const { clock, lookUp } = dependencies;
  const known = new Map<string, Known>();

  return (name) => {
    const kept = known.get(name);
    if (kept !== undefined && kept.until > clock.monotonic()) return kept.answer;
    known.delete(name);
    const [oldest] = known.keys();
    if (known.size >= namesMax && oldest !== undefined) known.delete(oldest);
    const looking = lookUp(name);
    const asked: Known = { answer: looking.then(({ addresses }) => addresses), until: Number.POSITIVE_INFINITY };
    const keepFor = (ms: number) => (asked.until = clock.monotonic() + ms);
    looking.then(
      ({ ttlMs }) => keepFor(Math.min(keptMaxMs, Math.max(keptMinMs, ttlMs))),
      () => keepFor(failureKeptMs),
    );
    known.set(name, asked);
    return asked.answer;
  };
}
