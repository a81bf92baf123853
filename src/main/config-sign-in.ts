// The settings of signing in: whose bearer tokens are taken, and how people get one for the dashboard.

import { z } from 'zod';

import type { Variable } from './config-engines.ts';
import { duration, tokenAlgorithms } from './config-values.ts';

/** As in config.ts. */
export const signInVariables = {
  AUTH_JWKS_URL: {
    schema: z.url({ protocol: /^https?$/, error: 'should be an http(s) URL' }),
    fallback: null,
    about: "the identity provider's keys; without it, and outside production, Herald issues tokens itself",
  },
  AUTH_ISSUER: { schema: z.string().min(1), fallback: null, about: 'the `iss` of bearer tokens' },
  AUTH_AUDIENCE: { schema: z.string().min(1), fallback: null, about: 'the `aud` of bearer tokens' },
  AUTH_TENANT_CLAIM: {
    schema: z.string().min(1),
    fallback: 'sub',
    about: 'the claim of a bearer token that names its tenant; dots lead into claims of claims',
  },
  AUTH_NAME_CLAIM: {
    schema: z.string().min(1),
    fallback: 'name',
    about: 'the claim with the name of a person, in the same way: user_metadata.full_name',
  },
  AUTH_ALGORITHMS: {
    schema: tokenAlgorithms,
    fallback: 'RS256,ES256',
    about: 'what bearer tokens may be signed with, of these two',
  },
  AUTH_TOKEN_LIFETIME: {
    schema: duration,
    fallback: '24h',
    about: 'how long after its `iat` a bearer token may end; one without `exp` is refused',
  },
  DASHBOARD_CLIENT_ID: {
    schema: z.string().min(1),
    fallback: null,
    about:
      'the dashboard as a public client of AUTH_ISSUER: people sign in there, by a code with PKCE; without it they paste a token',
  },
  DASHBOARD_SCOPE: {
    schema: z.string().min(1),
    fallback: 'openid profile email',
    about: 'what the dashboard asks AUTH_ISSUER for',
  },
} as const satisfies Record<string, Variable>;

/** A browser goes to the issuer's address to sign in: one that is a mere name leads nowhere. */
export function noIssuer({
  DASHBOARD_CLIENT_ID: client,
  AUTH_ISSUER: issuer,
}: Readonly<Record<string, unknown>>): string[] {
  if (client === null || (typeof issuer === 'string' && /^https?:\/\/[^/\s]/.test(issuer))) return [];
  return ['DASHBOARD_CLIENT_ID: needs AUTH_ISSUER to be the http(s) address where people sign in'];
}
