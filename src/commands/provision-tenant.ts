// Makes the tenant of a token's subject, with its API key and its webhook secret, unless there is one.

import type { TenantId } from '../domain/ids.ts';
import { tenantIdOf } from '../domain/ids.ts';
import { sealedFor } from '../domain/tenant.ts';
import type { ApiKeys } from '../ports/api-keys.ts';
import type { Clock } from '../ports/clock.ts';
import type { SecretBox } from '../ports/secret-box.ts';
import type { SettingsStore, StoredTenant } from '../ports/settings-store.ts';
import type { AuditDependencies } from './record-change.ts';
import { recordChange } from './record-change.ts';

export interface ProvisionDependencies extends AuditDependencies {
  readonly settings: Pick<SettingsStore, 'createTenant' | 'tenantBySubject'>;
  readonly secretBox: Pick<SecretBox, 'seal'>;
  readonly apiKeys: Pick<ApiKeys, 'generate' | 'hash'>;
  readonly clock: Pick<Clock, 'now' | 'uuidV7' | 'sleep' | 'randomBytes'>;
}

export interface ProvisionInput {
  readonly subject: string;
  readonly name: string;
  readonly email: string | null;
  readonly actor: string;
}

/** Two at once make one tenant. */
export function provisionTenant(deps: ProvisionDependencies) {
  return async ({ subject, name, email, actor }: ProvisionInput): Promise<TenantId> => {
    const { settings, secretBox, apiKeys, clock } = deps;
    const existing = await settings.tenantBySubject(subject);
    if (existing !== null) return existing.id;
    const id = tenantIdOf(clock.uuidV7());
    const createdAt = clock.now();
    const secret = `whsec_${base64(clock.randomBytes(webhookSecretBytes))}`;
    const sealedWebhookSecret = secretBox.seal(secret, sealedFor.webhookSecret(id));
    const tenant: StoredTenant = { id, subject, name, email, createdAt, rateLimit: null, sealedWebhookSecret };
    const apiKey = apiKeys.generate();
    const sealedKey = secretBox.seal(apiKey, sealedFor.apiKey(id));
    const created = await settings.createTenant(tenant, {
      tenantId: id,
      hash: apiKeys.hash(apiKey),
      sealedKey,
      createdAt,
      expiresAt: null,
    });
    if (created) {
      await recordChange(deps, { tenantId: id, subject: 'tenant', subjectId: id, action: 'created', actor });
      return id;
    }
    const winner = await settings.tenantBySubject(subject);
    if (winner === null) throw new Error('a tenant of the subject exists and does not');
    return winner.id;
  };
}

/** Standard Webhooks: 24 to 64 bytes. */
const webhookSecretBytes = 32;

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}
