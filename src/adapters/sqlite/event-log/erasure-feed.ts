// Keeps a reader of the log at what is erased: each page of rows comes after the erasures that the log had when it was asked for.

import type { EventType } from '../../../domain/events.ts';
import { settingsTopic } from '../../../domain/topics.ts';
import type { Catalog } from './catalog.ts';
import type { Ends } from './ends.ts';
import type { Rows } from './rows.ts';

export interface ErasureFeed {
  /** Rows that hide what is erased by then. */
  readonly rows: Rows;
  /** Reads the erasures that were appended since it did so last: decoding notes them. Costs a look at 12 ends when there are none. */
  freshen(): void;
}

const types = new Set<EventType>(['RecipientErased', 'TenantErased']);
/** Of 32 KiB at most, each. */
const pageRows = 16;

export function createErasureFeed({
  rows,
  catalog,
  ends,
}: {
  readonly rows: Rows;
  readonly catalog: Catalog;
  readonly ends: Pick<Ends, 'get'>;
}): ErasureFeed {
  const pageOfErasures = rows.page(types);
  const isThere = catalog.topics.includes(settingsTopic);
  const partitions = Array.from({ length: isThere ? catalog.partitioning.partitions : 0 }, (_, partition) => partition);
  /** By slot: up to where its erasures are read. */
  const reached = new Map(partitions.map((partition) => [catalog.slotOf(settingsTopic, partition), 0]));

  const readTo = (slot: number, from: number, end: number): void => {
    for (let next = from; next < end;) {
      const found = pageOfErasures(slot, next, end, pageRows);
      // What doesn't decode is nobody's erasure.
      for (const row of found) void rows.entry(slot, row).event;
      const last = found.at(-1);
      next = last === undefined || found.length < pageRows ? end : last[0] + 1;
      reached.set(slot, next);
    }
  };

  const freshenSlot = (from: number, slot: number): void => {
    const end = ends.get(slot);
    if (end > from) readTo(slot, from, end);
  };

  const freshen = (): void => {
    // Asked before each page: an entry of the map is a list that is thrown away.
    reached.forEach(freshenSlot);
  };

  return {
    rows: {
      ...rows,
      page(wanted) {
        const page = rows.page(wanted);
        return (slot, from, to, limit) => {
          freshen();
          return page(slot, from, to, limit);
        };
      },
      pageOfTenants(wanted) {
        const page = rows.pageOfTenants(wanted);
        return (slot, range, tenants) => {
          freshen();
          return page(slot, range, tenants);
        };
      },
    },
    freshen,
  };
}
