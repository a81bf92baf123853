// The items that a page holds, newest first, each once: what is read stays read, and the oldest of those that came by themselves give way.

import type { Schemas } from '../typescript/src/index.ts';

export type InboxItem = Schemas['InboxItem'];

/** Beyond those that a person has asked to see: a page that stays open for months gets no slower. 500 of some 2 KB: 1 MB. */
const roomMax = 500;

export function createItems() {
  let all: readonly InboxItem[] = [];
  const known = new Map<string, InboxItem>();
  let max = roomMax;

  return {
    all: (): readonly InboxItem[] => all,
    get: (id: string): InboxItem | undefined => known.get(id),

    /** For a page that a person asks for. */
    makeRoom(): void {
      max = all.length + roomMax;
    },

    /** @returns whether the oldest gave way */
    keep(item: InboxItem): boolean {
      const before = known.get(item.id);
      const at = placeOf(all, item);
      if (before === undefined) all = all.toSpliced(at, 0, item);
      else if (item.read && !before.read) all = all.with(at, item);
      else return false;
      known.set(item.id, item);
      const oldest = all.at(-1);
      if (oldest === undefined || all.length <= max) return false;
      all = all.slice(0, -1);
      known.delete(oldest.id);
      return true;
    },

    /** How many of them were unread. */
    read(ids: readonly string[], readAt: string): number {
      const unread = new Set(ids.filter((id) => known.get(id)?.read === false));
      if (unread.size === 0) return 0;
      all = all.map((item) => (unread.has(item.id) ? { ...item, read: true, readAt } : item));
      for (const item of all) if (unread.has(item.id)) known.set(item.id, item);
      return unread.size;
    },
  };
}

/** Where it stands, or would. */
function placeOf(all: readonly InboxItem[], item: InboxItem): number {
  let [from, to] = [0, all.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const other = all[middle];
    if (other !== undefined && isBefore(other, item)) from = middle + 1;
    else to = middle;
  }
  return from;
}

function isBefore(a: InboxItem, b: InboxItem): boolean {
  return a.createdAt === b.createdAt ? a.id > b.id : a.createdAt > b.createdAt;
}
