// Who fills a partition number, of what waits in it: they stay behind, and the others are folded before their turn.
//
//   waits:   A A A A A A B A A A C A A A A A ...      B and C are a quarter of it at most: they go ahead, A stays behind
//
// What goes ahead is folded a second time when its turn comes, so it must cost little, and be of somebody who has little there. Those with the most stay behind
// until a quarter is left, and whoever has more than half of what the least of these has is one of them: of four tenants with a quarter each nobody goes ahead.

import type { TenantId } from '../domain/ids.ts';
import type { Topic } from '../domain/topics.ts';
import type { FoldedAhead } from '../ports/folded-ahead.ts';
import type { TenantShare } from '../ports/log-survey.ts';

/** What goes ahead at most, of all that was looked at: folded twice it is a quarter more to fold. */
const aheadShare = 1 / 4;
/** What one who goes ahead has at most, of what the least of those has who fill three quarters. */
const lightPart = 1 / 2;
/** Looked at before anybody is judged: small events, or the bytes of so many. */
const judgedFrom = 64;
const bytesPerUnit = 1024;
/** What was looked at before counts half as much each time that so much was: who fills a number may be another after a while. */
const halvedAt = 16_384;
/** Stored beside the position; with more nobody goes ahead any further. */
const behindMax = 64;
/** Tenants that are counted, some 100 bytes each; with more nobody goes ahead any further. */
const countedMax = 5_000;

/** What one has of a topic that waits. */
export interface Waiting extends TenantShare {
  readonly topic: Topic;
}

export interface AheadShares {
  readonly behind: ReadonlySet<TenantId>;
  /** So many tenants are about that it isn't worth telling them apart. */
  readonly isOver: boolean;
  /** It was looked at. */
  note(waiting: Waiting): void;
  /** What was to be looked at was: until now some may go ahead who have as much as those behind. */
  judge(): void;
  /** Of whom everything that was looked at has had its turn, by the position, isn't behind any more. */
  passed(position: ReadonlyMap<Topic, number>): void;
}

/** @param ahead who is behind already, and up to where that was looked at */
export function createAheadShares(ahead: FoldedAhead | null): AheadShares {
  const behind = new Set(ahead?.behind);
  /** Of those who are behind: nothing of them was looked at from there on. */
  const endOf = new Map([...behind].map((tenantId) => [tenantId, new Map(ahead?.offsets)]));
  /** Of everybody whose turn hasn't come since. */
  const counts = new Map<TenantId, number>();
  const ends = new Map(ahead?.offsets);
  let total = 0;
  let goesAhead = 0;

  function judge(): void {
    if (total < judgedFrom) return;
    let left = [...counts.values()].reduce((sum, count) => sum + count, 0);
    let least = Infinity;
    for (const [tenantId, count] of [...counts].sort((a, b) => b[1] - a[1])) {
      if (left <= total * aheadShare && count <= least * lightPart) return;
      if (left > total * aheadShare) least = count;
      left -= count;
      if (behind.has(tenantId)) continue;
      goesAhead -= count;
      behind.add(tenantId);
      endOf.set(tenantId, new Map(ends));
    }
  }

  function halve(): void {
    total /= 2;
    goesAhead /= 2;
    for (const [tenantId, count] of counts) counts.set(tenantId, count / 2);
  }

  return {
    behind,
    get isOver() {
      return behind.size > behindMax || counts.size > countedMax;
    },
    note({ tenantId, topic, events, bytes, last }) {
      const weight = events + Math.floor(bytes / bytesPerUnit);
      total += weight;
      counts.set(tenantId, (counts.get(tenantId) ?? 0) + weight);
      ends.set(topic, Math.max(ends.get(topic) ?? 0, last + 1));
      if (behind.has(tenantId)) endOf.get(tenantId)?.set(topic, last + 1);
      else {
        goesAhead += weight;
        if (goesAhead > total * aheadShare) judge();
      }
      if (total >= halvedAt) halve();
    },
    judge,
    passed(position) {
      for (const [tenantId, end] of endOf) {
        if ([...end].some(([topic, offset]) => (position.get(topic) ?? 0) < offset)) continue;
        endOf.delete(tenantId);
        behind.delete(tenantId);
        counts.delete(tenantId);
      }
    },
  };
}
