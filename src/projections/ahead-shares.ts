// Who fills a partition number, of what waits in it: they stay behind, and the others are folded before their turn.
//
//   waits:   A A A A A A B A A A C A A A A A ...      B and C are a quarter of it at most: they go ahead, A stays behind
//
// Without anybody who fills it, as where twenty tenants have a twentieth each, those with the most stay behind until what is left is a quarter: what goes ahead
// is folded a second time when its turn comes, and must cost little.

import type { TenantId } from '../domain/ids.ts';
import type { Topic } from '../domain/topics.ts';
import type { FoldedAhead } from '../ports/folded-ahead.ts';

/** What goes ahead, of all that was looked at: folded twice it is a quarter more to fold. */
const aheadShare = 1 / 4;
/** Looked at before anybody is judged: small events, or the bytes of so many. */
const judgedFrom = 64;
const bytesPerUnit = 1024;
/** What was looked at before counts half as much each time that so much was: who fills a number may be another after a while. */
const halvedAt = 16_384;
/** Stored beside the position; with more nobody goes ahead any further. */
const behindMax = 64;
/** Tenants that are counted, some 100 bytes each; with more nobody goes ahead any further. */
const countedMax = 5_000;

/** An event that waits. */
export interface Waiting {
  readonly tenantId: TenantId;
  readonly topic: Topic;
  readonly offset: number;
  readonly bytes: number;
}

export interface AheadShares {
  readonly behind: ReadonlySet<TenantId>;
  /** So many tenants are about that it isn't worth telling them apart. */
  readonly isOver: boolean;
  /** It was looked at. */
  note(event: Waiting): void;
  /** Of whom everything that was looked at has had its turn, by the position, isn't behind any more. */
  passed(position: ReadonlyMap<Topic, number>): void;
}

/** @param ahead who is behind already, and up to where that was looked at */
export function createAheadShares(ahead: FoldedAhead | null): AheadShares {
  const behind = new Set(ahead?.behind);
  /** Of those who are behind: nothing of them was looked at from there on. */
  const endOf = new Map([...behind].map((tenantId) => [tenantId, new Map(ahead?.offsets)]));
  /** Of those who go ahead. */
  const counts = new Map<TenantId, number>();
  const ends = new Map(ahead?.offsets);
  let total = 0;
  let goesAhead = 0;

  function judge(): void {
    if (total < judgedFrom) return;
    while (goesAhead > total * aheadShare && counts.size > 0) {
      const [most, count] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a));
      counts.delete(most);
      goesAhead -= count;
      behind.add(most);
      endOf.set(most, new Map(ends));
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
    note({ tenantId, topic, offset, bytes }) {
      const weight = 1 + Math.floor(bytes / bytesPerUnit);
      total += weight;
      ends.set(topic, Math.max(ends.get(topic) ?? 0, offset + 1));
      if (behind.has(tenantId)) endOf.get(tenantId)?.set(topic, offset + 1);
      else {
        counts.set(tenantId, (counts.get(tenantId) ?? 0) + weight);
        goesAhead += weight;
        judge();
      }
      if (total >= halvedAt) halve();
    },
    passed(position) {
      for (const [tenantId, end] of endOf) {
        if ([...end].some(([topic, offset]) => (position.get(topic) ?? 0) < offset)) continue;
        endOf.delete(tenantId);
        behind.delete(tenantId);
      }
    },
  };
}
