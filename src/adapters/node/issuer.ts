// The embedded issuer of bearer tokens: an ES256 key pair in the data folder, for a service that has no identity provider.

import type { KeyObject } from 'node:crypto';
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';

import type { JWK } from 'jose';
import { calculateJwkThumbprint, SignJWT } from 'jose';

import type { TokenKeys } from '../../ports/token-keys.ts';
import { UnknownTokenKeyError } from '../../ports/token-keys.ts';
import { DamagedFileError } from '../../ports/unfit-file.ts';

export interface TokenOfPerson {
  readonly sub: string;
  readonly email?: string;
  readonly name?: string;
  readonly hours: number;
}

export interface EmbeddedIssuer {
  token(person: TokenOfPerson): Promise<string>;
  readonly tokenKeys: TokenKeys;
  /** The public keys, as /.well-known/jwks.json serves them. */
  jwks(): { readonly keys: readonly JWK[] };
}

/** Reads the key pair, or makes it (mode 0600) when there is none. Rejects with DamagedFileError. */
export async function createEmbeddedIssuer(options: {
  readonly keyPath: string;
  readonly issuer: string;
  readonly audience: string;
}): Promise<EmbeddedIssuer> {
  const privateKey = readOrCreateKey(options.keyPath);
  const publicKey = createPublicKey(privateKey);
  const publicJwk = publicKey.export({ format: 'jwk' }) as JWK;
  const kid = await calculateJwkThumbprint(publicJwk);
  const jwk: JWK = { ...publicJwk, kid, alg, use: 'sig' };
  return {
    token({ sub, email, name, hours }) {
      const claims = { ...(email === undefined ? {} : { email }), ...(name === undefined ? {} : { name }) };
      return new SignJWT(claims)
        .setProtectedHeader({ alg, kid, typ: 'JWT' })
        .setSubject(sub)
        .setIssuer(options.issuer)
        .setAudience(options.audience)
        .setIssuedAt()
        .setExpirationTime(`${hours * 3600} seconds`)
        .sign(privateKey);
    },
    tokenKeys: {
      async keyFor(header) {
        if (header.kid !== kid || header.alg !== alg) throw new UnknownTokenKeyError();
        return publicKey;
      },
    },
    jwks: () => ({ keys: [jwk] }),
  };
}

const alg = 'ES256';

function readOrCreateKey(path: string): KeyObject {
  try {
    return keyIn(path);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ENOENT') throw err;
  }
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
  try {
    writeFileSync(path, pem, { mode: 0o600, flag: 'wx' });
    return privateKey;
  } catch (err) {
    // Another process was faster: its key counts.
    if ((err as NodeJS.ErrnoException).code !== 'EEXIST') throw err;
    return keyIn(path);
  }
}

/** @throws DamagedFileError */
function keyIn(path: string): KeyObject {
  const pem = readFileSync(path);
  try {
    return createPrivateKey(pem);
  } catch {
    throw new DamagedFileError('it holds no private key');
  }
}
