// What signed a tenant's webhooks before a change of what signs them, and signs as well from then on: receivers know it until they are told the other.

import type { TenantId } from '../domain/ids.ts';
import { formerSignersMax, sealedFor, webhookSecretOverlapMs } from '../domain/tenant.ts';
import { type SecretBox, SecretBoxError } from '../ports/secret-box.ts';
import type { StoredFormerKey, StoredProvider } from '../ports/settings-store.ts';
import { formerKeysOf } from '../ports/settings-store.ts';
import type { TenantDirectory } from '../ports/tenant-directory.ts';

export interface FormerKeysDependencies {
  readonly secretBox: SecretBox;
  readonly directory: Pick<TenantDirectory, 'webhookSecret'>;
}

export interface ChangeOfSigner {
  readonly tenantId: TenantId;
  /** Also one that is deleted, whose secrets may sign as well. */
  readonly before: StoredProvider | null;
  /** What signs from now on: an enabled provider's key; null: the tenant's `whsec_` secret. */
  readonly key: string | null;
  readonly now: number;
}

export type StoredFormerKeys = Pick<StoredProvider, 'sealedPreviousApiKey' | 'previousUntil' | 'earlierKeys'>;

export const noFormerKeys: StoredFormerKeys = { sealedPreviousApiKey: null, previousUntil: null };

/**
 * Whenever what signs is another (a provider is saved, gets another key, is disabled, enabled or deleted), the one so far signs as well for 24 h, and so does
 * what did already, to the end of its own.
 */
export async function formerKeysAfter(
  deps: FormerKeysDependencies,
  { tenantId, before, key, now }: ChangeOfSigner,
): Promise<StoredFormerKeys> {
  const { secretBox } = deps;
  const context = sealedFor.provider(tenantId, 'WEBHOOK');
  const wasEnabled = before?.enabled === true;
  const own = wasEnabled && key !== null ? null : await ownSecret(deps, tenantId);
  const signed = wasEnabled ? openable(() => secretBox.open(before.sealedApiKey, context)) : own;
  const signs = key ?? own;
  const former = (before === null ? [] : formerKeysOf(before)).filter(({ until }) => until > now);
  const others = former.flatMap(({ sealedKey, until }) => {
    const secret = openable(() => secretBox.open(sealedKey, context));
    if (secret === null) return [{ sealedKey, until }];
    if (secret === signed || secret === signs) return [];
    // Under the secret in use: a save that began before a rotation and ends after it must not bring the old one's text back.
    return [{ sealedKey: secretBox.isCurrent(sealedKey) ? sealedKey : secretBox.seal(secret, context), until }];
  });
  if (signed === null || signed === signs) return storedAs(others);
  return storedAs(
    longest([{ sealedKey: secretBox.seal(signed, context), until: now + webhookSecretOverlapMs }, ...others]),
  );
}

/** null: it can't be opened, so nothing was signed with it lately. A new key takes its place all the same. */
export function openable(open: () => string): string | null {
  try {
    return open();
  } catch (error) {
    if (error instanceof SecretBoxError) return null;
    throw error;
  }
}

/**
 * As many as may sign; what signed for the shortest time goes first, since receivers know it least: nobody may ever have seen it, where the answer to a save
 * was lost and it was saved anew. Each signed alone from when the one before it became a former one, so their ends say for how long.
 */
function longest(newestFirst: readonly StoredFormerKey[]): readonly StoredFormerKey[] {
  if (newestFirst.length <= formerSignersMax) return newestFirst;
  const signedMs = newestFirst.map(({ until }, i) => until - (newestFirst[i + 1]?.until ?? -Infinity));
  return longest(newestFirst.toSpliced(signedMs.lastIndexOf(Math.min(...signedMs)), 1));
}

function storedAs([newest, ...earlierKeys]: readonly StoredFormerKey[]): StoredFormerKeys {
  if (newest === undefined) return noFormerKeys;
  const previous = { sealedPreviousApiKey: newest.sealedKey, previousUntil: newest.until };
  return earlierKeys.length === 0 ? previous : { ...previous, earlierKeys };
}

async function ownSecret({ directory }: FormerKeysDependencies, tenantId: TenantId): Promise<string | null> {
  try {
    return await directory.webhookSecret(tenantId);
  } catch (error) {
    if (error instanceof SecretBoxError) return null;
    throw error;
  }
}
