// A tenant's providers: list, save, test, delete, and which there are. Keys go in whole and come out masked.

import { z } from 'zod';

import type { Commands } from '../../commands/index.ts';
import { breakerStates, notedState } from '../../domain/breaker.ts';
import { badField, notFound } from '../../domain/errors.ts';
import type { Channel } from '../../domain/events.ts';
import { channels, providerRoles } from '../../domain/events.ts';
import { bullets, deletedProvider, maskSecret, sealedFor } from '../../domain/tenant.ts';
import type { CallbackAddresses } from '../../ports/callback-addresses.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Outbound } from '../../ports/outbound.ts';
import type { ProviderCatalog, ProviderRegistry } from '../../ports/provider-registry.ts';
import type { SecretBox } from '../../ports/secret-box.ts';
import { SecretBoxError } from '../../ports/secret-box.ts';
import type { BreakerNote, SettingsStore, StoredProvider } from '../../ports/settings-store.ts';
import { wireForms } from '../docs/wire-forms.ts';
import { endpoint } from '../endpoint.ts';
import { didYouMean } from '../validate.ts';
import { recipientProblem } from '../recipients.ts';
import { isoTime } from '../record.ts';
import { ok } from '../respond.ts';

interface Dependencies {
  readonly commands: Pick<Commands, 'saveProvider' | 'deleteProvider' | 'testProvider'>;
  readonly settings: Pick<SettingsStore, 'settings' | 'breakers'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly secretBox: Pick<SecretBox, 'open'>;
  readonly outbound: Pick<Outbound, 'problemWithUrl'>;
  readonly registry: Pick<ProviderCatalog, 'catalog'> & Pick<ProviderRegistry, 'find'>;
  readonly callbackAddresses: CallbackAddresses;
}

const role = z
  .enum(providerRoles)
  .default('primary')
  .describe('The fallback takes over while the first provider can’t: EMAIL and SMS may have one.');

/** Of a route that names the channel in its path. */
const roleQuery = z.strictObject({ role });

const saveBody = z.strictObject({
  channel: z.enum(channels),
  role,
  provider: z.string().min(1).max(50),
  apiKey: z.string().min(1).max(4096),
  config: z
    .custom<Readonly<Record<string, unknown>>>(isObject, 'must be a JSON object')
    .register(wireForms, {
      type: 'object',
      additionalProperties: {},
      description: 'The fields of the provider: see `GET /providers/catalog`.',
    })
    .optional(),
  callbackSecret: z
    .string()
    .max(4096)
    .nullable()
    .describe(
      'What the provider’s reports are verified by, where that isn’t its key: see `GET /providers/catalog`. Absent, null, or with bullets: the stored one stays. Empty: there is none.',
    )
    .optional(),
  enabled: z.boolean().default(true),
  callbackUrl: z.string().nullable().describe('As it was read: passed over.').optional(),
  breaker: z.enum(breakerStates).describe('As it was read: passed over.').optional(),
});

const testBody = z.strictObject({ recipient: z.string().optional() });

export function createProviderHandlers(deps: Dependencies) {
  const { commands, settings, secretBox, clock, outbound, registry, callbackAddresses } = deps;
  const callbackUrlOf = ({ tenantId, channel, provider }: StoredProvider) =>
    registry.find(channel, provider)?.callbacks === undefined ? null : callbackAddresses.urlOf(tenantId, provider);
  const shown = (stored: StoredProvider, notes: readonly BreakerNote[]) => {
    const note = notes.find(({ channel, role }) => channel === stored.channel && role === stored.role);
    return {
      ...toProvider(stored, maskedKey(stored, secretBox)),
      callbackSecret: maskedCallbackSecret(stored, secretBox),
      callbackUrl: callbackUrlOf(stored),
      breaker: notedState(note?.until ?? null, clock.now()),
    };
  };

  const list = endpoint('bearer', {
    async handle({ tenant }) {
      const [stored, notes] = await Promise.all([settings.settings(tenant.id), settings.breakers(tenant.id)]);
      const saved = (stored?.providers ?? []).filter(({ provider }) => provider !== deletedProvider);
      const providers = saved.map((provider) => shown(provider, notes));
      return ok(providers.sort((a, b) => placeOf(a) - placeOf(b)));
    },
  });

  /** The same for every tenant; a form is drawn from it. */
  const catalog = endpoint('bearer', {
    handle: () => Promise.resolve(ok(registry.catalog())),
  });

  const save = endpoint('bearer', {
    body: saveBody,
    async handle({ tenant, person }, { body }) {
      const { channel, role, provider, apiKey, callbackSecret, enabled, config = {} } = body;
      const saved = await commands.saveProvider({
        tenantId: tenant.id,
        actor: person.actor,
        channel,
        role,
        provider,
        apiKey,
        callbackSecret: callbackSecret ?? undefined,
        config,
        enabled,
      });
      // What is saved begins anew.
      return ok(shown(saved, []));
    },
  });

  const test = endpoint('bearer', {
    body: testBody,
    bodyIsOptional: true,
    query: roleQuery,
    async handle({ tenant }, { params, body, query: { role } }) {
      const channel = channelOf(params);
      if (channel === null)
        throw badField('channel', `must be one of ${channels.join(', ')}${didYouMean(params['channel'], channels)}`);
      const recipient = body.recipient ?? null;
      // A test by EMAIL goes to the tenant's own address, which is what the identity provider says: it may be any text.
      const to = channel === 'EMAIL' ? tenant.email : recipient;
      const problem = to === null ? null : recipientProblem(channel, to, outbound);
      if (problem !== null) return ok({ success: false, error: `recipient: ${problem}` });
      return ok(await commands.testProvider({ tenant, channel, role, recipient }));
    },
  });

  const remove = endpoint('bearer', {
    query: roleQuery,
    async handle({ tenant, person }, { params, query: { role } }) {
      const channel = channelOf(params);
      if (channel === null) throw notFound('channel');
      await commands.deleteProvider({ tenantId: tenant.id, actor: person.actor, channel, role });
      return ok({ message: `The ${role === 'primary' ? 'provider' : `${role} provider`} for ${channel} is deleted.` });
    },
  });

  return { list, catalog, save, test, remove };
}

/** Bullets alone where it can't be opened: deliveries say so, and saving the provider again mends it. */
function maskedKey(stored: StoredProvider, secretBox: Pick<SecretBox, 'open'>): string {
  const { tenantId, channel, role, sealedApiKey } = stored;
  return masked(secretBox, sealedApiKey, sealedFor.provider(tenantId, channel, role));
}

/** null: there is none. */
function maskedCallbackSecret(stored: StoredProvider, secretBox: Pick<SecretBox, 'open'>): string | null {
  const { tenantId, channel, role, sealedCallbackSecret: sealed } = stored;
  return sealed === undefined ? null : masked(secretBox, sealed, sealedFor.callbacks(tenantId, channel, role));
}

function masked(secretBox: Pick<SecretBox, 'open'>, sealed: string, context: string): string {
  try {
    return maskSecret(secretBox.open(sealed, context));
  } catch (error) {
    if (error instanceof SecretBoxError) return bullets;
    throw error;
  }
}

function toProvider(stored: StoredProvider, apiKey: string) {
  const { tenantId, channel, role, provider, config, enabled, createdAt, updatedAt } = stored;
  const id = role === 'primary' ? `${tenantId}:${channel}` : `${tenantId}:${channel}:${role}`;
  return {
    id,
    tenantId,
    channel,
    role,
    provider,
    apiKey,
    config,
    enabled,
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  };
}

function placeOf({ channel, role }: Pick<StoredProvider, 'channel' | 'role'>): number {
  return channels.indexOf(channel) * providerRoles.length + providerRoles.indexOf(role);
}

function channelOf({ channel = '' }: Readonly<Record<string, string>>): Channel | null {
  return channels.find((known) => known === channel.toUpperCase()) ?? null;
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
