// Secrets at rest: AES-256-GCM with a key derived from ENCRYPTION_SECRET, the context as associated data.
//
//   v1.<key id>.<base64url of nonce (12) | ciphertext | tag (16)>
//
// The key id follows from the secret by another derivation, so it tells nothing of the key and says which secret
// sealed a text.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

import { type SecretBox, SecretBoxError } from '../../ports/secret-box.ts';

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const authTagLength = 16;
const version = 'v1';
const salt = 'herald';

/** @param previousSecrets open what they have sealed; nothing is sealed under them */
export function createSecretBox(encryptionSecret: string, previousSecrets: readonly string[] = []): SecretBox {
  const current = keyOf(encryptionSecret);
  const keys = new Map([...previousSecrets.map(keyOf), current].map((key) => [key.id, key.bytes]));
  return {
    seal(plain, context) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, current.bytes, nonce, { authTagLength }).setAAD(Buffer.from(context));
      const sealed = Buffer.concat([nonce, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${version}.${current.id}.${sealed.toString('base64url')}`;
    },
    open(sealed, context) {
      const { keyId, body } = envelopeOf(sealed);
      const key = keys.get(keyId);
      if (key === undefined) throw new SecretBoxError('a secret was sealed under another ENCRYPTION_SECRET');
      const bytes = Buffer.from(body, 'base64url');
      if (bytes.length < nonceBytes + authTagLength) throw new SecretBoxError('a sealed secret is cut short');
      const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), { authTagLength });
      decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(-authTagLength));
      try {
        const plain = decipher.update(bytes.subarray(nonceBytes, -authTagLength));
        return Buffer.concat([plain, decipher.final()]).toString('utf8');
      } catch {
        throw new SecretBoxError('a sealed secret was changed, or was sealed for something else');
      }
    },
    isCurrent: (sealed) => sealed.startsWith(`${version}.${current.id}.`),
  };
}

function envelopeOf(sealed: string): { readonly keyId: string; readonly body: string } {
  const [sealedVersion, keyId = '', body, ...rest] = sealed.split('.');
  if (sealedVersion !== version || body === undefined || rest.length > 0) {
    throw new SecretBoxError('a sealed secret has a form that this version does not know');
  }
  return { keyId, body };
}

function keyOf(secret: string): { readonly id: string; readonly bytes: Buffer } {
  return {
    id: derive(secret, 'herald secret box v1: key id', 4).toString('hex'),
    bytes: derive(secret, 'herald secret box v1: key', 32),
  };
}

function derive(secret: string, purpose: string, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, purpose, length));
}
