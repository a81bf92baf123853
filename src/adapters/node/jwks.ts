// Token keys of an identity provider: its JWKS, fetched when needed and read anew every few minutes, so that a key that it takes away is forgotten.
// However many tokens name keys that it doesn't have, and whatever state it is in, it is asked at most every so often.
//
//   age of the set   0 ........ 2.5 min ............. 5 min
//                    used       used, fetched beside   fetched first; 503 when that fails

import { KeyObject } from 'node:crypto';

import type { CryptoKey } from 'jose';
import { createLocalJWKSet, errors } from 'jose';

import type { Clock } from '../../ports/clock.ts';
import type { TokenKeys } from '../../ports/token-keys.ts';
import { UnknownTokenKeyError } from '../../ports/token-keys.ts';
import { createClock } from './clock.ts';

const fetchTimeoutMs = 5000;
/** A key that is gone from the JWKS is forgotten within this time. */
const usedForMs = 5 * 60_000;
/** An identity provider that is away for less than the rest is not noticed. */
const refreshedAfterMs = usedForMs / 2;
/** Between two fetches for keys that are not known: the first is made at once, which also forgets what is gone. */
const unknownEveryMs = 30_000;
/** After a fetch that failed; until then all who need one fail with it. */
const retryAfterMs = 2000;
/** Providers publish some KiB. */
const bytesMax = 1024 * 1024;

type KeySet = ReturnType<typeof createLocalJWKSet>;
type Header = Parameters<TokenKeys['keyFor']>[0];

interface Options {
  readonly url: string;
  readonly clock?: Pick<Clock, 'monotonic'>;
}

export function createRemoteTokenKeys({ url, clock = createClock() }: Options): TokenKeys {
  const load = createLoad(url, clock);
  const keyObjects = new WeakMap<CryptoKey, KeyObject>();
  /** `at`: when it was asked for. */
  let known: { readonly set: KeySet; readonly at: number } | null = null;
  let unknownAt = Number.NEGATIVE_INFINITY;

  const read = async (): Promise<KeySet> => {
    known = await load();
    return known.set;
  };
  const current = async (): Promise<KeySet> => {
    const age = known === null ? Number.POSITIVE_INFINITY : clock.monotonic() - known.at;
    if (known === null || age >= usedForMs) return read();
    const { set } = known;
    // The next who needs one tries again, and says why it fails.
    if (age >= refreshedAfterMs) void read().catch(() => undefined);
    return set;
  };
  const find = async (header: Header): Promise<CryptoKey> => {
    const set = await current();
    const key = await keyIn(set, header);
    if (key !== null) return key;
    const now = clock.monotonic();
    if (now - unknownAt < unknownEveryMs) throw new UnknownTokenKeyError();
    unknownAt = now;
    const anew = await keyIn(await read(), header);
    if (anew === null) throw new UnknownTokenKeyError();
    return anew;
  };

  return {
    async keyFor(header) {
      const key = await find(header);
      const made = keyObjects.get(key) ?? KeyObject.from(key);
      keyObjects.set(key, made);
      return made;
    },
  };
}

/** null: the set doesn't have it, or more than one that it might be. */
async function keyIn(set: KeySet, { kid, alg }: Header): Promise<CryptoKey | null> {
  try {
    return await set({ alg: alg ?? '', ...(kid === undefined ? {} : { kid }) });
  } catch (err) {
    if (isUnknownKey(err)) return null;
    throw err;
  }
}

/** One fetch at a time for all who need one; rests after a failure, an answer other than 200 included, and reads no more than there may be. */
function createLoad(url: string, clock: Pick<Clock, 'monotonic'>) {
  let failed: { readonly error: unknown; readonly at: number } | null = null;
  let loading: Promise<{ readonly set: KeySet; readonly at: number }> | null = null;

  const load = async () => {
    const at = clock.monotonic();
    if (failed !== null && at - failed.at < retryAfterMs) throw failed.error;
    try {
      const signal = AbortSignal.timeout(fetchTimeoutMs);
      const response = await fetch(url, { signal, redirect: 'manual', headers: { accept: 'application/json' } });
      const set = createLocalJWKSet(JSON.parse(await textOf(response)) as Parameters<typeof createLocalJWKSet>[0]);
      failed = null;
      return { set, at };
    } catch (error) {
      failed = { error, at: clock.monotonic() };
      throw error;
    }
  };
  return () =>
    (loading ??= load().finally(() => {
      loading = null;
    }));
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
