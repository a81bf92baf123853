// herald tenants set: an operator gives a tenant another share of what tenants share, or a shorter retention, while the service runs.

import { createClock } from '../adapters/node/clock.ts';
import { createLogger } from '../adapters/node/logger.ts';
import type { TenantId } from '../domain/ids.ts';
import type { TenantShare } from '../domain/tenant.ts';
import type { Config } from './config.ts';
import { openSettings } from './engines.ts';
import { StartError } from './start-error.ts';

/** What isn't named stays as it is. */
export interface TenantSetting extends Partial<TenantShare> {
  /** ms; null: as long as everybody's. */
  readonly keptMs?: number | null;
}

/** @throws StartError when there is no such tenant */
export async function setTenant(config: Config, tenantId: TenantId, given: TenantSetting): Promise<void> {
  const clock = createClock();
  const logger = createLogger({ level: config.LOG_LEVEL });
  const { settings, close } = await openSettings({ config, clock, logger, signal: new AbortController().signal });
  const { keptMs, ...givenShare } = given;
  try {
    const known = await settings.settings(tenantId);
    if (known === null) throw new StartError(`There is no tenant ${tenantId}.`);
    if (Object.keys(givenShare).length > 0) {
      const share = { ...known.share, ...givenShare };
      await settings.setShare(tenantId, share);
      process.stdout.write(`${tenantId}: ${textOf(share)}; in force within 5 s.\n`);
    }
    if (keptMs !== undefined) {
      await settings.setRetention(tenantId, keptMs);
      process.stdout.write(`${tenantId}: kept ${keptTextOf(keptMs)}; in force within a minute.\n`);
    }
  } finally {
    await close();
    logger.flush();
  }
}

function keptTextOf(keptMs: number | null): string {
  return keptMs === null ? 'as long as RETENTION says' : `for ${keptMs / 1000} s at most`;
}

function textOf({ weight, inFlightMax }: TenantShare): string {
  const inFlight = inFlightMax === null ? 'as many attempts in flight as others' : `${inFlightMax} attempts in flight`;
  return `weight ${weight}, ${inFlight} of a channel and process at most`;
}
