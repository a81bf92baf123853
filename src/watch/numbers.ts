// All partition numbers of a log: what a group is looked after by.

import type { EventLog } from '../ports/event-log.ts';

export function numbersOf({ partitioning }: Pick<EventLog, 'partitioning'>): number[] {
  return Array.from({ length: partitioning.partitions }, (_, partition) => partition);
}
