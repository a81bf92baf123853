// The API as its OpenAPI document describes it: what each call takes and answers.

import type { components, paths } from '../clients/typescript/src/openapi.ts';

type Schemas = components['schemas'];
export type Notification = Schemas['Notification'];
export type Attempt = Schemas['Attempt'];
export type Report = Schemas['Report'];
export type Statistics = Schemas['Statistics'];
export type FailureCause = Schemas['FailureCause'];
export type Template = Schemas['Template'];
export type Provider = Schemas['Provider'];
export type ProviderField = Schemas['ProviderField'];
export type ChannelProviders = Schemas['ChannelProviders'];
export type Job = Schemas['Job'];
export type Key = Schemas['Key'];
export type Change = Schemas['StatusChanged'];
export type ErrorBody = Schemas['Error'];
export type Channel = Notification['channel'];
export type Priority = Notification['priority'];
export type Status = Notification['status'];

export const channels: readonly Channel[] = ['EMAIL', 'SMS', 'WEBHOOK', 'IN_APP'];
export const priorities: readonly Priority[] = ['HIGH', 'DEFAULT', 'BULK'];
export const statuses: readonly Status[] = [
  'QUEUED',
  'SCHEDULED',
  'PROCESSING',
  'RETRYING',
  'DELIVERED',
  'FAILED',
  'CANCELLED',
];

export type Path = keyof paths;
export type Method = 'get' | 'post' | 'put' | 'delete';
export type MethodOf<P extends Path> = {
  [M in Method]: paths[P][M] extends { readonly responses: unknown } ? M : never;
}[Method];

type Operation<P extends Path, M extends Method> = paths[P][M];
type Json<T> = T extends { readonly content: { readonly 'application/json': infer Body } } ? Body : never;
type Parameter<O, K extends string> = O extends { readonly parameters: { readonly [key in K]?: infer Q } } ? Q : never;

/** The body of what it answers when all is well. */
export type Answer<P extends Path, M extends Method> =
  Operation<P, M> extends { readonly responses: infer R }
    ? { [S in keyof R & (200 | 201 | 202)]: Json<R[S]> }[keyof R & (200 | 201 | 202)]
    : never;
export type Query<P extends Path, M extends Method> = NonNullable<Parameter<Operation<P, M>, 'query'>>;
export type Params<P extends Path, M extends Method> = NonNullable<Parameter<Operation<P, M>, 'path'>>;
export type Body<P extends Path, M extends Method> =
  Operation<P, M> extends { readonly requestBody?: infer B } ? Json<NonNullable<B>> : never;
