// An endpoint: what it takes, checked before its handler sees it, and what it answers.

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

import type { z } from 'zod';

import type { Scope, Tenant } from '../domain/tenant.ts';
import type { ReadModel } from '../projections/read-model.ts';
import type { Person } from './authenticate.ts';
import type { BodyRoom } from './body-memory.ts';
import type { DownloadAnswer } from './downloads.ts';
import type { InboxCaller } from './inbox-callers.ts';
import type { Answer } from './respond.ts';
import type { StreamAnswer } from './sse.ts';

/** Who calls, by the way in which a route authenticates. */
export interface Callers {
  readonly none: null;
  readonly apiKey: { readonly tenant: Tenant; readonly apiKey: string };
  /** A bearer token, whether its tenant exists or not. */
  readonly token: { readonly person: Person };
  readonly bearer: { readonly tenant: Tenant; readonly person: Person };
  /** A tenant's people by a token, or its programs by an API key. */
  readonly bearerOrKey: { readonly tenant: Tenant };
  /** The same as bearer, the token also as `?token=`. */
  readonly bearerOrQuery: { readonly tenant: Tenant; readonly person: Person };
  /** A tenant's programs by an API key, or the recipient of the path by a token of his own. */
  readonly inbox: InboxCaller;
  /** The same, the token also as `?token=`. */
  readonly inboxOrQuery: InboxCaller;
}

export type AuthKind = keyof Callers;

export interface Input<B = unknown, Q = unknown> {
  readonly params: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
  readonly body: B;
  readonly query: Q;
  /** For the endpoint that reads its body by itself. */
  readonly unread: { readonly request: IncomingMessage; readonly room: BodyRoom };
}

/** A definition, its schemas' types known to the handler. */
interface Definition<Caller, B extends z.ZodType, Q extends z.ZodType> {
  /** Absent: a body is not looked at. */
  readonly body?: B;
  /** The body may be absent or empty; then the schema gets `{}`. */
  readonly bodyIsOptional?: true;
  /** The handler reads the body by itself: `body` is documented and not looked at. */
  readonly bodyIsUnread?: true;
  /** What it takes and what it answers have one room, of those for batches: the handler takes it, and it is given back once the answer was taken. */
  readonly isBatch?: true;
  /** Absent: the query is not looked at. */
  readonly query?: Q;
  /** The read models that are waited for, one after another, before the handler runs: by the caller's own writes, and by `x-after-position`. @throws DomainError BAD_REQUEST */
  follows?(query: z.output<Q>): readonly ReadModel[];
  /** Of its answer at most, where that may be long: room for it is taken before the handler runs. Absent: it is short, and waits for nobody’s room. */
  readonly answerBytesMax?: number;
  /** What else is waited for, before room for the answer is taken; it may come to nothing. */
  awaits?(caller: Caller, input: Input<z.output<B>, z.output<Q>>): Promise<void>;
  handle(caller: Caller, input: Input<z.output<B>, z.output<Q>>): Promise<Answer | StreamAnswer | DownloadAnswer>;
}

export interface Endpoint<Caller> {
  readonly body?: z.ZodType;
  readonly bodyIsOptional?: true;
  readonly bodyIsUnread?: true;
  readonly isBatch?: true;
  readonly query?: z.ZodType;
  follows?(query: unknown): readonly ReadModel[];
  readonly answerBytesMax?: number;
  awaits?(caller: Caller, input: Input): Promise<void>;
  handle(caller: Caller, input: Input): Promise<Answer | StreamAnswer | DownloadAnswer>;
}

export function endpoint<Kind extends AuthKind, B extends z.ZodType = z.ZodType, Q extends z.ZodType = z.ZodType>(
  _kind: Kind,
  definition: Definition<Callers[Kind], B, Q>,
): Endpoint<Callers[Kind]> {
  return definition;
}

/** Whether a tenant's limit of reads counts it: all that is asked for, streams' beginnings included. */
export function isRead({ method, auth }: Pick<Route, 'method' | 'auth'>): boolean {
  return method === 'GET' && auth !== 'none' && auth !== 'token';
}

/** The ways in which an API key comes in; such a route says which scopes let it in, any of them. */
export type KeyAuthKind = 'apiKey' | 'bearerOrKey' | 'inbox' | 'inboxOrQuery';

/** One row of the routes table; the handler's callers are those that the kind of authentication lets in. */
export type Route = {
  [Kind in AuthKind]: {
    readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
    /** Below /api/v1, in Express' form. */
    readonly path: string;
    readonly auth: Kind;
    /** Counts against the tenant's limit on what sends, and tells how much is left. Whatever else isn't a GET has a limit of its own. */
    readonly sends?: true;
    /** Tells what happens from now on: there is none where the service looks back. */
    readonly live?: true;
    readonly endpoint: Endpoint<Callers[Kind]>;
  } & (Kind extends KeyAuthKind ? { readonly scopes: readonly Scope[] } : { readonly scopes?: undefined });
}[AuthKind];
