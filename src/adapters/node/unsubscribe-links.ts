// Addresses to unsubscribe by: PUBLIC_URL/api/v1/unsubscribe/<base64url of nonce (12) | ciphertext | tag (16)>.
//
// AES-256-GCM under a key that is derived from ENCRYPTION_SECRET for this alone: who is meant is sealed, so that no log of a proxy has an address of a
// recipient's, and no store is asked. The nonce is a hash of what is sealed (HMAC-SHA-256 under a second key), so that a mail that is tried again is the same
// bytes: providers that recognise a repeat by its key refuse another content.

import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';

import type { NotificationId, TenantId } from '../../domain/ids.ts';
import type { UnsubscribeLinks, Unsubscriber } from '../../ports/unsubscribe-links.ts';

interface Keys {
  readonly seal: Buffer;
  readonly nonce: Buffer;
}

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const authTagLength = 16;
/** Of 12 + 16 bytes, and of some 70 of ids and 254 of an address, each up to 6 as JSON writes it: 2,200 as base64. */
const tokenLengthMax = 3000;

/** @param publicUrl without a slash at its end @param previousSecrets read what was made under them */
export function createUnsubscribeLinks(
  publicUrl: string | null,
  secret: string,
  previousSecrets: readonly string[] = [],
): UnsubscribeLinks {
  const current = keysOf(secret);
  const all = [current, ...previousSecrets.map(keysOf)];
  return {
    urlOf: (of) => (publicUrl === null ? null : `${publicUrl}/api/v1/unsubscribe/${sealed(of, current)}`),
    read(token) {
      if (token.length > tokenLengthMax || !/^[\w-]+$/.test(token)) return null;
      const bytes = Buffer.from(token, 'base64url');
      // Two spellings of one token would be two tokens to whoever looks for one.
      if (bytes.length < nonceBytes + authTagLength || bytes.toString('base64url') !== token) return null;
      for (const keys of all) {
        const text = opened(bytes, keys);
        if (text !== null) return unsubscriberIn(text);
      }
      return null;
    },
  };
}

function keysOf(secret: string): Keys {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', secret, 'herald', purpose, 32));
  return { seal: derive('herald unsubscribe v1: key'), nonce: derive('herald unsubscribe v1: nonce') };
}

function sealed({ tenantId, notificationId, recipient }: Unsubscriber, keys: Keys): string {
  const plain = Buffer.from(JSON.stringify([tenantId, notificationId, recipient]));
  const nonce = createHmac('sha256', keys.nonce).update(plain).digest().subarray(0, nonceBytes);
  const cipher = createCipheriv(algorithm, keys.seal, nonce, { authTagLength });
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString('base64url');
}

function opened(bytes: Buffer, { seal }: Keys): string | null {
  const decipher = createDecipheriv(algorithm, seal, bytes.subarray(0, nonceBytes), { authTagLength });
  decipher.setAuthTag(bytes.subarray(-authTagLength));
  try {
    const plain = decipher.update(bytes.subarray(nonceBytes, -authTagLength));
    return Buffer.concat([plain, decipher.final()]).toString('utf8');
  } catch {
    return null;
  }
}

/** Its seal says that we wrote it. */
function unsubscriberIn(text: string): Unsubscriber {
  const [tenantId, notificationId, recipient] = JSON.parse(text) as [TenantId, NotificationId, string];
  return { tenantId, notificationId, recipient };
}
