// What the changes of its items make of a recipient's inbox: counts, pending sequences and marks.

import type { TenantId } from '../../domain/ids.ts';
import type { Write } from '../../ports/read-model-store.ts';
import type { InboxDocument, InboxItemDocument } from './documents.ts';
import { inboxesCollection, inboxId, isShown } from './documents.ts';

/**
 * The recipients' documents follow from their items' changes, one after another as the events tell of them: where an inbox ends between two, what comes after
 * finds none of its marks, in whichever batches the events are folded.
 */
export function createInboxChanges() {
  const changes = new Map<string, Change[]>();
  return {
    ids: (): string[] => [...changes.keys()],

    move(before: InboxItemDocument | null, after: InboxItemDocument | null): void {
      const of = after ?? before;
      if (of === null) return;
      const id = inboxId(of.tenantId, of.recipient);
      const known = changes.get(id);
      if (known === undefined) changes.set(id, [{ before, after }]);
      else known.push({ before, after });
    },

    writes(stored: ReadonlyMap<string, InboxDocument>): Write[] {
      return [...changes].flatMap(([id, all]) => {
        const inbox = all.reduce<Inbox | null>(applied, openInbox(stored.get(id)));
        if (inbox === null && !stored.has(id)) return [];
        const document = inbox === null ? null : documentOf(inbox);
        return [{ collection: inboxesCollection.name, id, document, isNew: !stored.has(id) }];
      });
    },
  };
}

/** An item that is delivered and never requested would hold a stream up for ever; past so many the oldest is given up. */
const pendingMax = 1000;

interface Change {
  readonly before: InboxItemDocument | null;
  /** null: it is forgotten, or erased. */
  readonly after: InboxItemDocument | null;
}

/** A document in the making. */
interface Inbox {
  readonly tenantId: TenantId;
  readonly recipient: string;
  total: number;
  unread: number;
  readonly pending: Set<number>;
  lastSequence: number;
  lastReadOffset: number;
}

function openInbox(stored: InboxDocument | undefined): Inbox | null {
  return stored === undefined ? null : { ...stored, pending: new Set(stored.pending) };
}

/** null: an item went and none is left, so that nothing of the inbox stays. */
function applied(stored: Inbox | null, { before, after }: Change): Inbox | null {
  const of = after ?? before;
  if (of === null) return stored;
  const { tenantId, recipient } = of;
  const nothing = { total: 0, unread: 0, lastSequence: -1, lastReadOffset: -1 };
  const inbox = stored ?? { tenantId, recipient, ...nothing, pending: new Set<number>() };
  inbox.total += shownOf(after) - shownOf(before);
  inbox.unread += (after?.unread ?? 0) - (before?.unread ?? 0);
  const wasPending = pendingOf(before);
  const isPending = pendingOf(after);
  if (wasPending !== null && wasPending !== isPending) inbox.pending.delete(wasPending);
  if (isPending !== null) inbox.pending.add(isPending);
  if (after === null && inbox.total === 0 && inbox.pending.size === 0) return null;
  inbox.lastSequence = Math.max(inbox.lastSequence, after?.sequence ?? -1);
  inbox.lastReadOffset = Math.max(inbox.lastReadOffset, after?.readOffset ?? -1);
  return inbox;
}

function documentOf({
  tenantId,
  recipient,
  total,
  unread,
  pending,
  lastSequence,
  lastReadOffset,
}: Inbox): InboxDocument {
  const ascending = [...pending].sort((a, b) => a - b).slice(-pendingMax);
  return { tenantId, recipient, total, unread, pending: ascending, lastSequence, lastReadOffset };
}

function shownOf(document: InboxItemDocument | null): 0 | 1 {
  return document !== null && isShown(document) ? 1 : 0;
}

function pendingOf(document: InboxItemDocument | null): number | null {
  return document !== null && document.createdAt === null ? document.sequence : null;
}
