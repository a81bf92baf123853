// Settings of an earlier time have tenants that the log says are erased, with keys that open: they are erased once more before anybody is let in. Nothing of
// what such a tenant is accepted would be sent or shown, and its person could have no other one.

import type { EraseTenantDependencies } from '../commands/erase-tenant.ts';
import { emptyStoresOf } from '../commands/erase-tenant.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import type { SettingsStore } from '../ports/settings-store.ts';
import { allTenants } from '../replay/copy-settings.ts';

interface Dependencies extends Pick<EraseTenantDependencies, 'idempotency' | 'jobs'> {
  readonly log: Pick<EventLog, 'isTenantErased'>;
  readonly settings: Pick<SettingsStore, 'changesSince' | 'settings' | 'eraseTenant'>;
  readonly logger: Logger;
}

/** Once more it changes nothing. @throws Error when a store is away */
export async function eraseThoseThatCameBack({ log, logger, ...stores }: Dependencies): Promise<void> {
  const { settings } = stores;
  const emptyStores = emptyStoresOf(stores);
  for await (const tenantId of allTenants(settings)) {
    if (!log.isTenantErased(tenantId) || (await settings.settings(tenantId)) === null) continue;
    await emptyStores(tenantId);
    logger.warn('the settings had a tenant that the log says is erased: it is erased once more', { tenantId });
  }
}
