// Which events of the log an export is about: of one tenant, of some channels, of some types; and in which topics and partitions they can be.

import type { Channel, EventType } from '../domain/events.ts';
import { priorities } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Partitioning, Topic } from '../domain/topics.ts';
import { partitionsOfTenant, workTopic, workTopics } from '../domain/topics.ts';
import type { LogEntry } from '../ports/event-log.ts';

/** null: all of them. */
export interface Filter {
  readonly tenant: TenantId | null;
  readonly channels: readonly Channel[] | null;
  readonly types: readonly EventType[] | null;
}

/** Of a tenant its own numbers alone: what is of others isn't even read there. */
export function partitionsOf({ tenant }: Filter, partitioning: Partitioning): readonly number[] {
  if (tenant !== null) return partitionsOfTenant(tenant, partitioning);
  return Array.from({ length: partitioning.partitions }, (_, partition) => partition);
}

export function topicsOf({ channels }: Filter, topics: readonly Topic[]): readonly Topic[] {
  if (channels === null) return topics;
  const wanted = new Set(channels.flatMap((channel) => priorities.map((priority) => workTopic(channel, priority))));
  return topics.filter((topic) => wanted.has(topic) || !workTopics.includes(topic));
}

/** What can be told by an event's head is told by it: what isn't asked for is not decoded. */
export function filterOf({ tenant, channels, types }: Filter): (entry: LogEntry) => boolean {
  const wantedTypes = types === null ? null : new Set(types);
  const wantedChannels = channels === null ? null : new Set(channels);
  return (entry) => {
    if (tenant !== null && entry.head?.tenantId !== tenant) return false;
    if (wantedTypes !== null && (entry.head === null || !wantedTypes.has(entry.head.type))) return false;
    if (wantedChannels === null) return true;
    const { event } = entry;
    return event !== null && 'channel' in event && wantedChannels.has(event.channel);
  };
}
