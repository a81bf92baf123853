// Which eventIds were read lately, and where: a produce that was resent repeats its event in the same partition, and the repeat is to be dropped.

import type { EventId } from '../domain/ids.ts';

/** Resent produces follow within seconds (RECIPES 5): 5,000 events/s x 10 s; at about 120 bytes an id 6 MB a dispatcher at most. */
const recentIdsMax = 50_000;

export interface RecentIds<Place> {
  /** Whether this id was seen at this place lately; it is remembered in any case. */
  isRepeat(id: EventId, place: Place): boolean;
}

/**
 * Two generations: the younger is filled to half of the limit, then it becomes the older and the older is forgotten.
 * So the last `idsMax / 2` ids are always known and never more than `idsMax` held. Places are compared by identity: a partition
 * that was lost and taken again is a new place, since what is read again there isn't a repeat.
 */
export function createRecentIds<Place>(idsMax: number = recentIdsMax): RecentIds<Place> {
  const generationMax = Math.max(1, Math.floor(idsMax / 2));
  let younger = new Map<EventId, Place>();
  let older = new Map<EventId, Place>();

  return {
    isRepeat(id, place) {
      if (younger.get(id) === place) return true;
      const seen = older.get(id) === place;
      if (younger.size >= generationMax) {
        older = younger;
        younger = new Map();
      }
      younger.set(id, place);
      return seen;
    },
  };
}
