// Whose timers are decided next while more are due than one page holds. Each tenant has a line for each priority, and lines take turns:
//
//   due, by time   A A A A A A A A A A A A B A A C A ...      a campaign of A's that is due at nine, B's retry and C's reminder a second later
//   turns          [ A A A  B  C ] [ A A A ] ...              as many of each as there is room for, those first that have waited longest
//
// Who has timers at all is read once, when the first page is full; from then on it is told of each one that is set.

import type { Priority } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { FieldValue, Page } from '../ports/read-model-store.ts';
import type { PartitionFold } from '../projections/partition-fold.ts';
import type { TimersDocument } from '../projections/timers/document.ts';
import { timersCollection } from '../projections/timers/document.ts';

export interface DueLines {
  /** Learns who has timers, where it doesn't know; whether it does from then on. null: the number was lost. */
  learn(): Promise<boolean | null>;
  /** A timer was set, or set anew. */
  note(document: TimersDocument): void;
  /** Documents of whichever lines have something due, in turns; none: no line has. null: the number was lost. */
  next(now: number, max: { readonly documents: number; readonly bytes: number }): Promise<TimersDocument[] | null>;
}

interface Line extends Pick<TimersDocument, 'tenantId' | 'priority'> {
  /** UTC ms: none of it is due before. */
  nextDueAt: number;
}

/** Those of a number that are known, some 200 bytes each; where there are more, what is due is decided by its time alone. */
const linesMax = 4_000;
const restMs = 60_000;
/** In one batch: each is a query of its own. */
const linesPerBatch = 32;
const rowsPerLook = 100;
const byLine = { fields: ['tenantId', 'priority', 'nextDueAt'], direction: 'ascending' } as const;
const byDueTime = { fields: ['nextDueAt'], direction: 'ascending' } as const;

export function createDueLines({
  fold: { find },
  clock,
  partition,
}: {
  readonly fold: Pick<PartitionFold, 'find'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly partition: number;
}): DueLines {
  const collection = timersCollection.name;
  /** Those that were served longest ago first; null: not known. */
  let lines: Map<string, Line> | null = null;
  /** There were too many: not before then are they read again. */
  let restsUntil = -Infinity;

  function keep(found: Map<string, Line>): void {
    lines = found.size > linesMax ? null : found;
    if (lines === null) restsUntil = clock.monotonic() + restMs;
  }

  /** One row of each line at least: of many of the same the rest is passed over. */
  async function read(): Promise<Map<string, Line> | null> {
    const found = new Map<string, Line>();
    let after: readonly FieldValue[] | null = null;
    do {
      const page: Page<Line> | null = await find<Line>({
        collection,
        equals: { partition },
        order: byLine,
        fields: byLine.fields,
        limit: rowsPerLook,
        ...(after === null ? {} : { after }),
      });
      if (page === null) return null;
      for (const line of page.documents) addTo(found, line, line.nextDueAt);
      const last = page.documents.at(-1);
      after = page.next === null || last === undefined ? null : endOf(last);
    } while (after !== null && found.size <= linesMax);
    return found;
  }

  async function dueOf({ tenantId, priority }: Line, now: number, limit: number, bytesMax: number) {
    const equals = { partition, tenantId, priority };
    const range = { field: 'nextDueAt', to: now + 1 };
    return find<TimersDocument>({ collection, equals, range, order: byDueTime, limit, bytesMax });
  }

  /** When something of it is due next; null: nothing waits. undefined: the number was lost. */
  async function dueNext({ tenantId, priority }: Line): Promise<number | null | undefined> {
    const equals = { partition, tenantId, priority };
    const page = await find<Line>({ collection, equals, order: byDueTime, fields: ['nextDueAt'], limit: 1 });
    return page === null ? undefined : (page.documents[0]?.nextDueAt ?? null);
  }

  return {
    async learn() {
      if (lines !== null || clock.monotonic() < restsUntil) return lines !== null;
      const found = await read();
      if (found === null) return null;
      keep(found);
      return lines !== null;
    },

    note(document) {
      const { nextDueAt } = document;
      if (lines === null || nextDueAt === null) return;
      addTo(lines, document, nextDueAt);
      keep(lines);
    },

    async next(now, max) {
      const documents: TimersDocument[] = [];
      while (documents.length === 0) {
        const due = dueLines(lines, now);
        if (lines === null || due.length === 0) return documents;
        let bytesLeft = max.bytes;
        for (const [i, [key, line]] of due.entries()) {
          const limit = Math.max(1, Math.floor(max.documents / due.length));
          const page = await dueOf(line, now, limit, Math.max(1, Math.floor(bytesLeft / (due.length - i))));
          if (page === null) return null;
          lines.delete(key);
          if (page.documents.length > 0) lines.set(key, line);
          else {
            const next = await dueNext(line);
            if (next === undefined) return null;
            if (next !== null) lines.set(key, { ...line, nextDueAt: next });
          }
          documents.push(...page.documents);
          bytesLeft -= JSON.stringify(page.documents).length;
          if (bytesLeft <= 0) break;
        }
      }
      return documents;
    },
  };
}

function dueLines(lines: ReadonlyMap<string, Line> | null, now: number): (readonly [string, Line])[] {
  const due: (readonly [string, Line])[] = [];
  for (const one of lines ?? []) {
    if (one[1].nextDueAt > now) continue;
    due.push(one);
    if (due.length === linesPerBatch) break;
  }
  return due;
}

function addTo(lines: Map<string, Line>, of: Pick<Line, 'tenantId' | 'priority'>, nextDueAt: number): void {
  const { tenantId, priority } = of;
  const key = keyOf(tenantId, priority);
  const known = lines.get(key);
  if (known === undefined) lines.set(key, { tenantId, priority, nextDueAt });
  else known.nextDueAt = Math.min(known.nextDueAt, nextDueAt);
}

function keyOf(tenantId: TenantId, priority: Priority): string {
  return `${priority} ${tenantId}`;
}

/** Behind all of a line's rows. */
function endOf({ tenantId, priority }: Line): readonly FieldValue[] {
  return [tenantId, priority, Number.MAX_SAFE_INTEGER, ''];
}
