// Signs as Standard Webhooks 1.0 says: HMAC-SHA256 over `id.timestamp.body`, `v1,` before its base64, several signatures with spaces between them.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md

import type { KeyObject } from 'node:crypto';
import { createHmac, createSecretKey } from 'node:crypto';

const prefix = 'whsec_';
const keysMax = 1_000;

export interface WebhookSigner {
  /** @param secrets the current one first; every one signs */
  sign(
    secrets: readonly string[],
    message: { readonly id: string; readonly timestamp: string; readonly body: Uint8Array },
  ): string;
}

/** Keeps the keys of the last secrets: making one takes 15 us, signing with it 3. */
export function createWebhookSigner(): WebhookSigner {
  const keys = new Map<string, KeyObject>();

  function keyOf(secret: string): KeyObject {
    const known = keys.get(secret);
    if (known !== undefined) return known;
    const [oldest] = keys.keys();
    if (keys.size >= keysMax && oldest !== undefined) keys.delete(oldest);
    const key = createSecretKey(secretBytes(secret));
    keys.set(secret, key);
    return key;
  }

  return {
    sign(secrets, { id, timestamp, body }) {
      let signatures = '';
      for (const secret of secrets) {
        const hmac = createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.`).update(body);
        signatures += `${signatures === '' ? '' : ' '}v1,${hmac.digest('base64')}`;
      }
      return signatures;
    },
  };
}

/** What is wrong with a signing secret, to follow the field's name; null when nothing is. */
export function problemWithSecret(secret: string): string | null {
  if (secret.startsWith(prefix)) {
    const encoded = secret.slice(prefix.length);
    const bytes = Buffer.from(encoded, 'base64');
    const exact = bytes.toString('base64').replace(/=+$/, '') === encoded.replace(/=+$/, '');
    if (exact && bytes.length >= 24 && bytes.length <= 64) return null;
    return 'must have base64 of 24 to 64 bytes after whsec_';
  }
  const { length } = secret;
  return length >= 16 && length <= 200 ? null : 'must be whsec_ and base64 of 24 to 64 bytes, or 16 to 200 characters';
}

function secretBytes(secret: string): Buffer {
  return secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), 'base64') : Buffer.from(secret, 'utf8');
}
