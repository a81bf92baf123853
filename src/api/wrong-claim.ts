// What is wrong with a bearer token that its issuer may well have signed, by the words of the library that verified it.

import type { ErrorDetail } from '../domain/errors.ts';
import type { TokenRules } from './authenticate.ts';

/** Paths are the claims' names, and `signature`; null: it isn't a token at all. `reason` is jsonwebtoken's. */
export function wrongClaim(reason: string, { issuer, audience }: TokenRules): ErrorDetail | null {
  if (reason.startsWith('jwt audience invalid'))
    return { path: 'aud', message: `must be ${audience}, as AUTH_AUDIENCE says` };
  if (reason.startsWith('jwt issuer invalid'))
    return { path: 'iss', message: `must be ${issuer}, as AUTH_ISSUER says` };
  if (reason === 'jwt expired') return { path: 'exp', message: 'has passed: ask the issuer for a new token' };
  if (reason === 'jwt not active') return { path: 'nbf', message: 'is still to come' };
  if (reason === 'invalid signature')
    return { path: 'signature', message: 'does not fit the key that the header names' };
  return null;
}
