// A tenant's further API keys: listed by their first characters, made with what they may do, shown whole once, deleted.

import { z } from 'zod';

import type { Commands } from '../../commands/index.ts';
import { scopes } from '../../domain/tenant.ts';
import type { SettingsStore, StoredNamedKey } from '../../ports/settings-store.ts';
import { wireForms } from '../docs/wire-forms.ts';
import { endpoint } from '../endpoint.ts';
import { isoTime } from '../record.ts';
import { ok } from '../respond.ts';

interface Dependencies {
  readonly commands: Pick<Commands, 'createKey' | 'deleteKey'>;
  readonly settings: Pick<SettingsStore, 'settings'>;
}

const nameMax = 100;

const createBody = z.strictObject({
  name: z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .max(nameMax, `must be at most ${nameMax} characters`)
    .regex(/^\P{Cc}*$/u, 'must not hold control characters')
    .register(wireForms, { type: 'string', minLength: 1, maxLength: nameMax }),
  scopes: z
    .array(z.enum(scopes))
    .min(1, `must name at least one of ${scopes.join(', ')}`)
    .refine((named) => new Set(named).size === named.length, 'must not name a scope twice')
    .meta({ uniqueItems: true }),
});

export function createKeyHandlers({ commands, settings }: Dependencies) {
  const list = endpoint('bearer', {
    async handle({ tenant }) {
      // From the store, not from memory: when a key was used last changes without a change of the settings.
      const keys = (await settings.settings(tenant.id))?.namedKeys ?? [];
      return ok(keys.toReversed().map(shown));
    },
  });

  const create = endpoint('bearer', {
    body: createBody,
    async handle({ tenant, person }, { body }) {
      const { key, apiKey } = await commands.createKey({ tenantId: tenant.id, actor: person.actor, ...body });
      return { status: 201, body: { ...shown(key), key: apiKey } };
    },
  });

  const remove = endpoint('bearer', {
    async handle({ tenant, person }, { params }) {
      const { id = '' } = params;
      await commands.deleteKey({ tenantId: tenant.id, actor: person.actor, id });
      return ok({ message: 'The key is deleted: it is refused from now on, on every node within 5 s.' });
    },
  });

  return { list, create, remove };
}

function shown({ id, name, scopes: granted, prefix, createdAt, lastUsedAt }: StoredNamedKey) {
  return {
    id,
    name,
    scopes: granted,
    prefix,
    createdAt: isoTime(createdAt),
    lastUsedAt: lastUsedAt === null ? null : isoTime(lastUsedAt),
  };
}
