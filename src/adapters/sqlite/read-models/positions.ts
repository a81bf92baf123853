// Positions as they are stored: the next offset per topic, as JSON text in one spelling, so that a comparison of
// texts is one of positions.

import type { Topic } from '../../../domain/topics.ts';

export function offsetsText(offsets: ReadonlyMap<Topic, number>): string {
  return JSON.stringify(Object.fromEntries([...offsets].sort(([a], [b]) => (a < b ? -1 : 1))));
}

export function offsetsOf(text: string): Map<Topic, number> {
  return new Map(Object.entries(JSON.parse(text) as Record<string, number>));
}

/** Of a read model, its version and a number. */
export const aheadSql = 'SELECT ahead FROM folded_ahead WHERE read_model = ? AND version = ? AND partition = ?';
