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
  const others = former.map(({ sealedKey, until }): Former => {
    const secret = openable(() => secretBox.open(sealedKey, context));
    if (secret === null) return { id: sealedKey, sealedKey, until };
    // Under the secret in use: a save that began before a rotation and ends after it must not bring the old one's text back.
    const isCurrent = secretBox.isCurrent(sealedKey);
    return { id: secret, sealedKey: isCurrent ? sealedKey : secretBox.seal(secret, context), until };
  });
  if (signed === null || signed === signs) return storedAs(others);
  const ended = { id: signed, sealedKey: secretBox.seal(signed, context), until: now + webhookSecretOverlapMs };
  return storedAs(longest(atMostTwoEach([ended, ...others]), signs, now));
}

/** A time in which a secret signed, by its end. What signs again keeps its former times: they say how well receivers know it. */
interface Former extends StoredFormerKey {
  /** One for each secret. */
  readonly id: string;
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
 * Those of as many secrets as may sign; what signed for the shortest time of the last 24 h goes first, since receivers know it least: nobody may ever have
 * seen it, where the answer to a save was lost and it was saved anew. Each signed from the end of the one before it, the oldest since these 24 h began.
 */
function longest(newestFirst: readonly Former[], signs: string | null, now: number): readonly Former[] {
  const signedMs = new Map<string, number>();
  for (const [i, { id, until }] of newestFirst.entries())
    signedMs.set(id, (signedMs.get(id) ?? 0) + until - (newestFirst[i + 1]?.until ?? now));
  const others = [...signedMs].filter(([id]) => id !== signs);
  if (others.length <= formerSignersMax) return newestFirst;
  const leastMs = Math.min(...others.map(([, ms]) => ms));
  const [least] = others.findLast(([, ms]) => ms === leastMs) ?? [];
  return longest(
    newestFirst.filter(({ id }) => id !== least),
    signs,
    now,
  );
}

/** Of one secret the last time and the first: the former says when it ends, the latter for how long it had signed before what came between. */
function atMostTwoEach(newestFirst: readonly Former[]): readonly Former[] {
  return newestFirst.filter(({ id }, i) => {
    const isLast = newestFirst.findIndex((one) => one.id === id) === i;
    return isLast || newestFirst.findLastIndex((one) => one.id === id) === i;
  });
}

function storedAs(newestFirst: readonly Former[]): StoredFormerKeys {
  const [newest, ...earlierKeys] = newestFirst.map(({ sealedKey, until }): StoredFormerKey => ({ sealedKey, until }));
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
