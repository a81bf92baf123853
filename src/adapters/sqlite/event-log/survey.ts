// Surveys a range of one partition: the database counts what each tenant has, for a fourth of what reading the rows takes, and only what is asked for is read.

import type { EventType } from '../../../domain/events.ts';
import type { TenantId } from '../../../domain/ids.ts';
import type { EventHead, LogEntry } from '../../../ports/event-log.ts';
import type { SurveyedPage, TenantShare } from '../../../ports/log-survey.ts';
import { addedUp, pageOf } from '../../../ports/log-survey.ts';
import { turn } from './reader.ts';
import type { Counts, PageOfTenants, Rows } from './rows.ts';

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

    function* entries(from: number, to: number, tenants: ReadonlySet<TenantId>): Generator<LogEntry> {
      for (const row of pageOfTenants(slot, [from, to], JSON.stringify([...tenants]))) {
        const entry = rows.entry(slot, row);
        if (!isPassedOver(entry.head)) yield entry;
      }
    }

    let turnedAt = performance.now();
    for (let from = range.from; from < range.to; from += pageOffsets) {
      const to = Math.min(range.to, from + pageOffsets);
      const known: TenantShare[] = [];
      let isKnown = true;
      for (const [tenantId, events, bytes, last] of counts(slot, from, to)) {
        if (tenantId === null) isKnown = false;
        else known.push({ tenantId: tenantId as TenantId, events, bytes, last });
      }
      // Large ones and whatever has a head of another form: read, as many as there are.
      const others = isKnown ? [] : pageOf([...entries(from, to, new Set())], types).shares;
      yield {
        to,
        shares: isKnown ? known : addedUp([...known, ...others]),
        *entriesOf(tenants) {
          for (const entry of entries(from, to, tenants))
            if (entry.head !== null && tenants.has(entry.head.tenantId)) yield entry;
        },
      };
      if (performance.now() - turnedAt < turnMs) continue;
      await turn();
      turnedAt = performance.now();
    }
  };
}
