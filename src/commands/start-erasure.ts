// Takes the erasure of a recipient on, as a job: whom it is about stands in it sealed.

import type { Channel } from '../domain/events.ts';
import type { JobId, TenantId } from '../domain/ids.ts';
import { comparedRecipient } from '../domain/suppression.ts';
import type { SecretBox } from '../ports/secret-box.ts';
import type { AskedJob } from './start-job.ts';

/** Whom, and on whose word. */
export interface Erasure {
  readonly channel: Channel;
  /** As `comparedRecipient` writes it. */
  readonly recipient: string;
  /** The `sub` of the token; null: an operator's doing. */
  readonly actor: string | null;
}

interface Dependencies {
  readonly secretBox: Pick<SecretBox, 'seal'>;
  readonly startJob: (asked: AskedJob) => Promise<JobId>;
}

type AskedErasure = Erasure & Omit<AskedJob, 'kind' | 'filter'>;

/** @throws DomainError CONFLICT, SERVICE_UNAVAILABLE */
export function startErasure({ secretBox, startJob }: Dependencies) {
  return ({ channel, recipient, actor, ...asked }: AskedErasure): Promise<JobId> => {
    const erasure: Erasure = { channel, recipient, actor };
    const sealed = secretBox.seal(JSON.stringify(erasure), contextOf(asked.tenantId));
    return startJob({ ...asked, kind: 'erase', filter: { sealed } });
  };
}

/** What such a job is about. @throws SecretBoxError when it was sealed under a secret that isn't known */
export function erasureOf(
  { tenantId, filter }: Pick<AskedJob, 'tenantId' | 'filter'>,
  secretBox: Pick<SecretBox, 'open'>,
): Erasure {
  const { sealed } = filter as { readonly sealed: string };
  return JSON.parse(secretBox.open(sealed, contextOf(tenantId))) as Erasure;
}

/** Whether it was for the recipient that is meant. */
export function isOf(
  { channel, recipient }: Pick<Erasure, 'channel' | 'recipient'>,
  of: { readonly channel: string; readonly recipient: string },
): boolean {
  return of.channel === channel && comparedRecipient(channel, of.recipient) === recipient;
}

function contextOf(tenantId: TenantId): string {
  return `${tenantId}:erasure`;
}
