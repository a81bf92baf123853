// What the changes of its items make of a recipient's inbox: counts, pending sequences and marks.

import type { TenantId } from '../../domain/ids.ts';
import type { Write } from '../../ports/read-model-store.ts';
import type { InboxDocument, InboxItemDocument } from './documents.ts';
import { inboxesCollection, inboxId, isShown } from './documents.ts';

/** The recipients' documents follow from their items' changes. */
export function createInboxChanges() {
  const changes = new Map<string, InboxChange>();
  return {
    ids: (): string[] => [...changes.keys()],

    move(before: InboxItemDocument | null, after: InboxItemDocument | null): void {
      const of = after ?? before;
      if (of === null) return;
      const { tenantId, recipient } = of;
      const id = inboxId(tenantId, recipient);
      const change = changes.get(id) ?? emptyChange(tenantId, recipient);
      changes.set(id, change);
      change.total += shownOf(after) - shownOf(before);
      change.unread += (after?.unread ?? 0) - (before?.unread ?? 0);
      const wasPending = pendingOf(before);
      const isPending = pendingOf(after);
      if (wasPending !== isPending) {
        if (wasPending !== null) change.pendingRemoved.add(wasPending);
        if (isPending !== null) change.pendingAdded.add(isPending);
      }
      if (after === null) change.forgets = true;
      change.lastSequence = Math.max(change.lastSequence, after?.sequence ?? -1);
      change.lastReadOffset = Math.max(change.lastReadOffset, after?.readOffset ?? -1);
    },

    writes(stored: ReadonlyMap<string, InboxDocument>): Write[] {
      return [...changes].map(([id, change]) => ({
        collection: inboxesCollection.name,
        id,
        document: applied(stored.get(id), change),
        isNew: !stored.has(id),
      }));
    },
  };
}

/** An item that is delivered and never requested would hold a stream up for ever; past so many the oldest is given up. */
const pendingMax = 1000;

interface InboxChange {
  readonly tenantId: TenantId;
  readonly recipient: string;
  total: number;
  unread: number;
  readonly pendingAdded: Set<number>;
  readonly pendingRemoved: Set<number>;
  lastSequence: number;
  lastReadOffset: number;
  /** An item went: where none is left, nothing of the inbox stays. */
  forgets: boolean;
}

function emptyChange(tenantId: TenantId, recipient: string): InboxChange {
  return {
    tenantId,
    recipient,
    total: 0,
    unread: 0,
    pendingAdded: new Set(),
    pendingRemoved: new Set(),
    lastSequence: -1,
    lastReadOffset: -1,
    forgets: false,
  };
}

/** null: nothing of it stays. */
function applied(stored: InboxDocument | undefined, change: InboxChange): InboxDocument | null {
  const pending = new Set(stored?.pending);
  for (const sequence of change.pendingRemoved) pending.delete(sequence);
  for (const sequence of change.pendingAdded) pending.add(sequence);
  const total = (stored?.total ?? 0) + change.total;
  if (change.forgets && total === 0 && pending.size === 0) return null;
  return {
    tenantId: change.tenantId,
    recipient: change.recipient,
    total,
    unread: (stored?.unread ?? 0) + change.unread,
    pending: [...pending].sort((a, b) => a - b).slice(-pendingMax),
    lastSequence: Math.max(stored?.lastSequence ?? -1, change.lastSequence),
    lastReadOffset: Math.max(stored?.lastReadOffset ?? -1, change.lastReadOffset),
  };
}

function shownOf(document: InboxItemDocument | null): 0 | 1 {
  return document !== null && isShown(document) ? 1 : 0;
}

function pendingOf(document: InboxItemDocument | null): number | null {
  return document !== null && document.createdAt === null ? document.sequence : null;
}
