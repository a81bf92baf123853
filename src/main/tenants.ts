// herald tenants set: an operator gives a tenant another share of what tenants share, while the service runs.

import { createClock } from '../adapters/node/clock.ts';
import { createLogger } from '../adapters/node/logger.ts';
import type { TenantId } from '../domain/ids.ts';
import type { TenantShare } from '../domain/tenant.ts';
import type { Config } from './config.ts';
import { openSettings } from './engines.ts';
import { StartError } from './start-error.ts';

/** What isn't named stays as it is. @throws StartError when there is no such tenant */
export async function setTenantShare(config: Config, tenantId: TenantId, given: Partial<TenantShare>): Promise<void> {
  const clock = createClock();
  const logger = createLogger({ level: config.LOG_LEVEL });
  const { settings, close } = await openSettings({ config, clock, logger, signal: new AbortController().signal });
  try {
    const known = await settings.settings(tenantId);
    const share = known === null ? null : { ...known.share, ...given };
    if (share === null || !(await settings.setShare(tenantId, share)))
      throw new StartError(`There is no tenant ${tenantId}.`);
    process.stdout.write(`${tenantId}: ${textOf(share)}; in force within 5 s.\n`);
  } finally {
    await close();
    logger.flush();
  }
}

function textOf({ weight, inFlightMax }: TenantShare): string {
  const inFlight = inFlightMax === null ? 'as many attempts in flight as others' : `${inFlightMax} attempts in flight`;
  return `weight ${weight}, ${inFlight} of a channel and process at most`;
}
