// Sources that broke a limit, by their hash: they are refused from then on, so that each costs its limit once.

import { hash } from 'node:crypto';

export interface RefusedSources {
  /** Returns the hash, by which logs name the source. */
  add(source: string, reason: string): string;
  /** null: it isn't refused. */
  reasonOf(source: string): string | null;
}

/** The oldest is forgotten when there are more than `sourcesMax`. */
export function createRefusedSources({ sourcesMax }: { readonly sourcesMax: number }): RefusedSources {
  const reasons = new Map<string, string>();
  return {
    add(source, reason) {
      const key = keyOf(source);
      reasons.set(key, reason);
      const [oldest] = reasons.keys();
      if (reasons.size > sourcesMax && oldest !== undefined) reasons.delete(oldest);
      return key;
    },
    reasonOf: (source) => (reasons.size === 0 ? null : (reasons.get(keyOf(source)) ?? null)),
  };
}

function keyOf(source: string): string {
  return hash('sha256', source, 'base64url');
}
