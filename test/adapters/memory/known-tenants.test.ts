// What is known of tenants is bounded by what it takes, not by how many they are.

import { expect, it } from '@jest/globals';

import { createKnownTenants } from '../../../src/adapters/memory/known-tenants.ts';
import { createSecretBox } from '../../../src/adapters/node/secret-box.ts';
import { ordinaryShare } from '../../../src/domain/tenant.ts';
import type { TenantId } from '../../../src/domain/ids.ts';
import { storedProvider, storedTenant } from '../../contracts/settings-store.ts';
import { createManualClock } from './manual-clock.ts';

it('1,000 tenants with keys of 100 KB: as many are kept as 20 MiB hold, and the others are asked for again', async () => {
  const sealedApiKey = 'x'.repeat(100_000);
  const known = createKnownTenants({
    store: {
      settings: async (id) => ({
        tenant: storedTenant({ id }),
        share: ordinaryShare,
        keys: [],
        namedKeys: [],
        providers: [storedProvider({ tenantId: id, sealedApiKey })],
      }),
    },
    secretBox: createSecretBox('a secret'),
    clock: createManualClock(),
    isFresh: () => true,
  });
  const ids = Array.from({ length: 1000 }, (_, i) => `tnt_${i}` as TenantId);
  const tenants = await Promise.all(ids.map(known.tenant));
  const kept = tenants.filter((tenant) => tenant !== null && known.isKept(tenant));
  const bytes = kept.length * sealedApiKey.length;
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThanOrEqual(20 * 1024 * 1024);
});
