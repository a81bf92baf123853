// Which events that forget count: those of a partition number are a chain, of which its last link is kept. Whoever makes a link waits until the one before
// counts, so of two that were made side by side, by a process that had lost the number and the one that has it, the first in the log counts alone.

import type { NotificationsForgotten } from '../../domain/events.ts';
import type { EventId } from '../../domain/ids.ts';
import type { CollectionDefinition, ReadModelReader, Write } from '../../ports/read-model-store.ts';

/** The last link of a partition number, whose number is the document's id. */
export interface LastForgotten {
  readonly eventId: EventId;
  readonly sequence: number;
}

export const forgottenCollection: CollectionDefinition = { name: 'forgotten', fields: {}, indexes: [] };

export async function lastForgotten(
  reader: Pick<ReadModelReader, 'get'>,
  partition: number,
): Promise<LastForgotten | null> {
  const id = String(partition);
  return (await reader.get<LastForgotten>(forgottenCollection.name, [id])).get(id) ?? null;
}

/** Of these, in the order of the log, those that count; and the last link after them. */
export function linked(
  before: LastForgotten | null,
  events: readonly NotificationsForgotten[],
): { readonly counting: readonly NotificationsForgotten[]; readonly last: LastForgotten | null } {
  let last = before;
  const counting: NotificationsForgotten[] = [];
  for (const event of events) {
    if (!isNext(last, event)) continue;
    counting.push(event);
    last = { eventId: event.eventId, sequence: event.sequence };
  }
  return { counting, last };
}

/** A gap is where the log's start has moved past what was between. */
function isNext(last: LastForgotten | null, { sequence, follows }: NotificationsForgotten): boolean {
  if (last === null || sequence > last.sequence + 1) return true;
  return sequence === last.sequence + 1 && follows === last.eventId;
}

export function lastWrite(partition: number, last: LastForgotten): Write {
  return { collection: forgottenCollection.name, id: String(partition), document: last };
}
