// The header Idempotency-Key, and the hash behind what follows from it.

import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

import { badField } from '../domain/errors.ts';
import type { Digest } from '../domain/idempotency.ts';

export const idempotencyKeyHeader = 'idempotency-key';
export const idempotentReplayedHeader = 'idempotent-replayed';

/** 1 to 255 printable ASCII characters. */
export const idempotencyKeyPattern = /^[\x20-\x7e]{1,255}$/;

export const digest: Digest = (text) => hash('sha256', text, 'buffer');

/** null: the request has none. @throws DomainError BAD_REQUEST */
export function idempotencyKeyOf({ headers }: Pick<IncomingMessage, 'headers'>): string | null {
  const key = headers[idempotencyKeyHeader];
  if (key === undefined) return null;
  if (typeof key !== 'string' || !idempotencyKeyPattern.test(key))
    throw badField('Idempotency-Key', 'must have 1 to 255 printable ASCII characters');
  return key;
}
