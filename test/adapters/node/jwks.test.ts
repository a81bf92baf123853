// The keys of an identity provider that rotates them: what it takes away is forgotten, and it isn't asked more often than it need be.

import { generateKeyPairSync } from 'node:crypto';

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { createRemoteTokenKeys } from '../../../src/adapters/node/jwks.ts';
import type { TokenKeys } from '../../../src/ports/token-keys.ts';
import { UnknownTokenKeyError } from '../../../src/ports/token-keys.ts';
import type { HttpSink } from '../../support/http-sink.ts';
import { startHttpSink } from '../../support/http-sink.ts';
import { until } from '../../support/until.ts';
import type { ManualClock } from '../memory/manual-clock.ts';
import { createManualClock } from '../memory/manual-clock.ts';

const minute = 60_000;
const jwk = (kid: string) => ({
  ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }),
  kid,
  alg: 'ES256',
});
const [first, second] = [jwk('first'), jwk('second')];

let provider: HttpSink;
let published: readonly object[];
let isAway: boolean;
let clock: ManualClock;
let keys: TokenKeys;

beforeEach(async () => {
  published = [first];
  isAway = false;
  provider = await startHttpSink({
    respond: (_, response) => response.writeHead(isAway ? 503 : 200).end(JSON.stringify({ keys: published })),
  });
  clock = createManualClock();
  keys = createRemoteTokenKeys({ url: provider.url, clock });
});
afterEach(() => provider.close());

const has = async (kid: string): Promise<boolean> => {
  try {
    await keys.keyFor({ kid, alg: 'ES256' });
    return true;
  } catch (err) {
    if (err instanceof UnknownTokenKeyError) return false;
    throw err;
  }
};

it('a key that is gone from the set is forgotten within 5 minutes', async () => {
  expect(await has('first')).toBe(true);
  published = [second];
  clock.advance(minute);
  expect(await has('first')).toBe(true);
  expect(provider.requests).toHaveLength(1);
  clock.advance(4 * minute);
  expect(await has('first')).toBe(false);
  expect(await has('second')).toBe(true);
});

it('a token that names a new key brings it at once, and has the one that is gone forgotten', async () => {
  expect(await has('first')).toBe(true);
  published = [second];
  expect(await has('second')).toBe(true);
  expect(await has('first')).toBe(false);
});

it('keys that nobody has are asked for once in 30 s, however many tokens name them', async () => {
  await Promise.all(Array.from({ length: 100 }, (_, i) => has(`unknown-${i}`)));
  for (let i = 0; i < 20; i++) expect(await has(`later-${i}`)).toBe(false);
  expect(provider.requests).toHaveLength(2);
  clock.advance(30_000);
  for (let i = 0; i < 20; i++) expect(await has(`still-later-${i}`)).toBe(false);
  expect(provider.requests).toHaveLength(3);
});

it('a set is read anew while it is used, so that a provider that is away for two minutes is not noticed', async () => {
  expect(await has('first')).toBe(true);
  clock.advance(2.5 * minute);
  isAway = true;
  expect(await has('first')).toBe(true);
  await until(() => provider.requests.length === 2, { what: 'a fetch beside the answer' });
  clock.advance(2 * minute);
  isAway = false;
  // The first fetch may fail only now, and it rests for 2 s after that.
  const askedAgain = async () => {
    expect(await has('first')).toBe(true);
    if (provider.requests.length === 3) return true;
    clock.advance(2000);
    return false;
  };
  await until(askedAgain, { what: 'another fetch', everyMs: 50 });
  clock.advance(2 * minute);
  expect(await has('first')).toBe(true);
});

it('no key holds for longer than 5 minutes while the provider is away', async () => {
  expect(await has('first')).toBe(true);
  isAway = true;
  clock.advance(5 * minute);
  await expect(has('first')).rejects.toThrow('503');
  isAway = false;
  // It rests for 2 s after a failure.
  await expect(has('first')).rejects.toThrow('503');
  clock.advance(2000);
  expect(await has('first')).toBe(true);
});
