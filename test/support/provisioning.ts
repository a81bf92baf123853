// Tenants for an end-to-end test, as many as it asks for, made as a person makes one.

import { join } from 'node:path';

import { createEmbeddedIssuer } from '../../src/adapters/node/issuer.ts';
import type { NotificationId, TenantId } from '../../src/domain/ids.ts';
import { defaultPartitioning, partitionOf } from '../../src/domain/topics.ts';
import type { DataDir, Herald } from './herald.ts';

export interface TestTenant {
  /** Of the service that it was made with. */
  readonly url: string;
  readonly id: TenantId;
  readonly apiKey: string;
  /** Of its owner. */
  readonly bearer: string;
}

export interface Provisioner {
  /** One more. */
  tenant(): Promise<TestTenant>;
}

export async function createProvisioner(dataDir: DataDir, service: Pick<Herald, 'url' | 'call'>): Promise<Provisioner> {
  const keyPath = join(dataDir.path, 'issuer-key.json');
  const issuer = await createEmbeddedIssuer({ keyPath, issuer: 'herald', audience: 'herald' });
  let made = 0;
  return {
    async tenant() {
      const bearer = await issuer.token({ sub: `owner-${made++}`, hours: 12 });
      const path = '/api/v1/auth/provision-tenant';
      const { status, body } = await service.call('POST', path, { headers: { authorization: `Bearer ${bearer}` } });
      if (status >= 300) throw new Error(`a tenant was not made: ${status} ${JSON.stringify(body)}`);
      const { id, apiKey } = body['tenant'] as { id: string; apiKey: string };
      return { url: service.url, id: id as TenantId, apiKey, bearer };
    },
  };
}

/** Where a webhook of a tenant goes. */
export function webhookNumber(tenantId: TenantId, notificationId: NotificationId): number {
  return partitionOf({ tenantId, channel: 'WEBHOOK', recipient: '', notificationId }, defaultPartitioning);
}

/** Wherever a tenant's webhooks can go, found by trying. */
export function webhookNumbers(tenantId: TenantId): ReadonlySet<number> {
  return new Set(Array.from({ length: 100 }, (_, i) => webhookNumber(tenantId, `notif_${i}` as NotificationId)));
}
