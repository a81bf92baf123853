// What to do instead, for whoever sends the right secret in the wrong place, or a key that may not do what is asked.

import type { IncomingHttpHeaders } from 'node:http';

import { apiKeyPrefix } from '../domain/tenant.ts';
import type { Scope } from '../domain/tenant.ts';

type Credentials = Pick<IncomingHttpHeaders, 'authorization'> & {
  readonly 'x-api-key'?: string | string[] | undefined;
};

/** Said when no API key came where one is wanted. */
export function missingKey({ authorization }: Credentials): string {
  if (authorization === undefined) return 'Send the API key of the tenant in the header x-api-key.';
  if (holdsApiKey(authorization)) return 'Send the API key in the header x-api-key, not as a bearer token.';
  return 'This address takes an API key in the header x-api-key, no bearer token: GET /api/v1/tenant shows the key to its owner’s token.';
}

/** Said of an API key that isn't one. */
export function invalidKey(apiKey: string): string {
  if (apiKey.startsWith(tokenBegin))
    return `The API key is not valid: it is a bearer token, which goes into the header Authorization: Bearer <token> where an address takes one. A key begins with ${apiKeyPrefix}; GET /api/v1/tenant shows it.`;
  if (apiKey.includes(bulletInHeader))
    return 'The API key is not valid: it is masked. GET /api/v1/tenant shows it whole.';
  return 'The API key is not valid.';
}

/** Said when no bearer token came where one is wanted; null: nothing came at all. */
export function missingToken(headers: Credentials): string | null {
  if (headers.authorization === undefined && headers['x-api-key'] !== undefined)
    return 'This address takes a bearer token in the header Authorization, no API key.';
  return null;
}

/** An API key in the place of a bearer token. */
export const keyAsToken =
  'What came as a bearer token is an API key: it goes into the header x-api-key, to the addresses that take one; the others take the token of a person.';

/** Whether a header Authorization, or a token, holds an API key: as a bearer token, by itself, or as Basic has it (`curl -u`). */
export function holdsApiKey(text: string): boolean {
  return apiKeyPattern.test(text);
}

export function lacksScope(anyOf: readonly Scope[]): string {
  const [scope] = anyOf;
  return `The API key lacks the scope that this call takes: ${anyOf.join(' or ')}. POST /api/v1/keys with a bearer token and {"name":"reports","scopes":["${scope}"]} makes a key that has it.`;
}

const apiKeyPattern = new RegExp(`^(?:bearer +)?${apiKeyPrefix}|^basic +${btoa(apiKeyPrefix)}`, 'i');
/** Of a JWT: {" in base64. */
const tokenBegin = 'eyJ';
/** A bullet in UTF-8, as Node reads headers: byte by byte. */
const bulletInHeader = '\u00e2\u0080\u00a2';
