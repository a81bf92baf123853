// Refusals: what a caller did wrong or must wait for. Everything else that is thrown is a bug.

import type { TenantId } from './ids.ts';

export type ErrorCode =
  | 'BAD_REQUEST'
  | 'UNAUTHORIZED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'CONFLICT'
  | 'READ_ONLY'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'NO_PROVIDER_CONFIGURED'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'TOO_MANY_REQUESTS'
  | 'INTERNAL_SERVER_ERROR'
  | 'SERVICE_UNAVAILABLE';

/** One thing that is wrong with a request: a dotted path (`config.fromEmail`) and what would be right. */
export interface ErrorDetail {
  readonly path: string;
  readonly message: string;
}

export class DomainError extends Error {
  readonly code: ErrorCode;
  readonly details: readonly ErrorDetail[];
  /** Whole seconds after which another try makes sense. */
  readonly retryAfterSeconds: number | null;

  constructor(
    code: ErrorCode,
    message: string,
    more: { details?: readonly ErrorDetail[]; retryAfterSeconds?: number } = {},
  ) {
    super(message);
    this.name = 'DomainError';
    this.code = code;
    this.details = more.details ?? [];
    this.retryAfterSeconds = more.retryAfterSeconds ?? null;
  }
}

/** 400 for one field. */
export function badField(path: string, message: string): DomainError {
  return new DomainError('BAD_REQUEST', `${path}: ${message}`, { details: [{ path, message }] });
}

export function notFound(what: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no such ${what}.`);
}

/** 403: it was erased while what it asked for was on its way. */
export function tenantIsGone(tenantId: TenantId): DomainError {
  return new DomainError('FORBIDDEN', `There is no tenant ${tenantId} any more.`);
}

/** 503: nothing was done, the same request may be sent again. */
export function unavailable(message: string, retryAfterSeconds = 1): DomainError {
  return new DomainError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds });
}
