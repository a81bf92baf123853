// Makes a further API key of a tenant, with a name and what it may do.

import { DomainError } from '../domain/errors.ts';
import { apiKeyIdOf } from '../domain/ids.ts';
import { namedKeysMax, type Scope, sealedFor } from '../domain/tenant.ts';
import type { ApiKeys } from '../ports/api-keys.ts';
import type { SecretBox } from '../ports/secret-box.ts';
import type { SettingsStore, StoredNamedKey } from '../ports/settings-store.ts';
import type { AuditDependencies, Author } from './record-change.ts';
import { recordChange } from './record-change.ts';

export interface CreateKeyDependencies extends AuditDependencies {
  readonly settings: Pick<SettingsStore, 'createNamedKey'>;
  readonly secretBox: Pick<SecretBox, 'seal'>;
  readonly apiKeys: Pick<ApiKeys, 'generate' | 'hash'>;
}

export interface CreateKeyInput extends Author {
  readonly name: string;
  readonly scopes: readonly Scope[];
}

export interface CreatedKey {
  readonly key: StoredNamedKey;
  /** Whole; told once. It is sealed as well, so that it can be cut out of what providers answer. */
  readonly apiKey: string;
}

/** `nk_` and 5 characters: 27 of the 32 random ones stay unknown, 160 bits. */
const prefixLength = 8;

/** @throws DomainError CONFLICT when the tenant has as many as there can be */
export function createKey(deps: CreateKeyDependencies) {
  return async ({ tenantId, actor, name, scopes }: CreateKeyInput): Promise<CreatedKey> => {
    const apiKey = deps.apiKeys.generate();
    const id = apiKeyIdOf(deps.clock.uuidV7());
    const key: StoredNamedKey = {
      id,
      tenantId,
      name,
      scopes,
      prefix: apiKey.slice(0, prefixLength),
      hash: deps.apiKeys.hash(apiKey),
      sealedKey: deps.secretBox.seal(apiKey, sealedFor.namedKey(tenantId, id)),
      createdAt: deps.clock.now(),
      lastUsedAt: null,
    };
    if ((await deps.settings.createNamedKey(key, namedKeysMax)) === 'full')
      throw new DomainError('CONFLICT', `A tenant has at most ${namedKeysMax} further keys: delete one first.`);
    await recordChange(deps, { tenantId, subject: 'key', subjectId: id, action: 'created', actor });
    return { key, apiKey };
  };
}
