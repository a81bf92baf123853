// Whose bearer tokens are taken: the identity provider's of the settings or, outside production, the embedded issuer's.

import { createEmbeddedIssuer } from '../adapters/node/issuer.ts';
import { createRemoteTokenKeys } from '../adapters/node/jwks.ts';
import type { SignIn } from '../api/web.ts';
import type { TokenKeys } from '../ports/token-keys.ts';
import type { Config } from './config.ts';
import { openOrExplain } from './data-file.ts';
import { dataFiles } from './data-files.ts';

const embedded = { issuer: 'herald', audience: 'herald' };

/** The owner of the demo tenant, and of a token that is made without `--sub`. */
export const demoOwner = { sub: 'demo', email: 'demo@example.com', name: 'Demo' };

export interface TokenIssuer {
  readonly tokenKeys: TokenKeys;
  readonly issuer: string;
  readonly audience: string;
  /** The embedded issuer's public keys. */
  readonly jwks?: () => unknown;
}

export async function tokenIssuerOf(config: Config): Promise<TokenIssuer> {
  const { AUTH_JWKS_URL: url, AUTH_ISSUER: issuer, AUTH_AUDIENCE: audience } = config;
  if (url !== null && issuer !== null && audience !== null)
    return { tokenKeys: createRemoteTokenKeys({ url }), issuer, audience };
  const { tokenKeys, jwks } = await embeddedIssuerOf(config);
  return { tokenKeys, ...embedded, jwks };
}

/** To the dashboard: by the identity provider where the dashboard is a client of it. */
export function signInOf(config: Config): SignIn {
  const { AUTH_ISSUER: issuer, AUTH_AUDIENCE: audience, DASHBOARD_CLIENT_ID: clientId } = config;
  if (issuer === null || audience === null || clientId === null)
    return { kind: 'token', keepsToken: !config.isProduction };
  return { kind: 'issuer', issuer, audience, clientId, scope: config.DASHBOARD_SCOPE };
}

/** Signs the demo tenant's owner in, in whichever browser opens it, until its token ends. */
export async function dashboardLink(url: string, config: Config): Promise<string> {
  const hours = Math.min(dashboardHours, config.AUTH_TOKEN_LIFETIME / 3_600_000);
  const token = await (await embeddedIssuerOf(config)).token({ ...demoOwner, hours });
  // In the fragment, which no browser sends and no log has.
  return `${url}/dashboard#token=${token}`;
}

const dashboardHours = 12;

export function embeddedIssuerOf(config: Config) {
  const keyPath = dataFiles(config.DATA_DIR).issuerKey;
  return openOrExplain(keyPath, 'issuerKey', () => createEmbeddedIssuer({ keyPath, ...embedded }));
}
