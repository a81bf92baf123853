// What a call rejects with: the service's refusal, or that no answer came.

import type { components } from './openapi.ts';

type ErrorBody = components['schemas']['Error'];

/** A refusal, as the service said it. */
export class HeraldError extends Error {
  override readonly name = 'HeraldError';
  readonly status: number;
  /** null: the answer isn't one of Herald's, but of something before it. */
  readonly code: ErrorBody['code'] | null;
  /** What is wrong with each field, by its path. */
  readonly details: ErrorBody['details'];
  /** Tell it to whoever runs the service: its log has a line with it. */
  readonly requestId: string | null;
  /** ms that the service asks to wait; null: it doesn't say. */
  readonly retryAfterMs: number | null;

  constructor(status: number, body: Partial<ErrorBody>, retryAfterMs: number | null) {
    super(body.error ?? `The answer was ${status}.`);
    this.status = status;
    this.code = body.code ?? null;
    this.details = body.details ?? [];
    this.requestId = body.requestId ?? null;
    this.retryAfterMs = retryAfterMs;
  }
}

/** No answer came: the network, or the time limit. What was asked for may have been done all the same. */
export class HeraldConnectionError extends Error {
  override readonly name = 'HeraldConnectionError';

  constructor(cause: unknown) {
    super('No answer came from the service.', { cause });
  }
}
