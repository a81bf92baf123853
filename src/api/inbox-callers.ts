// Who reads an inbox: a tenant's backend by its API key, or a recipient's browser by the token that the backend has made for it.

import type { Request } from 'express';

import { DomainError } from '../domain/errors.ts';
import type { Scope, Tenant } from '../domain/tenant.ts';
import type { Clock } from '../ports/clock.ts';
import type { InboxTokens } from '../ports/inbox-tokens.ts';
import type { TenantDirectory } from '../ports/tenant-directory.ts';
import type { Authenticate } from './authenticate.ts';
import { holdsApiKey, keyAsToken } from './mistaken-credentials.ts';

export interface InboxCaller {
  readonly tenant: Tenant;
  /** Whose inbox alone a token opens; null: an API key opens all of the tenant's. */
  readonly recipient: string | null;
  /** UTC ms; null: whoever has a key has it until it is taken away. */
  readonly endsAt: number | null;
  /** Whether it would be let in now: a stream asks while it is open. */
  stillHolds(): Promise<boolean>;
}

interface Dependencies {
  readonly authenticate: Pick<Authenticate, 'tenantOfKey'>;
  readonly directory: Pick<TenantDirectory, 'holderOfApiKey' | 'holderOfKeyHash'>;
  readonly inboxTokens: Pick<InboxTokens, 'read'>;
  readonly clock: Pick<Clock, 'now'>;
}

export type InboxCallers = ReturnType<typeof createInboxCallers>;

/** What the key needs that a token is made with, as long as the token holds. */
const scope: Scope = 'inbox';

export function createInboxCallers({ authenticate, directory, inboxTokens, clock }: Dependencies) {
  const byKey = async (req: Request, scopes: readonly Scope[]): Promise<InboxCaller> => {
    const tenant = await authenticate.tenantOfKey(req.headers, scopes);
    const apiKey = String(req.headers['x-api-key']);
    const stillHolds = async () => (await directory.holderOfApiKey(apiKey)) !== null;
    return { tenant, recipient: null, endsAt: null, stillHolds };
  };

  const byToken = async (token: string, userId: string): Promise<InboxCaller> => {
    const pass = await inboxTokens.read(token);
    if (pass === null) throw unauthorized(invalidToken);
    const { recipient, expiresAt: endsAt } = pass;
    const holder = async () => {
      const found = clock.now() < endsAt ? await directory.holderOfKeyHash(pass.tenantId, pass.keyHash) : null;
      return found?.scopes.includes(scope) === true ? found : null;
    };
    const found = await holder();
    if (found === null) throw unauthorized(endedToken);
    if (recipient !== userId) throw new DomainError('FORBIDDEN', 'The token is for the inbox of another recipient.');
    return { tenant: found.tenant, recipient, endsAt, stillHolds: async () => (await holder()) !== null };
  };

  /**
   * An API key decides where there is one.
   * @param queryToken whether `?token=` is looked at, for EventSource sends no header
   * @throws DomainError UNAUTHORIZED, FORBIDDEN, SERVICE_UNAVAILABLE
   */
  return async (
    req: Request,
    { scopes, queryToken }: { readonly scopes: readonly Scope[]; readonly queryToken: boolean },
  ): Promise<InboxCaller> => {
    if (req.headers['x-api-key'] !== undefined) return byKey(req, scopes);
    const token = bearerToken(req) ?? (queryToken ? queryTokenOf(req) : null);
    if (token === null) throw unauthorized(missing);
    return byToken(token, String(req.params['userId']));
  };
}

const missing =
  'Send the API key of the tenant in the header x-api-key, or from a browser the recipient’s token in the header Authorization: Bearer <token>, which POST /api/v1/notify/inapp/:userId/token makes.';
const invalidToken =
  'The inbox token is not valid: this address takes an API key in the header x-api-key, or a token that POST /api/v1/notify/inapp/:userId/token has made.';
const endedToken = 'The inbox token has ended, or the API key that it was made with. Ask the backend for another one.';

function bearerToken({ headers: { authorization } }: Request): string | null {
  if (authorization === undefined) return null;
  if (holdsApiKey(authorization)) throw unauthorized(keyAsToken);
  const match = /^Bearer +([^\s]+) *$/i.exec(authorization);
  if (match?.[1] === undefined) throw unauthorized('The header Authorization should be: Bearer <token>.');
  return match[1];
}

function queryTokenOf({ url }: Request): string | null {
  const token = new URLSearchParams(url.split('?')[1]).get('token');
  if (token !== null && holdsApiKey(token)) throw unauthorized(keyAsToken);
  return token;
}

function unauthorized(message: string): DomainError {
  return new DomainError('UNAUTHORIZED', message);
}
