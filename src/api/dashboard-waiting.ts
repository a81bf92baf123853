// What is announced of one tenant and waits for the read model: a line for each topic and partition number, in its order, so that what isn't folded yet costs
// nothing each time that something is.

import type { Topic } from '../domain/topics.ts';
import type { Announcement } from './dashboard-announcements.ts';
import { inOrderOfTime } from './dashboard-announcements.ts';

export type DashboardWaiting = ReturnType<typeof createDashboardWaiting>;

/** How many wait, of all tenants together. */
export interface WaitingSum {
  announcements: number;
}

export function createDashboardWaiting(sum: WaitingSum) {
  const lines = new Map<string, Announcement[]>();
  let size = 0;
  return {
    get size(): number {
      return size;
    },

    add(one: Announcement): void {
      const key = `${one.topic} ${one.partition}`;
      const line = lines.get(key);
      if (line === undefined) lines.set(key, [one]);
      else line.push(one);
      size++;
      sum.announcements++;
    },

    /** Those that the read model has, in the order of time: they wait no more. @param foldedBelow by topic, of a partition number. @throws what it throws: all wait on then */
    async takeFolded(foldedBelow: (partition: number) => Promise<ReadonlyMap<Topic, number>>): Promise<Announcement[]> {
      const partitions = new Set<number>();
      for (const [first] of lines.values()) if (first !== undefined) partitions.add(first.partition);
      const asked = [...partitions].map(async (partition) => [partition, await foldedBelow(partition)] as const);
      const folded = new Map(await Promise.all(asked));
      const taken: Announcement[] = [];
      for (const [key, line] of lines) {
        const [first] = line;
        if (first === undefined) continue;
        const below = folded.get(first.partition)?.get(first.topic) ?? 0;
        let count = 0;
        for (const { offset } of line) {
          if (offset >= below) break;
          count++;
        }
        taken.push(...line.splice(0, count));
        if (line.length === 0) lines.delete(key);
      }
      size -= taken.length;
      sum.announcements -= taken.length;
      return inOrderOfTime(taken);
    },

    /** Those that wait. */
    *[Symbol.iterator](): Generator<Announcement> {
      for (const line of lines.values()) yield* line;
    },

    clear(): void {
      lines.clear();
      sum.announcements -= size;
      size = 0;
    },
  };
}
