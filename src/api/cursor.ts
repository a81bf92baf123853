// Cursors: the key of the last row seen, signed, and bound to the tenant and the list that it was made for.

import { createHmac, timingSafeEqual } from 'node:crypto';

import { badField } from '../domain/errors.ts';
import type { TenantId } from '../domain/ids.ts';
import type { FieldValue } from '../ports/read-model-store.ts';

export interface CursorScope {
  readonly tenantId: TenantId;
  /** The list, e.g. `notifications` or `inbox:<recipient>`. */
  readonly list: string;
}

export type Cursors = ReturnType<typeof createCursors>;

export function createCursors(secret: string | Uint8Array) {
  const signatureOf = (payload: string, { tenantId, list }: CursorScope): Buffer =>
    createHmac('sha256', secret)
      .update(`cursor\n${tenantId}\n${list}\n${payload}`)
      .digest()
      .subarray(0, signatureBytes);

  return {
    encode(key: readonly FieldValue[] | null, scope: CursorScope): string | null {
      if (key === null) return null;
      const payload = Buffer.from(JSON.stringify(key)).toString('base64url');
      return `${payload}.${signatureOf(payload, scope).toString('base64url')}`;
    },

    /** @throws DomainError BAD_REQUEST for whatever `encode` did not make for this scope */
    decode(cursor: string, scope: CursorScope): readonly FieldValue[] {
      const [payload = '', signature = '', ...rest] = cursor.length > cursorMax ? [] : cursor.split('.');
      const given = Buffer.from(signature, 'base64url');
      const isOurs =
        rest.length === 0 && given.length === signatureBytes && timingSafeEqual(given, signatureOf(payload, scope));
      if (!isOurs) throw badField('cursor', 'must be a nextCursor of this list');
      return JSON.parse(Buffer.from(payload, 'base64url').toString()) as FieldValue[];
    },
  };
}

const signatureBytes = 16;
const cursorMax = 2048;
