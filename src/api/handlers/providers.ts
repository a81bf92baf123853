// A tenant's providers: list, save, test, delete, and which there are. Keys go in whole and come out masked.

import { z } from 'zod';

import type { Commands } from '../../commands/index.ts';
import { badField, notFound } from '../../domain/errors.ts';
import type { Channel } from '../../domain/events.ts';
import { channels } from '../../domain/events.ts';
import { bullets, maskSecret, sealedFor } from '../../domain/tenant.ts';
import type { Outbound } from '../../ports/outbound.ts';
import type { ProviderCatalog } from '../../ports/provider-registry.ts';
import type { SecretBox } from '../../ports/secret-box.ts';
import { SecretBoxError } from '../../ports/secret-box.ts';
import type { SettingsStore, StoredProvider } from '../../ports/settings-store.ts';
import { wireForms } from '../docs/wire-forms.ts';
import { endpoint } from '../endpoint.ts';
import { didYouMean } from '../validate.ts';
import { recipientProblem } from '../recipients.ts';
import { isoTime } from '../record.ts';
import { ok } from '../respond.ts';

interface Dependencies {
  readonly commands: Pick<Commands, 'saveProvider' | 'deleteProvider' | 'testProvider'>;
  readonly settings: Pick<SettingsStore, 'settings'>;
  readonly secretBox: Pick<SecretBox, 'open'>;
  readonly outbound: Pick<Outbound, 'problemWithUrl'>;
  readonly registry: Pick<ProviderCatalog, 'catalog'>;
}

const saveBody = z.strictObject({
  channel: z.enum(channels),
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
  enabled: z.boolean().default(true),
});

const testBody = z.strictObject({ recipient: z.string().optional() });

export function createProviderHandlers({ commands, settings, secretBox, outbound, registry }: Dependencies) {
  const shown = (stored: StoredProvider) => toProvider(stored, maskedKey(stored, secretBox));

  const list = endpoint('bearer', {
    async handle({ tenant }) {
      const providers = (await settings.settings(tenant.id))?.providers ?? [];
      return ok(providers.map(shown).sort((a, b) => channels.indexOf(a.channel) - channels.indexOf(b.channel)));
    },
  });

  /** The same for every tenant; a form is drawn from it. */
  const catalog = endpoint('bearer', {
    handle: () => Promise.resolve(ok(registry.catalog())),
  });

  const save = endpoint('bearer', {
    body: saveBody,
    async handle({ tenant, person }, { body }) {
      const { channel, provider, apiKey, enabled, config = {} } = body;
      const saved = await commands.saveProvider({
        tenantId: tenant.id,
        actor: person.actor,
        channel,
        provider,
        apiKey,
        config,
        enabled,
      });
      return ok(shown(saved));
    },
  });

  const test = endpoint('bearer', {
    body: testBody,
    bodyIsOptional: true,
    async handle({ tenant }, { params, body }) {
      const channel = channelOf(params);
      if (channel === null)
        throw badField('channel', `must be one of ${channels.join(', ')}${didYouMean(params['channel'], channels)}`);
      const recipient = body.recipient ?? null;
      // A test by EMAIL goes to the tenant's own address, which is what the identity provider says: it may be any text.
      const to = channel === 'EMAIL' ? tenant.email : recipient;
      const problem = to === null ? null : recipientProblem(channel, to, outbound);
      if (problem !== null) return ok({ success: false, error: `recipient: ${problem}` });
      return ok(await commands.testProvider({ tenant, channel, recipient }));
    },
  });

  const remove = endpoint('bearer', {
    async handle({ tenant, person }, { params }) {
      const channel = channelOf(params);
      if (channel === null) throw notFound('channel');
      await commands.deleteProvider({ tenantId: tenant.id, actor: person.actor, channel });
      return ok({ message: `The provider for ${channel} is deleted.` });
    },
  });

  return { list, catalog, save, test, remove };
}

/** Bullets alone where it can't be opened: deliveries say so, and saving the provider again mends it. */
function maskedKey({ tenantId, channel, sealedApiKey }: StoredProvider, secretBox: Pick<SecretBox, 'open'>): string {
  try {
    return maskSecret(secretBox.open(sealedApiKey, sealedFor.provider(tenantId, channel)));
  } catch (error) {
    if (error instanceof SecretBoxError) return bullets;
    throw error;
  }
}

function toProvider(stored: StoredProvider, apiKey: string) {
  const { tenantId, channel, provider, config, enabled, createdAt, updatedAt } = stored;
  const id = `${tenantId}:${channel}`;
  return {
    id,
    tenantId,
    channel,
    provider,
    apiKey,
    config,
    enabled,
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  };
}

function channelOf({ channel = '' }: Readonly<Record<string, string>>): Channel | null {
  return channels.find((known) => known === channel.toUpperCase()) ?? null;
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
