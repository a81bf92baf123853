// NODE_ENV decides whether anything is made up, so it is never guessed.

import { expect, it } from '@jest/globals';

import { readConfig } from '../../src/main/config.ts';

const production = {
  ENCRYPTION_SECRET: 'a-secret-of-production-with-32-and-more',
  AUTH_JWKS_URL: 'https://identity.example/.well-known/jwks.json',
  AUTH_ISSUER: 'https://identity.example/',
  AUTH_AUDIENCE: 'herald',
};

it('is production also with spaces about it, and development where it is empty or says so, or test', () => {
  for (const text of ['production', ' production', 'production \n'])
    expect(readConfig({ ...production, NODE_ENV: text })).toMatchObject({ isProduction: true, OUTBOUND_ALLOW: [] });
  for (const text of [undefined, '', ' ', 'development', 'test'])
    expect(readConfig({ NODE_ENV: text }).isProduction).toBe(false);
});

it('that says anything else stops the start, and is named alone', () => {
  for (const text of ['Production', 'PRODUCTION', 'prod', 'staging', 'production,', '"production"'])
    expect(() => readConfig({ ...production, NODE_ENV: text })).toThrow(
      /^NODE_ENV: should be production, development or test$/,
    );
});
