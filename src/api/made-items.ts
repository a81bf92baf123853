// Makes the events of a batch's items as far as their texts alone tell what becomes of them; runs in the items' thread.

import { preparePlain, requested } from '../commands/accept-notification.ts';
import { DomainError } from '../domain/errors.ts';
import type { NotificationRequested } from '../domain/events.ts';
import { notificationIdOf } from '../domain/ids.ts';
import type { Partitioning } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { ItemsOf, MadeItems } from '../ports/item-maker.ts';
import type { Outbound } from '../ports/outbound.ts';
import { batchItem } from './batch-request.ts';
import { parseText } from './body.ts';

export interface Made extends Pick<MadeItems, 'through' | 'refused'> {
  /** By the places of their texts, ascending. */
  readonly events: readonly { readonly place: number; readonly event: NotificationRequested }[];
}

interface Dependencies {
  readonly partitioning: Partitioning;
  readonly outbound: Pick<Outbound, 'problemWithUrl'>;
  readonly clock: Pick<Clock, 'now' | 'uuidV7'>;
}

export function createItemMaking({ partitioning, outbound, clock }: Dependencies) {
  return (texts: readonly string[], { tenantId, batchId, trace }: ItemsOf): Made => {
    const now = clock.now();
    const sender = { tenantId, trace };
    const events: { place: number; event: NotificationRequested }[] = [];
    const refused: MadeItems['refused'][number][] = [];
    for (const [place, text] of texts.entries()) {
      try {
        const { input, key } = batchItem(parseText(text), sender, now, outbound);
        const prepared = key === null ? preparePlain(input) : null;
        if (prepared === null) return { through: place, events, refused };
        const identity = { notificationId: notificationIdOf(clock.uuidV7()), requestedAt: now, batchId };
        events.push({ place, event: requested(prepared, identity, { partitioning }) });
      } catch (error) {
        // A fault of ours shows where it is logged: in the thread that has asked.
        if (!(error instanceof DomainError)) return { through: place, events, refused };
        const { code, message, details } = error;
        refused.push({ place, code, message, details });
      }
    }
    return { through: texts.length, events, refused };
  };
}
