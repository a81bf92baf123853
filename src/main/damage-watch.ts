// A file of DATA_DIR that turns out to be damaged while the service runs: told as a sentence with its path and what may be done, by a line, by readiness and
// in place of SQLite's errors. What of it is whole goes on being used.

import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import { damageOf, type DataFile } from './data-file.ts';
import { StartError } from './start-error.ts';

export interface DamageWatch {
  /** The same port; calls that fail for a damaged page reject with the sentence. */
  guarded<T extends object>(port: T): T;
  /** The sentence, once a page was found damaged and until the process ends: nobody mends a page. null: none was. */
  why(): string | null;
}

interface Watched {
  readonly path: string;
  readonly file: DataFile;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
}

/** Whoever reads the page tries again and again: a line for each would be all that is seen. */
const saidEveryMs = 60_000;

export function createDamageWatch({ path, file, clock, logger }: Watched): DamageWatch {
  let why: string | null = null;
  let saidAt = -Infinity;

  const told = (error: unknown): unknown => {
    const sentence = damageOf(path, file, error);
    if (sentence === null) return error;
    why = sentence;
    if (clock.monotonic() - saidAt >= saidEveryMs) {
      saidAt = clock.monotonic();
      logger.error('a file is damaged', { path, reason: sentence });
    }
    return new StartError(sentence);
  };
  const guardedCall =
    (port: object, call: (...args: unknown[]) => unknown) =>
    (...args: unknown[]): unknown => {
      try {
        const result = call.apply(port, args);
        return result instanceof Promise ? result.catch((error: unknown) => Promise.reject(told(error))) : result;
      } catch (error) {
        throw told(error);
      }
    };

  return {
    guarded<T extends object>(port: T): T {
      const entries = Object.entries(port).map(([name, member]): [string, unknown] => [
        name,
        typeof member === 'function' ? guardedCall(port, member as (...args: unknown[]) => unknown) : member,
      ]);
      return Object.fromEntries(entries) as T;
    },
    why: () => why,
  };
}
