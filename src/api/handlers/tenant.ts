// The tenant of a token: made, shown, given a new key.

import { z } from 'zod';

import type { Commands } from '../../commands/index.ts';
import { graceSecondsMax } from '../../commands/regenerate-key.ts';
import type { RateLimit } from '../../domain/tenant.ts';
import { bullets, maskSecret } from '../../domain/tenant.ts';
import { SecretBoxError } from '../../ports/secret-box.ts';
import type { TenantDirectory } from '../../ports/tenant-directory.ts';
import { endpoint } from '../endpoint.ts';
import { isoTime } from '../record.ts';
import type { Refusals } from '../refusals.ts';
import { ok } from '../respond.ts';

interface Dependencies {
  readonly commands: Pick<Commands, 'provisionTenant' | 'regenerateKey'>;
  readonly directory: TenantDirectory;
  readonly rateLimit: RateLimit;
  readonly refusals: Pick<Refusals, 'of'>;
}

const regenerateBody = z.strictObject({
  graceSeconds: z.int().min(0).max(graceSecondsMax).default(0),
});

export function createTenantHandlers({ commands, directory, rateLimit, refusals: lately }: Dependencies) {
  const provision = endpoint('token', {
    async handle({ person }) {
      const { subject, actor, email } = person;
      const name = person.name ?? email ?? subject;
      const tenantId = await commands.provisionTenant({ subject, actor, email, name });
      const [tenant, apiKey] = await Promise.all([directory.tenant(tenantId), shown(directory.apiKey(tenantId))]);
      if (tenant === null) throw new Error('a tenant that was provisioned is not there');
      const { id, createdAt } = tenant;
      return ok({
        tenantId: id,
        apiKey: maskSecret(apiKey),
        tenant: { id, name: tenant.name, email: tenant.email, apiKey, createdAt: isoTime(createdAt) },
      });
    },
  });

  const show = endpoint('bearer', {
    async handle({ tenant }) {
      const { id, name, email, createdAt } = tenant;
      const [apiKey, webhookSecret] = await Promise.all([
        shown(directory.apiKey(id)),
        shown(directory.webhookSecret(id)),
      ]);
      const { limit, windowMs } = tenant.rateLimit ?? rateLimit;
      const limits = { requests: limit, windowSeconds: windowMs / 1000 };
      return ok({ id, name, email, apiKey, createdAt: isoTime(createdAt), limits, webhookSecret });
    },
  });

  const regenerateKey = endpoint('bearer', {
    body: regenerateBody,
    bodyIsOptional: true,
    async handle({ tenant, person }, { body }) {
      const apiKey = await commands.regenerateKey({
        tenantId: tenant.id,
        actor: person.actor,
        graceSeconds: body.graceSeconds,
      });
      return ok({ apiKey });
    },
  });

  const refusals = endpoint('bearer', {
    async handle({ tenant }) {
      const data = lately.of(tenant.id).map((refusal) => ({ ...refusal, at: isoTime(refusal.at) }));
      return ok({ data, nextCursor: null });
    },
  });

  return { provision, show, regenerateKey, refusals };
}

/** Bullets for what can't be opened: a key that nobody can see goes on working, and a new one can be asked for. */
async function shown(secret: Promise<string>): Promise<string> {
  try {
    return await secret;
  } catch (error) {
    if (error instanceof SecretBoxError) return bullets;
    throw error;
  }
}
