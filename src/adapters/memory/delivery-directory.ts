// What delivering needs of tenants' settings, from memory; whoever accepts builds on it (tenant-directory.ts).
//
// Every node asks the store every `pollMs` which tenants have changed and forgets those. While the store is away what is known is served for `staleMaxMs`
// since the last successful look; what isn't known rejects.

import type { TenantId } from '../../domain/ids.ts';
import { ordinaryShare } from '../../domain/tenant.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { SecretBox } from '../../ports/secret-box.ts';
import type { SettingsStore } from '../../ports/settings-store.ts';
import type { DeliveryDirectory } from '../../ports/tenant-directory.ts';
import { createKnownTenants, type KnownTenants } from './known-tenants.ts';
import { watchSettings } from './settings-watch.ts';

export interface DeliveryDirectoryOptions {
  readonly store: Pick<SettingsStore, 'settings' | 'changesSince'>;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pollMs?: number;
  readonly staleMaxMs?: number;
}

export interface RunningDeliveryDirectory extends DeliveryDirectory {
  readonly tenants: KnownTenants;
  /** Whether what is known may be served. */
  isFresh(): boolean;
  forget(tenantId: TenantId): void;
  /** Until it resolves nothing is served from memory. Rejects when the store is away. */
  start(): Promise<void>;
  close(): Promise<void>;
}

export function createDeliveryDirectory(options: DeliveryDirectoryOptions): RunningDeliveryDirectory {
  const { store, secretBox, clock, logger, pollMs = 2000, staleMaxMs = 15 * 60 * 1000 } = options;
  const isFresh = () => watch.ageMs() <= staleMaxMs;
  const tenants = createKnownTenants({ store, secretBox, clock, isFresh });
  const watch = watchSettings({ store, clock, logger, pollMs, changed: tenants.drop });

  return {
    tenants,
    isFresh,
    start: watch.start,
    close: watch.close,
    share: async (tenantId) => (await tenants.tenant(tenantId))?.share ?? ordinaryShare,
    settings: tenants.tenant,
    refresh: async (tenantId) => void (await tenants.refreshed(tenantId)),
    forget: (tenantId) => tenants.drop([tenantId]),
  };
}
