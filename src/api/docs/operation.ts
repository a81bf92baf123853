// What a route says of itself beside its schemas: the OpenAPI document is made of both.

import type { z } from 'zod';

import type { ErrorCode } from '../../domain/errors.ts';
import type { Scope } from '../../domain/tenant.ts';
import type { AuthKind, Endpoint, Route } from '../endpoint.ts';
import { isRead } from '../endpoint.ts';
import type { JsonSchema } from './wire-forms.ts';

/** In the order in which the document shows them. */
export const areas = {
  Sending: 'Notifications in, by the API key of the tenant.',
  Inbox:
    'The in-app inbox of one of the tenant’s recipients. Call it from a backend, since the API key is a secret, or from the recipient’s browser with a token made for it.',
  Tenant: 'The tenant of the token, its keys and limits.',
  Providers: 'With which accounts the tenant sends.',
  Templates: 'Named texts with placeholders, a Liquid subset.',
  Suppressions: 'Recipients that the tenant sends nothing to.',
  Log: 'What became of every notification.',
  Jobs: 'Long work asked for in one call: it goes on whatever restarts, and does nothing twice.',
  Statistics: 'Counts, rates, latencies, and live changes.',
} as const;

export interface OperationDocs {
  /** Unique; generated clients name a function so. */
  readonly id: string;
  readonly area: keyof typeof areas;
  readonly summary: string;
  readonly description?: string;
  /** For each `:name` of the path. */
  readonly params?: Readonly<Record<string, ParamDocs>>;
  /** Query parameters whose names are free: an object of them, `name[key]=value` each. */
  readonly freeQuery?: { readonly name: string; readonly description: string; readonly schema: JsonSchema };
  /** Bodies to send, by a few words on each. */
  readonly requests?: Readonly<Record<string, unknown>>;
  readonly answer: AnswerDocs;
  /** Beyond those that follow from the route itself (refusals.ts): a sentence as the service says it. */
  readonly refusals?: Readonly<Partial<Record<ErrorCode, string>>>;
  /** It takes an Idempotency-Key. */
  readonly isKeyed?: true;
  /** Operations that go on from the answer: their path's parameters by the answer's fields. */
  readonly leadsTo?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export interface ParamDocs {
  readonly description: string;
  readonly example: string;
  readonly schema: JsonSchema;
}

export type AnswerDocs = JsonAnswerDocs | TextAnswerDocs | StreamAnswerDocs;

interface JsonAnswerDocs {
  readonly kind: 'json';
  readonly status: 200 | 201 | 202;
  readonly description: string;
  readonly schema: z.ZodType;
  readonly example: unknown;
  /** Whether it carries `x-event-position`. */
  readonly position: 'never' | 'sometimes' | 'always';
  /** It carries `x-stream-position` where it can. */
  readonly isJoined?: true;
  /** It carries `location`. */
  readonly isPlaced?: true;
  /** The same answer at another status. */
  readonly also?: { readonly status: 200; readonly description: string };
  /** The same as lines, to whoever accepts those. */
  readonly lines?: { readonly type: string; readonly example: string };
}

interface TextAnswerDocs {
  readonly kind: 'text';
  readonly type: string;
  readonly description: string;
  readonly example: string;
}

interface StreamAnswerDocs {
  readonly kind: 'stream';
  readonly description: string;
  readonly messages: readonly StreamMessageDocs[];
}

export interface StreamMessageDocs {
  /** null: without a name, as EventSource's `onmessage` gets it. */
  readonly event: string | null;
  readonly id: string | null;
  readonly data: z.ZodType;
  readonly example: unknown;
}

/** A route as the document needs it: how it answers is no part of it. */
export interface DescribedRoute {
  readonly method: Route['method'];
  readonly path: string;
  readonly auth: AuthKind;
  readonly scopes?: readonly Scope[] | undefined;
  readonly sends?: true;
  readonly endpoint: Pick<Endpoint<never>, 'body' | 'bodyIsOptional' | 'query' | 'follows' | 'answerBytesMax'>;
  readonly docs: OperationDocs;
}

/** Whether it counts against a limit of the tenant's, and its answers tell how much is left. */
export function isLimited(route: DescribedRoute): boolean {
  return route.sends === true || isRead(route);
}

/** 200 unless it is said otherwise; the example must be what the schema lets through. */
export function answers<S extends z.ZodType>(
  schema: S,
  example: z.input<S>,
  more: Partial<
    Pick<JsonAnswerDocs, 'status' | 'description' | 'position' | 'isPlaced' | 'isJoined' | 'also' | 'lines'>
  > = {},
): JsonAnswerDocs {
  return { kind: 'json', status: 200, description: 'Done.', position: 'never', schema, example, ...more };
}
