// Who is asking: a tenant by its API key, or a person by a bearer token of the identity provider.

import type { Request, Response } from 'express';
import { expressjwt, UnauthorizedError } from 'express-jwt';

import { DomainError, unavailable } from '../domain/errors.ts';
import type { Tenant } from '../domain/tenant.ts';
import type { Logger } from '../ports/logger.ts';
import type { TenantDirectory } from '../ports/tenant-directory.ts';
import type { TokenKeys } from '../ports/token-keys.ts';
import { UnknownTokenKeyError } from '../ports/token-keys.ts';

/** What a token says of its bearer. */
export interface Person {
  /** The token's `sub`. */
  readonly actor: string;
  /** What the tenant is found by: the value of the configured claim. */
  readonly subject: string;
  readonly email: string | null;
  readonly name: string | null;
  /** UTC ms at which the token ends; null: never. */
  readonly expiresAt: number | null;
}

export interface TokenRules {
  readonly issuer: string;
  readonly audience: string;
  /** AUTH_TENANT_CLAIM; `sub` by default. */
  readonly tenantClaim: string;
}

/** A longer one is none of ours; it is not even looked at. */
const apiKeyMax = 256;
const textMax = 320;

interface Dependencies {
  readonly directory: TenantDirectory;
  readonly tokenKeys: TokenKeys;
  readonly tokens: TokenRules;
  readonly logger: Logger;
}

export type Authenticate = ReturnType<typeof createAuthenticate>;

export function createAuthenticate({ directory, tokenKeys, tokens, logger }: Dependencies) {
  const keyOf = async (_req: Request, token: { header: { kid?: string; alg?: string } } | undefined) => {
    try {
      return await tokenKeys.keyFor(token?.header ?? {});
    } catch (err) {
      if (err instanceof UnknownTokenKeyError)
        throw unauthorized('The token is signed with a key that its issuer does not have.');
      logger.warn('the keys of the token issuer cannot be had', { err });
      throw unavailable('The keys of the identity provider cannot be reached at the moment. Try again.');
    }
  };
  const verifier = (getToken: (req: Request) => string | undefined) =>
    expressjwt({
      secret: keyOf as Parameters<typeof expressjwt>[0]['secret'],
      algorithms: ['RS256', 'ES256'],
      issuer: tokens.issuer,
      audience: tokens.audience,
      clockTolerance: clockToleranceSeconds,
      getToken,
    });
  const byHeader = verifier(bearerToken);
  const byHeaderOrQuery = verifier(
    (req) => bearerToken(req) ?? new URLSearchParams(req.url.split('?')[1]).get('token') ?? undefined,
  );

  const person = async (
    req: Request,
    res: Response,
    { queryToken }: { readonly queryToken: boolean },
  ): Promise<Person> => {
    const verify = queryToken ? byHeaderOrQuery : byHeader;
    await new Promise<void>((resolve, reject) => {
      verify(req, res, (err?: unknown) => {
        if (err === undefined) resolve();
        else
          reject(
            err instanceof UnauthorizedError
              ? unauthorized(sentences[err.code] ?? 'The bearer token is not valid.')
              : err,
          );
      })?.catch(reject);
    });
    return personOf((req as Request & { auth?: Record<string, unknown> }).auth ?? {}, tokens.tenantClaim);
  };

  return {
    person,

    /** @throws DomainError UNAUTHORIZED, SERVICE_UNAVAILABLE */
    async tenantOfKey(apiKey: string | string[] | undefined): Promise<Tenant> {
      if (typeof apiKey !== 'string' || apiKey === '')
        throw unauthorized('Send the API key of the tenant in the header x-api-key.');
      const tenant = apiKey.length > apiKeyMax ? null : await directory.tenantByApiKey(apiKey);
      if (tenant === null) throw unauthorized('The API key is not valid.');
      return tenant;
    },

    /** @throws DomainError FORBIDDEN, SERVICE_UNAVAILABLE */
    async tenantOfPerson({ subject }: Person): Promise<Tenant> {
      const tenant = await directory.tenantBySubject(subject);
      if (tenant === null)
        throw new DomainError(
          'FORBIDDEN',
          'There is no tenant of this token yet: make it with POST /api/v1/auth/provision-tenant.',
        );
      return tenant;
    },
  };
}

const clockToleranceSeconds = 30;

const sentences: Readonly<Record<string, string>> = {
  credentials_required: 'Send a bearer token in the header Authorization.',
  credentials_bad_scheme: 'The header Authorization should be: Bearer <token>.',
  credentials_bad_format: 'The header Authorization should be: Bearer <token>.',
};

function bearerToken(req: Request): string | undefined {
  const header = req.headers.authorization;
  if (header === undefined) return undefined;
  const match = /^Bearer +([^\s]+) *$/i.exec(header);
  if (match === null) throw unauthorized(sentences['credentials_bad_format'] ?? '');
  return match[1];
}

function unauthorized(message: string): DomainError {
  return new DomainError('UNAUTHORIZED', message);
}

/** @throws DomainError UNAUTHORIZED without a `sub`, FORBIDDEN without the tenant's claim */
function personOf(claims: Readonly<Record<string, unknown>>, tenantClaim: string): Person {
  const actor = textClaim(claims, 'sub');
  if (actor === null) throw unauthorized('The token names nobody: it has no sub.');
  const subject = textClaim(claims, tenantClaim);
  if (subject === null)
    throw new DomainError('FORBIDDEN', `The token has no claim ${tenantClaim}, by which its tenant is found.`);
  const exp = claims['exp'];
  return {
    actor,
    subject,
    email: textClaim(claims, 'email'),
    name: textClaim(claims, 'name'),
    expiresAt: typeof exp === 'number' ? exp * 1000 + clockToleranceSeconds * 1000 : null,
  };
}

function textClaim(claims: Readonly<Record<string, unknown>>, name: string): string | null {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  return typeof value === 'string' && value !== '' && value.length <= textMax && value.isWellFormed() ? value : null;
}
