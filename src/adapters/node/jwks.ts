// Token keys of an identity provider: its JWKS, fetched when needed and cached. However many tokens name keys that it
// doesn't have, and whatever state it is in, it is asked at most every so often.

import { KeyObject } from 'node:crypto';

import type { CryptoKey } from 'jose';
import { createRemoteJWKSet, customFetch, errors } from 'jose';

import type { TokenKeys } from '../../ports/token-keys.ts';
import { UnknownTokenKeyError } from '../../ports/token-keys.ts';

const fetchTimeoutMs = 5000;
/** Between two fetches for keys that are not known. */
const refetchAfterMs = 30_000;
/** After a fetch that failed; until then all who need one fail with it. */
const retryAfterMs = 2000;
const cachedMs = 15 * 60 * 1000;
/** Providers publish some KiB. */
const bytesMax = 1024 * 1024;

export function createRemoteTokenKeys({ url }: { readonly url: string }): TokenKeys {
  const keys = createRemoteJWKSet(new URL(url), {
    timeoutDuration: fetchTimeoutMs,
    cooldownDuration: refetchAfterMs,
    cacheMaxAge: cachedMs,
    [customFetch]: restingFetch(),
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

/** Rests after a failure, an answer other than 200 included, and reads no more than there may be. */
function restingFetch(): (url: string, init: RequestInit) => Promise<Response> {
  let failed: { readonly error: unknown; readonly at: number } | null = null;
  return async (url, init) => {
    if (failed !== null && performance.now() - failed.at < retryAfterMs) throw failed.error;
    try {
      const text = await textOf(await fetch(url, init));
      failed = null;
      return new Response(text);
    } catch (error) {
      failed = { error, at: performance.now() };
      throw error;
    }
  };
}

async function textOf(response: Response): Promise<string> {
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`the identity provider answered ${response.status} to the fetch of its keys`);
  }
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.length;
    if (bytes > bytesMax) throw new Error("the identity provider's keys are over 1 MiB");
    parts.push(part);
  }
  const text = Buffer.concat(parts).toString('utf8');
  if (!isKeySet(text)) throw new Error('the identity provider answered with what is no set of keys');
  return text;
}

function isKeySet(text: string): boolean {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null && 'keys' in parsed && Array.isArray(parsed.keys);
  } catch {
    return false;
  }
}

function isUnknownKey(err: unknown): boolean {
  return (
    err instanceof errors.JWKSNoMatchingKey ||
    err instanceof errors.JWKSMultipleMatchingKeys ||
    err instanceof errors.JOSENotSupported
  );
}
