// Saves or updates a tenant's provider of one channel, its key sealed.

import { assertNever } from '../domain/assert-never.ts';
import { badField, DomainError } from '../domain/errors.ts';
import type { Channel, ProviderRole } from '../domain/events.ts';
import { deletedProvider, isMasked, sealedFor } from '../domain/tenant.ts';
import { callbackSecretProblems } from '../ports/callbacks.ts';
import type { Provider, ProviderRegistry } from '../ports/provider-registry.ts';
import type { SecretBox } from '../ports/secret-box.ts';
import type { SettingsStore, StoredProvider } from '../ports/settings-store.ts';
import type { TenantDirectory } from '../ports/tenant-directory.ts';
import { formerKeysAfter, noFormerKeys, openable } from './former-keys.ts';
import type { AuditDependencies, Author } from './record-change.ts';
import { recordChange } from './record-change.ts';

export interface SaveProviderDependencies extends AuditDependencies {
  readonly settings: Pick<SettingsStore, 'settings' | 'saveProvider' | 'noteBreakers'>;
  readonly secretBox: SecretBox;
  readonly registry: Pick<ProviderRegistry, 'find' | 'names'>;
  readonly directory: Pick<TenantDirectory, 'forget' | 'webhookSecret'>;
}

export interface SaveProviderInput extends Author {
  readonly channel: Channel;
  readonly role: ProviderRole;
  readonly provider: string;
  /** With bullets in it: the stored one stays. */
  readonly apiKey: string;
  /** What the provider's reports are verified by. Absent, or with bullets in it: the stored one stays; empty: there is none. */
  readonly callbackSecret?: string | undefined;
  readonly config: Readonly<Record<string, unknown>>;
  readonly enabled: boolean;
}

/** @throws DomainError BAD_REQUEST naming `provider`, `apiKey` or fields of `config` */
export function saveProvider(deps: SaveProviderDependencies) {
  return async (input: SaveProviderInput): Promise<StoredProvider> => {
    const { tenantId, channel, role, config, enabled } = input;
    if (channel === 'IN_APP') throw badField('channel', 'IN_APP needs no provider');
    if (channel === 'WEBHOOK' && role === 'fallback')
      throw badField('role', 'WEBHOOK has no fallback: its provider only signs, whatever it is');
    const provider = deps.registry.find(channel, input.provider);
    if (provider === null) {
      throw badField(
        'provider',
        `is not a provider of ${channel}; these are: ${deps.registry.names(channel).join(', ')}`,
      );
    }
    const known = (await deps.settings.settings(tenantId))?.providers ?? [];
    const before = known.find((one) => one.channel === channel && one.role === role) ?? null;
    const stored = before?.provider === deletedProvider ? null : before;
    const context = sealedFor.provider(tenantId, channel, role);
    const storedKey = stored === null ? null : openable(() => deps.secretBox.open(stored.sealedApiKey, context));
    const apiKey = isMasked(input.apiKey) ? keptKey(stored, storedKey, provider, config) : input.apiKey;
    const callbackSecret = callbackSecretOf(input, stored, provider);
    const newSecret =
      callbackSecret.kind === 'new' ? callbackSecretProblems(provider.callbacks, callbackSecret.secret) : [];
    const problems = [...provider.check({ apiKey, config }), ...newSecret];
    const [first] = problems;
    if (first !== undefined)
      throw new DomainError('BAD_REQUEST', `${first.path}: ${first.message}`, { details: problems });
    const now = deps.clock.now();
    const saved: StoredProvider = {
      tenantId,
      channel,
      role,
      provider: provider.name,
      sealedApiKey: deps.secretBox.seal(apiKey, context),
      ...(channel === 'WEBHOOK'
        ? await formerKeysAfter(deps, { tenantId, before, key: enabled ? apiKey : null, now })
        : noFormerKeys),
      ...sealedCallbackSecret(deps.secretBox, input, callbackSecret),
      config,
      enabled,
      createdAt: stored?.createdAt ?? now,
      updatedAt: now,
    };
    await deps.settings.saveProvider(saved);
    // Its breaker begins anew, unless it only signs.
    if (channel !== 'WEBHOOK') await deps.settings.noteBreakers([{ tenantId, channel, role, until: null }]);
    await recordChange(deps, {
      tenantId,
      subject: 'provider',
      subjectId: role === 'primary' ? channel : `${channel}:${role}`,
      action: stored === null ? 'created' : 'updated',
      actor: input.actor,
    });
    return saved;
  };
}

type CallbackSecret =
  | { readonly kind: 'none' }
  | { readonly kind: 'stored'; readonly sealed: string }
  | { readonly kind: 'new'; readonly secret: string };

/** The stored one is of the provider that it was saved for. */
function callbackSecretOf(
  { callbackSecret: given }: SaveProviderInput,
  stored: StoredProvider | null,
  provider: Provider,
): CallbackSecret {
  const sealed = stored?.provider === provider.name ? stored.sealedCallbackSecret : undefined;
  if (given === '') return { kind: 'none' };
  if (given !== undefined && !isMasked(given)) return { kind: 'new', secret: given };
  if (sealed !== undefined) return { kind: 'stored', sealed };
  if (given === undefined) return { kind: 'none' };
  throw badField('callbackSecret', 'is masked, and none is stored that it could stand for');
}

function sealedCallbackSecret(
  secretBox: SecretBox,
  { tenantId, channel, role }: SaveProviderInput,
  found: CallbackSecret,
): Pick<StoredProvider, 'sealedCallbackSecret'> {
  const context = sealedFor.callbacks(tenantId, channel, role);
  switch (found.kind) {
    case 'none':
      return {};
    case 'stored': {
      const { sealed } = found;
      const secret = secretBox.isCurrent(sealed) ? null : openable(() => secretBox.open(sealed, context));
      return { sealedCallbackSecret: secret === null ? sealed : secretBox.seal(secret, context) };
    }
    case 'new':
      return { sealedCallbackSecret: secretBox.seal(found.secret, context) };
    default:
      return assertNever(found);
  }
}

/** A key is kept for the provider, the server and the account that it was given for: whoever may save a provider may not have the key sent elsewhere. */
function keptKey(
  stored: StoredProvider | null,
  storedKey: string | null,
  provider: Provider,
  config: Readonly<Record<string, unknown>>,
): string {
  if (stored === null) throw badField('apiKey', 'is masked, and no key is stored that it could stand for');
  if (stored.provider !== provider.name)
    throw badField('apiKey', `is masked, and the stored key is one of ${stored.provider}`);
  const changed = differing(provider.keyGoesBy(stored.config), provider.keyGoesBy(config));
  if (changed.length > 0) {
    const fields = changed.map((name) => `config.${name}`).join(', ');
    throw badField('apiKey', `is masked, and the stored key is not for another ${fields}: send it whole`);
  }
  if (storedKey === null) throw badField('apiKey', 'is masked, and the stored key cannot be opened: send it whole');
  return storedKey;
}

function differing(one: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>): string[] {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].filter((name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]));
}
