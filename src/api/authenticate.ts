// Who is asking: a tenant by its API key, or a person by a bearer token of the identity provider.

import type { KeyObject } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

import type { Request, Response } from 'express';
import { expressjwt, UnauthorizedError } from 'express-jwt';

import { DomainError, unavailable } from '../domain/errors.ts';
import type { Scope, Tenant } from '../domain/tenant.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { TenantDirectory } from '../ports/tenant-directory.ts';
import type { TokenKeys } from '../ports/token-keys.ts';
import { UnknownTokenKeyError } from '../ports/token-keys.ts';
import { wrongClaim } from './wrong-claim.ts';
import { holdsApiKey, invalidKey, keyAsToken, lacksScope, missingKey, missingToken } from './mistaken-credentials.ts';

/** What a token says of its bearer. */
export interface Person {
  /** The token's `sub`. */
  readonly actor: string;
  /** What the tenant is found by: the value of the configured claim. */
  readonly subject: string;
  readonly email: string | null;
  readonly name: string | null;
  /** UTC ms at which the token ends. */
  readonly expiresAt: number;
}

/** What tokens may be signed with: asymmetric alone, so that no public key can sign one. */
export type TokenAlgorithm = 'RS256' | 'ES256';

export interface TokenRules {
  readonly issuer: string;
  readonly audience: string;
  /** AUTH_TENANT_CLAIM; `sub` by default. */
  readonly tenantClaim: string;
  /** AUTH_NAME_CLAIM; `name` by default. */
  readonly nameClaim?: string;
  readonly algorithms: readonly TokenAlgorithm[];
  /** From its `iat`, or from now where that is missing or still to come; absent: 24 h. */
  readonly lifetimeMaxMs?: number;
  /** Whether a 401 says which claim is wrong; absent: the log line alone does. */
  readonly tellsClaims?: boolean;
}

/** A longer one is none of ours; it is not even looked at. */
const apiKeyMax = 256;
const textMax = 320;

interface Dependencies {
  readonly directory: TenantDirectory;
  readonly tokenKeys: TokenKeys;
  readonly tokens: TokenRules;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

export type Authenticate = ReturnType<typeof createAuthenticate>;

export function createAuthenticate({ directory, tokenKeys, tokens, clock, logger }: Dependencies) {
  const algorithms = new Set<unknown>(tokens.algorithms);
  const keyOf = async (_req: Request, token: { header: TokenHeader } | undefined) => {
    const { alg, kid, crit } = token?.header ?? {};
    // Before any key is looked for: what can't be verified asks nobody anything.
    if (!algorithms.has(alg)) throw unauthorized(`A token is signed with ${tokens.algorithms.join(' or ')}.`);
    if (crit !== undefined) throw unauthorized('The token asks for extensions that are not known here.');
    if (kid !== undefined && (typeof kid !== 'string' || kid.length > kidMax)) throw unauthorized(unknownKey);
    try {
      return strong(await tokenKeys.keyFor({ alg: String(alg), ...(kid === undefined ? {} : { kid }) }));
    } catch (err) {
      if (err instanceof DomainError) throw err;
      if (err instanceof UnknownTokenKeyError) throw unauthorized(unknownKey);
      logger.warn('the keys of the token issuer cannot be had', { err });
      throw unavailable('The keys of the identity provider cannot be reached at the moment. Try again.');
    }
  };
  const verifier = (getToken: (req: Request) => string | undefined) =>
    expressjwt({
      secret: keyOf as Parameters<typeof expressjwt>[0]['secret'],
      algorithms: [...tokens.algorithms],
      issuer: tokens.issuer,
      audience: tokens.audience,
      clockTolerance: clockToleranceSeconds,
      getToken,
    });
  const refusalOf = (err: UnauthorizedError, req: Request, res: Response): DomainError => {
    const wrong = wrongClaim(err.inner.message, tokens);
    if (wrong === null) return unauthorized(sentenceOf(err, req));
    res.locals['wrongClaim'] = wrong.path;
    if (tokens.tellsClaims !== true) return unauthorized(invalidToken);
    return new DomainError('UNAUTHORIZED', `${invalidToken} ${wrong.path}: ${wrong.message}`, { details: [wrong] });
  };
  const byHeader = verifier(bearerToken);
  const byHeaderOrQuery = verifier((req) => {
    const token = bearerToken(req) ?? new URLSearchParams(req.url.split('?')[1]).get('token') ?? undefined;
    if (token !== undefined && holdsApiKey(token)) throw unauthorized(keyAsToken);
    return token;
  });

  const person = async (
    req: Request,
    res: Response,
    { queryToken }: { readonly queryToken: boolean },
  ): Promise<Person> => {
    const verify = queryToken ? byHeaderOrQuery : byHeader;
    await new Promise<void>((resolve, reject) => {
      verify(req, res, (err?: unknown) => {
        if (err === undefined) resolve();
        else reject(err instanceof UnauthorizedError ? refusalOf(err, req, res) : err);
      })?.catch(reject);
    });
    return personOf((req as Request & { auth?: Record<string, unknown> }).auth ?? {}, tokens, clock.now());
  };

  return {
    person,

    /**
     * @param anyOf the scopes of which the key must have one
     * @throws DomainError UNAUTHORIZED, FORBIDDEN naming them, SERVICE_UNAVAILABLE
     */
    async tenantOfKey(headers: IncomingHttpHeaders, anyOf: readonly Scope[]): Promise<Tenant> {
      const apiKey = headers['x-api-key'];
      if (typeof apiKey !== 'string' || apiKey === '') throw unauthorized(missingKey(headers));
      const holder = apiKey.length > apiKeyMax ? null : await directory.holderOfApiKey(apiKey);
      if (holder === null) throw unauthorized(invalidKey(apiKey));
      for (const scope of anyOf) if (holder.scopes.includes(scope)) return holder.tenant;
      throw new DomainError('FORBIDDEN', lacksScope(anyOf));
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

type Claims = Readonly<Record<string, unknown>>;

const defaultLifetimeMaxMs = 24 * 3_600_000;
const clockToleranceSeconds = 30;
export const clockToleranceMs = clockToleranceSeconds * 1000;

/** As it was decoded, nothing of it checked. */
interface TokenHeader {
  readonly alg?: unknown;
  readonly kid?: unknown;
  readonly crit?: unknown;
}

/** Issuers name their keys with some 20 to 60 characters. */
const kidMax = 256;
const unknownKey = 'The token is signed with a key that its issuer does not have.';

const invalidToken = 'The bearer token is not valid.';
const sentences: Readonly<Record<string, string>> = {
  credentials_required: 'Send a bearer token in the header Authorization.',
  credentials_bad_scheme: 'The header Authorization should be: Bearer <token>.',
  credentials_bad_format: 'The header Authorization should be: Bearer <token>.',
};

function sentenceOf({ code }: UnauthorizedError, { headers }: Request): string {
  const missing = code === 'credentials_required' ? missingToken(headers) : null;
  return missing ?? sentences[code] ?? invalidToken;
}

function bearerToken(req: Request): string | undefined {
  const header = req.headers.authorization;
  if (header === undefined) return undefined;
  if (holdsApiKey(header)) throw unauthorized(keyAsToken);
  const match = /^Bearer +([^\s]+) *$/i.exec(header);
  if (match === null) throw unauthorized(sentences['credentials_bad_format'] ?? '');
  return match[1];
}

function unauthorized(message: string): DomainError {
  return new DomainError('UNAUTHORIZED', message);
}

/** @throws DomainError UNAUTHORIZED without a `sub` or an end that is near enough, FORBIDDEN without the tenant's claim */
function personOf(
  claims: Claims,
  { tenantClaim, nameClaim = 'name', lifetimeMaxMs = defaultLifetimeMaxMs }: TokenRules,
  now: number,
): Person {
  const actor = textClaim(claims, 'sub');
  if (actor === null) throw unauthorized('The token names nobody: it has no sub.');
  const subject = textClaim(claims, tenantClaim);
  if (subject === null)
    throw new DomainError('FORBIDDEN', `The token has no claim ${tenantClaim}, by which its tenant is found.`);
  return {
    actor,
    subject,
    email: textClaim(claims, 'email'),
    name: textClaim(claims, nameClaim),
    expiresAt: endOf(claims, lifetimeMaxMs, now) + clockToleranceMs,
  };
}

/** A token that was stolen opens until it ends: it must, and soon. UTC ms. */
function endOf({ exp, iat }: Claims, lifetimeMaxMs: number, now: number): number {
  if (typeof exp !== 'number') throw unauthorized('The token has no exp: ask its issuer for one that ends.');
  const begins = typeof iat === 'number' ? Math.min(iat * 1000, now) : now;
  const lasts = exp * 1000 - begins;
  if (lasts > lifetimeMaxMs + clockToleranceMs)
    throw unauthorized(`The token ends too late: its exp may be ${lifetimeMaxMs / 3_600_000} h after its iat.`);
  return exp * 1000;
}

/** NIST SP 800-131A: what is shorter can be factored by those who want it enough. */
const rsaBitsMin = 2048;

/** @throws DomainError UNAUTHORIZED for a key that signs nothing for certain */
function strong(key: KeyObject): KeyObject {
  const bits = key.asymmetricKeyType === 'rsa' ? key.asymmetricKeyDetails?.modulusLength : undefined;
  if (bits !== undefined && bits < rsaBitsMin)
    throw unauthorized(`The token is signed with an RSA key of ${bits} bits: it must have ${rsaBitsMin} or more.`);
  return key;
}

/** A name goes into mail headers, a sub into keys: no line breaks, no NUL. */
const printable = /^\P{Cc}+$/u;

function textClaim(claims: Readonly<Record<string, unknown>>, name: string): string | null {
  const value = claimOf(claims, name);
  return typeof value === 'string' && value.length <= textMax && printable.test(value) && value.isWellFormed()
    ? value
    : null;
}

/** By its whole name, which may hold dots itself; else by a dotted path, such as `user_metadata.full_name`. */
function claimOf(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[part];
  }
  return value;
}
