// Surveys a range of one partition: the database counts what each tenant has, for a fourth of what reading the rows takes, and only what is asked for is read.

import type { EventType } from '../../../domain/events.ts';
import type { TenantId } from '../../../domain/ids.ts';
import type { EventHead } from '../../../ports/event-log.ts';
import type { SurveyedPage, TenantShare } from '../../../ports/log-survey.ts';
import { addedUp } from '../../../ports/log-survey.ts';
import { turn } from './reader.ts';
import type { Counts, PageOfTenants, Row, Rows } from './rows.ts';

export interface SurveyedSlot {
  readonly slot: number;
  readonly from: number;
  readonly to: number;
  readonly types?: ReadonlySet<EventType> | undefined;
  /** Of what this says it of nothing is told. */
  isPassedOver(head: EventHead | null): boolean;
}

/** Some 300 us to count. */
const pageOffsets = 512;
/** What is counted and what its taker does with it, before others of the thread have their turn. */
const turnMs = 2;
/** Of rows that are read to tell whose they are. */
const turnBytes = 256 * 1024;

interface Untold {
  readonly row: Row;
  readonly tenantId: TenantId;
  readonly bytes: number;
}

interface Statements {
  readonly counts: Counts;
  readonly pageOfTenants: PageOfTenants;
}

export function createSurveys(rows: Rows) {
  /** By what is wanted, which a read model says once and for all. */
  const statements = new Map<ReadonlySet<EventType> | undefined, Statements>();

  const statementsOf = (types: ReadonlySet<EventType> | undefined): Statements => {
    const known = statements.get(types);
    if (known !== undefined) return known;
    const made = { counts: rows.counts(types), pageOfTenants: rows.pageOfTenants(types) };
    statements.set(types, made);
    return made;
  };

  return async function* survey(range: SurveyedSlot): AsyncGenerator<SurveyedPage> {
    const { slot, types, isPassedOver } = range;
    const { counts, pageOfTenants } = statementsOf(types);
    let turnedAt = performance.now();
    let readBytes = 0;
    /** Others of the thread have theirs. */
    const giveWay = async (): Promise<void> => {
      if (readBytes < turnBytes && performance.now() - turnedAt < turnMs) return;
      await turn();
      turnedAt = performance.now();
      readBytes = 0;
    };

    /** Of large rows and those with a head of another form: read one by one, and what they hold is let go again. */
    async function untold(from: number, to: number): Promise<readonly Untold[]> {
      const found: Untold[] = [];
      for (const row of pageOfTenants(slot, [from, to], null)) {
        const { head, size } = rows.entry(slot, row);
        if (head !== null) found.push({ row, tenantId: head.tenantId, bytes: size });
        readBytes += size;
        await giveWay();
      }
      return found;
    }

    for (let from = range.from; from < range.to; from += pageOffsets) {
      const to = Math.min(range.to, from + pageOffsets);
      const told: TenantShare[] = [];
      let isTold = true;
      for (const [tenantId, events, bytes, last] of counts(slot, from, to)) {
        if (tenantId === null) isTold = false;
        else told.push({ tenantId: tenantId as TenantId, events, bytes, last });
      }
      const others = isTold ? [] : await untold(from, to);
      const ofOthers = others.map(({ row, tenantId, bytes }) => ({ tenantId, events: 1, bytes, last: row[0] }));
      yield {
        to,
        shares: isTold ? told : addedUp([...told, ...ofOthers]),
        *entriesOf(tenants) {
          const wanted = [...pageOfTenants(slot, [from, to], JSON.stringify([...tenants]))];
          for (const { row, tenantId } of others) if (tenants.has(tenantId)) wanted.push(row);
          for (const row of wanted.sort((a, b) => a[0] - b[0])) {
            const entry = rows.entry(slot, row);
            if (entry.head !== null && !isPassedOver(entry.head)) yield entry;
          }
        },
      };
      await giveWay();
    }
  };
}
