// Sources that broke a limit, by their hash: they are refused from then on, so that each costs its limit once. To their owner alone: it may have been the
// data, and others may have the same source.

import { hash } from 'node:crypto';

export interface OwnedSource {
  readonly owner: string;
  readonly source: string;
}

export interface RefusedSources {
  /** Returns the hash, by which logs name the source. */
  add(owned: OwnedSource, reason: string): string;
  /** null: it isn't refused. */
  reasonOf(owned: OwnedSource): string | null;
}

/** The oldest is forgotten when there are more than `sourcesMax`. */
export function createRefusedSources({ sourcesMax }: { readonly sourcesMax: number }): RefusedSources {
  const reasons = new Map<string, string>();
  return {
    add(owned, reason) {
      const key = keyOf(owned);
      reasons.set(key, reason);
      const [oldest] = reasons.keys();
      if (reasons.size > sourcesMax && oldest !== undefined) reasons.delete(oldest);
      return key;
    },
    reasonOf: (owned) => (reasons.size === 0 ? null : (reasons.get(keyOf(owned)) ?? null)),
  };
}

function keyOf({ owner, source }: OwnedSource): string {
  return hash('sha256', `${owner}\n${source}`, 'base64url');
}
