// Token keys of an identity provider: its JWKS, fetched when needed and cached.

import { KeyObject } from 'node:crypto';

import type { CryptoKey } from 'jose';
import { createRemoteJWKSet, errors } from 'jose';

import type { TokenKeys } from '../../ports/token-keys.ts';
import { UnknownTokenKeyError } from '../../ports/token-keys.ts';

const fetchTimeoutMs = 5000;
/** Between two fetches for keys that are not known. */
const refetchAfterMs = 30_000;
const cachedMs = 15 * 60 * 1000;

export function createRemoteTokenKeys({ url }: { readonly url: string }): TokenKeys {
  const keys = createRemoteJWKSet(new URL(url), {
    timeoutDuration: fetchTimeoutMs,
    cooldownDuration: refetchAfterMs,
    cacheMaxAge: cachedMs,
  });
  const keyObjects = new WeakMap<CryptoKey, KeyObject>();
  return {
    async keyFor({ kid, alg }) {
      const key = await keys({ alg: alg ?? '', ...(kid === undefined ? {} : { kid }) }).catch((err: unknown) => {
        throw isUnknownKey(err) ? new UnknownTokenKeyError() : err;
      });
      const known = keyObjects.get(key);
      if (known !== undefined) return known;
      const made = KeyObject.from(key);
      keyObjects.set(key, made);
      return made;
    },
  };
}

function isUnknownKey(err: unknown): boolean {
  return (
    err instanceof errors.JWKSNoMatchingKey ||
    err instanceof errors.JWKSMultipleMatchingKeys ||
    err instanceof errors.JOSENotSupported
  );
}
