// The settings that say how long what has ended is kept.

import type { Variable } from './config-engines.ts';
import { retention } from './config-values.ts';

export const retentionVariables = {
  RETENTION: {
    schema: retention,
    fallback: 'forever',
    about:
      'how long a notification that has ended is kept, from its request on, with all that was said of it; forever, or from 10s on, such as 30d',
  },
  RETENTION_STATISTICS: {
    schema: retention,
    fallback: 'forever',
    about: 'how long the days stay counted of what RETENTION has ended; not shorter than it',
  },
} as const satisfies Record<string, Variable>;

/** What is wrong with the two together: each is in ms, or null for ever. */
export function forgottenTooSoon(values: Readonly<Record<string, unknown>>): string[] {
  const { RETENTION: keptMs, RETENTION_STATISTICS: statisticsMs } = values;
  const isShorter = typeof statisticsMs === 'number' && typeof keptMs === 'number' && statisticsMs < keptMs;
  return isShorter ? ['RETENTION_STATISTICS: should not be shorter than RETENTION'] : [];
}
