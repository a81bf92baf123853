// What went wrong, as the API said it: its sentence, the fields, the id that the service's log knows.

import type { ErrorBody } from './wire.ts';

export interface ProblemDetail {
  /** Dotted: `config.fromEmail`. */
  readonly path: string;
  readonly message: string;
}

export class ApiProblem extends Error {
  /** 0: no answer came. */
  readonly status: number;
  readonly code: string;
  readonly details: readonly ProblemDetail[];
  readonly requestId: string | null;
  /** Seconds until it may be asked again, where the answer said so. */
  readonly retryAfterSeconds: number | null;

  constructor(said: {
    readonly status: number;
    readonly code: string;
    readonly error: string;
    readonly details?: readonly ProblemDetail[];
    readonly requestId?: string | null;
    readonly retryAfterSeconds?: number | null;
  }) {
    super(said.error);
    this.name = 'ApiProblem';
    this.status = said.status;
    this.code = said.code;
    this.details = said.details ?? [];
    this.requestId = said.requestId ?? null;
    this.retryAfterSeconds = said.retryAfterSeconds ?? null;
  }
}

/** Whatever stands between the page and the API (a proxy) may answer something else than the API's one shape. */
export function problemOf(status: number, text: string, retryAfter: string | null): ApiProblem {
  const seconds = retryAfter === null ? Number.NaN : Number(retryAfter);
  const retryAfterSeconds = Number.isFinite(seconds) ? seconds : null;
  const body = errorBodyIn(text);
  if (body === null)
    return new ApiProblem({
      status,
      code: 'UNEXPECTED',
      error: `The answer was ${status}, without a reason.`,
      retryAfterSeconds,
    });
  return new ApiProblem({ ...body, status, retryAfterSeconds });
}

export function noAnswer(): ApiProblem {
  return new ApiProblem({ status: 0, code: 'UNREACHABLE', error: 'Herald can’t be reached.' });
}

/** Somebody else has saved what was edited here: whoever saves again means to replace it. */
export function changedMeanwhile(error: string): ApiProblem {
  return new ApiProblem({ status: 409, code: 'CONFLICT', error });
}

/** null: Herald has not said it. */
export function refusalIn(failure: unknown): ApiProblem | null {
  return failure instanceof ApiProblem && failure.requestId !== null ? failure : null;
}

/** Whether Herald may have done it all the same: no answer came, or what stands between had none. */
export function mayBeDone(failure: unknown): boolean {
  return !(failure instanceof ApiProblem) || [0, 502, 504].includes(failure.status);
}

/** Any failure as one that can be shown; null: it was given up on purpose. */
export function shownProblem(failure: unknown): ApiProblem | null {
  if (failure instanceof ApiProblem) return failure;
  if (failure instanceof DOMException && failure.name === 'AbortError') return null;
  const error = failure instanceof Error ? failure.message : String(failure);
  return new ApiProblem({ status: 0, code: 'PAGE', error });
}

function errorBodyIn(text: string): ErrorBody | null {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null && 'error' in body && 'code' in body ? (body as ErrorBody) : null;
  } catch {
    return null;
  }
}
