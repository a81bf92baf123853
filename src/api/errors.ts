// What a refusal looks like: the one map from code to status, and the one shape of every error.

import type { ServerResponse } from 'node:http';

import type { ErrorCode, ErrorDetail } from '../domain/errors.ts';
import { badField, DomainError, unavailable } from '../domain/errors.ts';
import type { Logger } from '../ports/logger.ts';
import { NoFittingIndexError } from '../ports/read-model-store.ts';
import { SecretBoxError } from '../ports/secret-box.ts';
import { fieldsOf } from './refusals.ts';
import type { Headers } from './respond.ts';
import { sendJson } from './respond.ts';

export const statusOfCode: Readonly<Record<ErrorCode, number>> = {
  BAD_REQUEST: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  CONFLICT: 409,
  READ_ONLY: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  NO_PROVIDER_CONFIGURED: 422,
  IDEMPOTENCY_KEY_REUSED: 422,
  TOO_MANY_REQUESTS: 429,
  INTERNAL_SERVER_ERROR: 500,
  SERVICE_UNAVAILABLE: 503,
};

export const errorCodes = Object.keys(statusOfCode) as ErrorCode[];

export interface ErrorBody {
  readonly code: ErrorCode;
  readonly error: string;
  readonly details: readonly ErrorDetail[];
  readonly requestId: string;
}

/** The client went away while it was sending: nobody is there to be answered. */
export class ClientGoneError extends Error {
  constructor() {
    super('the client went away');
    this.name = 'ClientGoneError';
  }
}

/** What a log line says of a refusal; a client that went away was told nothing. */
export interface Refused {
  readonly status: number;
  readonly code: ErrorCode | null;
  readonly fields: readonly string[];
}

/** Answers a request with what was thrown; an unknown error is logged and says nothing of itself. */
export function sendError(
  res: ServerResponse,
  thrown: unknown,
  context: {
    readonly requestId: string;
    readonly logger: Logger;
    readonly headers?: Headers;
    readonly challenge?: string;
  },
): Refused {
  if (thrown instanceof ClientGoneError || res.destroyed) {
    res.destroy();
    return { status: clientGoneStatus, code: null, fields: [] };
  }
  const { requestId, logger } = context;
  const refusal = refusalOf(thrown);
  if (refusal.code === 'INTERNAL_SERVER_ERROR') logger.error('a request failed', { err: thrown, requestId });
  const { code } = refusal;
  const refused: Refused = { status: statusOfCode[code], code, fields: fieldsOf(refusal.details) };
  if (res.headersSent) {
    res.destroy();
    return refused;
  }
  const headers: Headers = { ...context.headers, 'x-request-id': requestId, 'cache-control': 'no-store' };
  if (refusal.retryAfterSeconds !== null) headers['retry-after'] = String(refusal.retryAfterSeconds);
  if (code === 'UNAUTHORIZED') headers['www-authenticate'] = context.challenge ?? 'Bearer';
  const body: ErrorBody = { code, error: refusal.message, details: refusal.details, requestId };
  sendJson(res, refused.status, body, headers);
  return refused;
}

/** For the log line alone, as nginx has it. */
export const clientGoneStatus = 499;

/** 400 with everything that is wrong. */
export function badFields(details: readonly ErrorDetail[]): DomainError {
  const [first] = details;
  if (first === undefined) return new DomainError('BAD_REQUEST', 'The request is not valid.');
  if (details.length === 1 && first.path !== '') return badField(first.path, first.message);
  const more = details.length > 1 ? ` (and ${details.length - 1} more, see details)` : '';
  return new DomainError(
    'BAD_REQUEST',
    `${first.path === '' ? 'The body' : `${first.path}:`} ${first.message}${more}`,
    { details },
  );
}

/**
 * The same port, its rejections turned into 503: a store that is away is the only way in which these calls fail. What is surely a bug stays one.
 */
export function answeringUnavailable<T extends object>(port: T, what: string, logger: Logger): T {
  const entries = Object.entries(port).map(([name, member]): [string, unknown] => {
    if (typeof member !== 'function') return [name, member];
    const call = member as (...args: readonly unknown[]) => unknown;
    return [name, (...args: readonly unknown[]) => guarded(call.apply(port, args as unknown[]), what, logger)];
  });
  return Object.fromEntries(entries) as T;
}

function guarded(result: unknown, what: string, logger: Logger): unknown {
  if (!(result instanceof Promise)) return result;
  return result.catch((err: unknown) => {
    if (err instanceof DomainError || bugs.some((bug) => err instanceof bug)) throw err;
    logger.warn(`${what} did not answer`, { err });
    throw unavailable(`The service cannot reach ${what} at the moment. Try again.`);
  });
}

const bugs = [TypeError, RangeError, ReferenceError, SyntaxError, NoFittingIndexError, SecretBoxError];

function refusalOf(thrown: unknown): DomainError {
  if (thrown instanceof DomainError) return thrown;
  // Express could not decode a path's percent signs.
  if (thrown instanceof URIError) return new DomainError('BAD_REQUEST', 'The path holds a malformed percent encoding.');
  return new DomainError('INTERNAL_SERVER_ERROR', 'Something went wrong on our side. Tell us the requestId.');
}
