// Takes the erasure of a recipient on, as a job: whom it is about stands in it sealed.

import { unavailable } from '../domain/errors.ts';
import type { Channel } from '../domain/events.ts';
import type { JobId, TenantId } from '../domain/ids.ts';
import { comparedRecipient } from '../domain/suppression.ts';
import { placesInLog } from '../domain/topics.ts';
import type { EventLog } from '../ports/event-log.ts';
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
  readonly log: Pick<EventLog, 'ends' | 'partitioning'>;
  readonly secretBox: Pick<SecretBox, 'seal'>;
  readonly startJob: (asked: AskedJob) => Promise<JobId>;
}

type AskedErasure = Erasure & Omit<AskedJob, 'kind' | 'filter'>;

/** @throws DomainError CONFLICT, SERVICE_UNAVAILABLE */
export function startErasure({ log, secretBox, startJob }: Dependencies) {
  /** By `placesInLog`. Not by a time alone: what was requested by a clock that was ahead has been requested all the same. */
  const endsOf = async (tenantId: TenantId): Promise<number[]> => {
    const places = placesInLog(tenantId, log.partitioning);
    const topics = [...new Set(places.map(({ topic }) => topic))];
    const ends = new Map(await Promise.all(topics.map(async (topic) => [topic, await log.ends(topic)] as const)));
    return places.map(({ topic, partition }) => ends.get(topic)?.[partition] ?? 0);
  };

  return async ({ channel, recipient, actor, ...asked }: AskedErasure): Promise<JobId> => {
    const ends = await endsOf(asked.tenantId).catch(() => {
      throw unavailable(
        'The erasure was not accepted: the event log does not answer at the moment. Send the request again.',
      );
    });
    const erasure: Erasure = { channel, recipient, actor };
    const sealed = secretBox.seal(JSON.stringify(erasure), contextOf(asked.tenantId));
    return startJob({ ...asked, kind: 'erase', filter: { sealed, ends } });
  };
}

/** Where the log ended when it was asked for, by `placesInLog`; empty of one that a former version took on. */
export function endsThen({ filter }: Pick<AskedJob, 'filter'>): readonly number[] {
  return (filter as { readonly ends?: readonly number[] }).ends ?? [];
}

/** What such a job is about. @throws SecretBoxError when it was sealed under a secret that isn't known */
export function erasureOf(
  { tenantId, filter }: Pick<AskedJob, 'tenantId' | 'filter'>,
  secretBox: Pick<SecretBox, 'open'>,
): Erasure {
  const { sealed } = filter as { readonly sealed: string };
  return JSON.parse(secretBox.open(sealed, contextOf(tenantId))) as Erasure;
}

/** Whether a job, of any kind, can only be gone on with by who knows the secret from before the one in use. */
export function isSealedBefore({ filter }: Pick<AskedJob, 'filter'>, secretBox: Pick<SecretBox, 'isCurrent'>): boolean {
  return 'sealed' in filter && !secretBox.isCurrent(String(filter.sealed));
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
