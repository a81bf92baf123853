// The read side of the API over read models as of a moment: the same routes and handlers, over ports that can't write, append or send.

import type { RequestListener } from 'node:http';

import { type ApiDependencies, type ApiOptions, createApi } from '../api/app.ts';
import { readOnly } from '../api/look-back.ts';
import type { JobStore } from '../ports/job-store.ts';
import { followSuppressions } from '../projections/suppressions/follow.ts';
import type { LogBeside } from './cut-log.ts';
import { refusing } from './refusing.ts';

export interface LookBackParts extends Pick<
  ApiDependencies,
  | 'directory'
  | 'settings'
  | 'secretBox'
  | 'apiKeys'
  | 'limiter'
  | 'reader'
  | 'callbackAddresses'
  | 'unsubscribeLinks'
  | 'inboxTokens'
  | 'webAssets'
  | 'tokenKeys'
  | 'clock'
  | 'logger'
  | 'metrics'
  | 'turns'
  | 'closing'
> {
  /** Which ends where it is looked back to. */
  readonly log: LogBeside;
  /** Of the running service. */
  readonly jobs: Pick<JobStore, 'find'>;
  readonly options: ApiOptions & { readonly asOf: number };
}

/** Resolves once it knows the suppression lists as of then. @throws Error when the log can't be read and `closing` aborts */
export async function createLookBackApi({ log, jobs, ...parts }: LookBackParts): Promise<RequestListener> {
  const { asOf } = parts.options;
  const ports = refusing(log, jobs, () => readOnly(asOf));
  const { list: suppressions } = await followSuppressions({ ...parts, log: ports.log }, parts.closing);
  return createApi({ ...parts, ...ports, suppressions, outbound: { problemWithUrl: () => null } });
}
