// The API's operations by their names, `GET /notifications/{id}`: what each takes and answers, read off the OpenAPI document.

import type { NotificationRequest } from './notification-request.ts';
import type { components, paths } from './openapi.ts';

export type Schemas = components['schemas'];

type Method = 'get' | 'post' | 'put' | 'delete';

/** Every operation; those of them that answer a stream are streams. */
export type OperationName = {
  [Path in keyof paths]: {
    [M in Method]: paths[Path][M] extends object ? `${Uppercase<M>} ${Path}` : never;
  }[Method];
}[keyof paths];

export type StreamName = {
  [Name in OperationName]: Operation<Name> extends { responses: { 200: { content: { 'text/event-stream': string } } } }
    ? Name
    : never;
}[OperationName];

export type RequestName = Exclude<OperationName, StreamName>;

/** Those that answer pages. */
export type PagesName = {
  [Name in RequestName]: Query<Name> extends { readonly query?: infer Q }
    ? [NonNullable<Q>] extends [never]
      ? never
      : 'cursor' extends keyof NonNullable<Q>
        ? Name
        : never
    : never;
}[RequestName];

type Operation<Name extends string> = Name extends `${infer M} ${infer Path extends keyof paths}`
  ? Lowercase<M> extends Method
    ? paths[Path][Lowercase<M>]
    : never
  : never;

type PathOf<Name extends string> =
  Operation<Name> extends { parameters: { path: infer Path extends object } }
    ? { readonly path: Path }
    : { readonly path?: never };

type Query<Name extends string> =
  Operation<Name> extends { parameters: { query?: infer Q extends object } }
    ? { readonly query?: Q }
    : { readonly query?: never };

/** Stricter than the document can say: `POST /notify` by what each channel takes. */
type Body<Name extends string> = Name extends 'POST /notify'
  ? { readonly body: NotificationRequest }
  : Operation<Name> extends { requestBody: { content: { 'application/json': infer B } } }
    ? { readonly body: B }
    : Operation<Name> extends { requestBody?: { content: { 'application/json': infer B } } }
      ? unknown extends B
        ? { readonly body?: never }
        : { readonly body?: B }
      : { readonly body?: never };

/** How a call is made, whatever it asks for. */
export interface CallOptions {
  /** Ends the call, its waits between attempts too. */
  readonly signal?: AbortSignal;
  /** Of each attempt. */
  readonly timeoutMs?: number;
}

export interface RequestOptions extends CallOptions {
  /** Of `POST /notify` and of a resend: one is made where none is given, so that a repeat after a lost answer sends nothing twice. */
  readonly idempotencyKey?: string;
  /** `x-event-position` of an answer: a GET waits, 2 s at most, until it shows what was done there. */
  readonly afterPosition?: string;
}

export type Input<Name extends string> = PathOf<Name> & Query<Name> & Body<Name>;

/** Pages follow one another by cursors, and the service takes no number of a page beside one. */
export type PagesInput<Name extends string> = PathOf<Name> &
  Body<Name> & { readonly query?: Omit<NonNullable<Query<Name>['query']>, 'page'> };

/** What can be left out altogether is an argument that may be left out. */
export type Arguments<Asked, Options> =
  Partial<Asked> extends Asked ? [input?: Asked & Options] : [input: Asked & Options];

/** A list for spreadsheets is its text. */
type Content<Answer> = Answer extends { content: { 'application/json': infer Data } }
  ? Data
  : Answer extends { content: { 'text/csv': infer Text } }
    ? Text
    : never;

type Responses<Name extends string> = Operation<Name> extends { responses: infer All } ? All : never;

/** What the operation answers when it succeeds. */
export type Answer<Name extends string> = {
  [Status in keyof Responses<Name>]: Status extends 200 | 201 | 202 ? Content<Responses<Name>[Status]> : never;
}[keyof Responses<Name>];

/** One entry of an operation that answers pages. */
export type Entry<Name extends string> =
  Answer<Name> extends readonly (infer One)[]
    ? One
    : Answer<Name> extends { data: readonly (infer One)[] }
      ? One
      : Answer<Name> extends { notifications: readonly (infer One)[] }
        ? One
        : never;

/** What comes over each stream. */
export interface StreamMessages {
  'GET /notify/inapp/{userId}/stream':
    | Message<'connected', Schemas['InboxConnected']>
    | Message<'notification', Schemas['InboxItem']>
    | Message<'read', Schemas['InboxRead']>;
  'GET /dashboard/stream': Message<'message', Schemas['StreamOpened'] | Schemas['StatusChanged']>;
}

export interface Message<Event extends string, Data> {
  readonly event: Event;
  /** Where the stream can be taken up again; empty: the message has none. */
  readonly id: string;
  readonly data: Data;
}
