// herald stats --as-of: one tenant's statistics as they were at a moment, without a server.

import { statisticsOf, statsQuery } from '../api/handlers/dashboard.ts';
import { validate } from '../api/validate.ts';
import { DomainError } from '../domain/errors.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Config } from './config.ts';
import { openLookBack } from './look-back.ts';
import type { StatsOptions } from './look-back-options.ts';
import { createProcess } from './process.ts';
import { firstSignal } from './signals.ts';
import { UsageError } from './usage-error.ts';

/** Prints what GET /dashboard/stats answered then. @throws UsageError; StartError */
export async function printStatistics(config: Config, { asOf, keep, tenant, query }: StatsOptions): Promise<void> {
  const checked = asOption(() => validate(statsQuery, query));
  // What is folded by then goes with the process.
  void firstSignal().then(() => process.exit(130));
  const parts = createProcess(config);
  const lookBack = await openLookBack(config, parts, { asOf, keep });
  try {
    const answer = statisticsOf(lookBack.reader, tenant as TenantId, checked, asOf);
    process.stdout.write(`${JSON.stringify(await answer.catch(refuseAsOption), null, 2)}\n`);
  } finally {
    await lookBack.close();
    parts.logger.flush();
  }
}

function asOption<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    return refuseAsOption(error);
  }
}

/** A field of the query is an option here. */
function refuseAsOption(error: unknown): never {
  throw error instanceof DomainError ? new UsageError(`--${error.message}`) : error;
}
