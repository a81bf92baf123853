// Addresses for the reports of providers: the token in them names the tenant and is signed, for the provider, under the service's secret.

import { createHmac, timingSafeEqual } from 'node:crypto';

import type { TenantId } from '../../domain/ids.ts';
import type { CallbackAddresses } from '../../ports/callback-addresses.ts';

export interface CallbackAddressesOptions {
  /** The first one signs; those of before still hold. */
  readonly secrets: readonly string[];
  /** Without a slash at its end; null: no address can be told. */
  readonly publicUrl: string | null;
}

/** 128 bits can't be guessed. */
const signatureBytes = 16;
/** Tenants' ids have 30 characters. */
const tokenMax = 256;

export function createCallbackAddresses({ secrets, publicUrl }: CallbackAddressesOptions): CallbackAddresses {
  const signatureOf = (secret: string, provider: string, tenantId: string): Buffer =>
    createHmac('sha256', secret).update(`callback\n${provider}\n${tenantId}`).digest().subarray(0, signatureBytes);
  const urlOfToken = (provider: string, token: string): string | null =>
    publicUrl === null ? null : `${publicUrl}/api/v1/callbacks/${provider}/${token}`;

  return {
    urlOf(tenantId, provider) {
      const [secret = ''] = secrets;
      const signature = signatureOf(secret, provider, tenantId).toString('base64url');
      return urlOfToken(provider, `${Buffer.from(tenantId).toString('base64url')}.${signature}`);
    },
    tenantOf(provider, token) {
      const [encoded = '', signature = '', ...rest] = token.length > tokenMax ? [] : token.split('.');
      const tenantId = Buffer.from(encoded, 'base64url').toString();
      const given = Buffer.from(signature, 'base64url');
      if (rest.length > 0 || given.length !== signatureBytes) return null;
      const isOurs = secrets.some((secret) => timingSafeEqual(given, signatureOf(secret, provider, tenantId)));
      return isOurs ? (tenantId as TenantId) : null;
    },
    urlOfToken,
  };
}
