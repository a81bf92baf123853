// Whose turn it is, and who is passed over for now: lanes by priority, tenants by weight, caps by tenant.

import { createLanes } from './lanes.ts';
import type { Lanes } from './lanes.ts';
import type { DispatcherLimits } from './limits.ts';
import { createTenantGate } from './tenant-gate.ts';
import type { TenantGate } from './tenant-gate.ts';
import type { TenantShares } from './tenant-shares.ts';
import type { WorkItem } from './work-item.ts';

export interface Turns {
  readonly gate: TenantGate;
  readonly lanes: Lanes<WorkItem>;
}

export function createTurns({ limits, shares }: { limits: DispatcherLimits; shares: TenantShares }): Turns {
  const gate = createTenantGate((tenantId) => shares.of(tenantId).inFlightMax ?? limits.inFlightPerTenantProviderMax);
  const lanes = createLanes<WorkItem>({
    isHeld: gate.isHeld,
    weightOf: (tenantId) => shares.of(tenantId).weight,
    isOlder: (a, b) => a.order < b.order,
  });
  return { gate, lanes };
}
