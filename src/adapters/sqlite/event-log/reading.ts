// The calls of the log that only read: the same in the thread that writes it and in one connected to it.

import type { Erasures } from '../../../domain/erasure.ts';
import type { EventLog } from '../../../ports/event-log.ts';
import type { Catalog } from './catalog.ts';
import type { Ends } from './ends.ts';
import { readRange } from './range.ts';
import type { Rows } from './rows.ts';
import { createSurveys } from './survey.ts';

export function readingOf({
  catalog,
  rows,
  ends,
  erasures,
}: {
  catalog: Catalog;
  rows: Rows;
  ends: Pick<Ends, 'get'>;
  erasures: Pick<Erasures, 'isPassedOver'>;
}): Pick<EventLog, 'read' | 'survey' | 'ends' | 'starts' | 'offsetAt' | 'committed'> {
  const numbers = Array.from({ length: catalog.partitioning.partitions }, (_, partition) => partition);
  const survey = createSurveys(rows);
  return {
    survey({ topic, partition, from, to, types }) {
      const slot = catalog.slotOf(topic, partition);
      const { isPassedOver } = erasures;
      return survey({ slot, from, to: Math.min(to, ends.get(slot)), types, isPassedOver });
    },
    read({ topic, partition, from, to, aheadBytes, ofErased }) {
      const isPassedOver = ofErased === 'shown' ? () => false : erasures.isPassedOver;
      return readRange(rows, { slot: catalog.slotOf(topic, partition), from, to, aheadBytes, isPassedOver });
    },
    ends: async (topic) => numbers.map((partition) => ends.get(catalog.slotOf(topic, partition))),
    starts: async (topic) =>
      numbers.map((partition) => {
        const slot = catalog.slotOf(topic, partition);
        return rows.start(slot) ?? ends.get(slot);
      }),
    async offsetAt(topic, partition, timeMs) {
      const slot = catalog.slotOf(topic, partition);
      return rows.offsetAt(slot, ends.get(slot), timeMs);
    },
    committed: async (group, topic) =>
      numbers.map((partition) => rows.committed(group, catalog.slotOf(topic, partition))),
  };
}
