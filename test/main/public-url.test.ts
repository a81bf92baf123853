// PUBLIC_URL: what it may be, and where the service is reached when nobody has said it.

import { describe, expect, it } from '@jest/globals';

import { ConfigError, readConfig } from '../../src/main/config.ts';
import { publicUrlOf } from '../../src/main/public-url.ts';

const production = {
  NODE_ENV: 'production',
  ENCRYPTION_SECRET: 'x'.repeat(32),
  AUTH_JWKS_URL: 'https://id.example.com/jwks.json',
  AUTH_ISSUER: 'i',
  AUTH_AUDIENCE: 'a',
};
const urlOf = (environment: Readonly<Record<string, string>>) => publicUrlOf(readConfig(environment));

describe('where the world reaches the service', () => {
  it('is as it was said, without slashes at its end', () => {
    for (const url of ['https://herald.example.com', 'https://[::1]:3000', 'https://example.com/a/herald'])
      for (const end of ['', '/', '//']) expect(urlOf({ ...production, PUBLIC_URL: url + end })).toBe(url);
    expect(urlOf({ PUBLIC_URL: 'http://localhost:8080' })).toBe('http://localhost:8080');
  });

  it('is where it listens outside production, when that is known; in production nobody knows', () => {
    expect(urlOf({})).toBe('http://127.0.0.1:3000');
    expect(urlOf({ HOST: '0.0.0.0', PORT: '8080' })).toBe('http://localhost:8080');
    expect(urlOf({ HOST: '::1' })).toBe('http://[::1]:3000');
    expect(urlOf({ PORT: '0' })).toBeNull();
    expect(urlOf(production)).toBeNull();
  });

  it.each([
    'herald.example.com',
    'ftp://example.com',
    'https://',
    'https://user:word@example.com',
    'https://example.com/?a=1',
    'https://example.com/#top',
    'https://example.com/ x',
    'https://exa mple.com',
    `https://${'x'.repeat(300)}`,
  ])('is not %s: the sentence names the variable', (url) => {
    expect(() => urlOf({ PUBLIC_URL: url })).toThrow(ConfigError);
    expect(() => urlOf({ PUBLIC_URL: url })).toThrow(/^PUBLIC_URL: should /);
  });

  it('begins with https:// in production', () => {
    expect(() => urlOf({ ...production, PUBLIC_URL: 'http://example.com' })).toThrow(/^PUBLIC_URL: .*https:\/\//);
  });
});
