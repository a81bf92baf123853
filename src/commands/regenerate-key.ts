// Gives a tenant a new API key; the old ones end at once or after a grace period.

import { DomainError } from '../domain/errors.ts';
import { formerKeysMax, sealedFor } from '../domain/tenant.ts';
import type { ApiKeys } from '../ports/api-keys.ts';
import type { SecretBox } from '../ports/secret-box.ts';
import type { SettingsStore } from '../ports/settings-store.ts';
import type { AuditDependencies, Author } from './record-change.ts';
import { recordChange } from './record-change.ts';

export const graceSecondsMax = 7 * 24 * 60 * 60;

export interface RegenerateDependencies extends AuditDependencies {
  readonly settings: Pick<SettingsStore, 'replaceKey'>;
  readonly secretBox: Pick<SecretBox, 'seal'>;
  readonly apiKeys: Pick<ApiKeys, 'generate' | 'hash'>;
}

export interface RegenerateInput extends Author {
  /** 0 to graceSecondsMax. */
  readonly graceSeconds: number;
}

/** Resolves with the new key, whole. @throws DomainError CONFLICT when more former keys would hold than may; never without a grace period */
export function regenerateKey(deps: RegenerateDependencies) {
  return async ({ tenantId, actor, graceSeconds }: RegenerateInput): Promise<string> => {
    const apiKey = deps.apiKeys.generate();
    const now = deps.clock.now();
    const sealedKey = deps.secretBox.seal(apiKey, sealedFor.apiKey(tenantId));
    const key = { tenantId, hash: deps.apiKeys.hash(apiKey), sealedKey, createdAt: now, expiresAt: null };
    const oldExpiresAt = graceSeconds === 0 ? null : now + graceSeconds * 1000;
    // Refused rather than ending the oldest: whoever was promised a grace period keeps it, and without one nothing is in the way.
    if ((await deps.settings.replaceKey(key, oldExpiresAt, formerKeysMax)) === 'full') {
      throw new DomainError(
        'CONFLICT',
        `${formerKeysMax} former keys hold still, and there can be no more: leave graceSeconds out, which ends them all, or wait until one ends.`,
      );
    }
    await recordChange(deps, { tenantId, subject: 'key', subjectId: tenantId, action: 'regenerated', actor });
    return apiKey;
  };
}
