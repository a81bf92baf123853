// The lifetime of a store or reader: until it is closed, or the connection under it. A closed one's calls reject, and it isn't ready.

import type { Db, MongoClient } from 'mongodb';

export interface Lifetime {
  /** Aborts at its end. */
  readonly signal: AbortSignal;
  end(): void;
}

export function createLifetime(client: MongoClient): Lifetime {
  const ending = new AbortController();
  const end = () => {
    client.off('topologyClosed', end);
    ending.abort();
  };
  client.on('topologyClosed', end);
  return { signal: ending.signal, end };
}

type Calls<T> = { [K in keyof T]: T[K] extends (...args: infer _A) => Promise<infer _R> ? T[K] : never };

/** The same calls, which reject once the signal has aborted. */
export function whileOpen(signal: AbortSignal): <T extends object>(calls: T & Calls<T>) => T {
  return (calls) => {
    const guarded = Object.entries(calls).map(([name, call]) => [
      name,
      async (...args: readonly unknown[]) => {
        if (signal.aborted) throw new Error('the read models were closed');
        return (call as (...of: readonly unknown[]) => unknown)(...args);
      },
    ]);
    return Object.fromEntries(guarded) as typeof calls;
  };
}

export async function answers(db: Db, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false;
  try {
    await db.command({ ping: 1 });
    return true;
  } catch {
    return false;
  }
}
