// Resolves names for the guard: one question per name at a time, answers kept for a few seconds, so that 256 new connections to one host ask once.

import { lookup } from 'node:dns/promises';

import type { Clock } from '../../ports/clock.ts';
import type { ResolvedAddress } from './guard-addresses.ts';

export type Resolve = (name: string) => Promise<readonly ResolvedAddress[]>;

const keptMs = 5_000;
const namesMax = 1_000;

/** Like the system's own resolver, /etc/hosts and the numeric spellings that it knows included. */
export function systemResolve(name: string): Promise<readonly ResolvedAddress[]> {
  return lookup(name, { all: true });
}

/** Failures are kept as long: a dead name must not occupy the few threads that resolve names, again and again. */
export function createNameCache(dependencies: { readonly clock: Clock; readonly resolve: Resolve }): Resolve {
  const { clock, resolve } = dependencies;
  const known = new Map<string, { readonly answer: Promise<readonly ResolvedAddress[]>; readonly until: number }>();

  return (name) => {
    const now = clock.monotonic();
    const kept = known.get(name);
    if (kept !== undefined && kept.until > now) return kept.answer;
    known.delete(name);
    const [oldest] = known.keys();
    if (known.size >= namesMax && oldest !== undefined) known.delete(oldest);
    const answer = resolve(name);
    known.set(name, { answer, until: now + keptMs });
    return answer;
  };
}
