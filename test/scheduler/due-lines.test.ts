// Tenants' lanes in turn, of whatever waits: on the embedded store, whose index they are found by.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { Priority } from '../../src/domain/events.ts';
import { priorities } from '../../src/domain/events.ts';
import type { NotificationId, TenantId } from '../../src/domain/ids.ts';
import type { Ownership } from '../../src/ports/read-model-store.ts';
import type { TimersDocument } from '../../src/projections/timers/document.ts';
import { timersCollection } from '../../src/projections/timers/document.ts';
import { timersReadModel } from '../../src/projections/timers/index.ts';
import type { DueLines } from '../../src/scheduler/due-lines.ts';
import { createDueLines } from '../../src/scheduler/due-lines.ts';
import type { Engines } from '../projections/engines.ts';
import { openEngines } from '../projections/engines.ts';
import fc from '../support/properties.ts';

const now = 1_000_000;
const roomy = { documents: 60, bytes: 1_000_000 };

let engines: Engines;
let owner: Ownership;
let made = 0;

beforeEach(async () => {
  engines = await openEngines();
  await engines.store.prepare(timersReadModel.definition);
  owner = await engines.store.own('timers', 0, { generation: 1 });
});
afterEach(() => engines.close());

describe('lines of what is due', () => {
  it('are served in turns: all that is due once, of each the earliest first, and nobody more than its share while others wait', async () => {
    const anyLine = fc.record({
      tenant: fc.nat(50),
      priority: fc.constantFrom(...priorities),
      due: fc.array(fc.nat(2_000), { minLength: 1, maxLength: 40 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(anyLine, { minLength: 1, maxLength: 50 }), async (wanted) => {
        await clear();
        const all = wanted.flatMap(({ tenant, priority, due }) =>
          due.map((at) => timer(`tnt_${tenant}`, priority, now - 1_000 + at)),
        );
        await put(all);
        const lines = linesOf();
        expect(await lines.learn()).toBe(true);
        const served = await serveAll(lines);
        const isDue = ({ nextDueAt }: TimersDocument) => (nextDueAt ?? Infinity) <= now;
        expect(idsOf(served.flat()).sort()).toEqual(idsOf(all.filter(isDue)).sort());
        const left = new Map<string, number>();
        for (const document of all.filter(isDue)) left.set(lineOf(document), (left.get(lineOf(document)) ?? 0) + 1);
        for (const batch of served) {
          const counts = new Map<string, number>();
          for (const document of batch) counts.set(lineOf(document), (counts.get(lineOf(document)) ?? 0) + 1);
          const share = Math.floor(roomy.documents / Math.min(32, [...left.values()].filter((n) => n > 0).length));
          for (const [line, count] of counts) {
            expect(count).toBeLessThanOrEqual(Math.max(share, 1));
            left.set(line, (left.get(line) ?? 0) - count);
          }
        }
        for (const line of left.keys()) {
          const times = served.flat().filter((document) => lineOf(document) === line);
          expect(times.map(({ nextDueAt }) => nextDueAt)).toEqual(
            times.map(({ nextDueAt }) => nextDueAt ?? 0).toSorted((a, b) => a - b),
          );
        }
      }),
      { numRuns: 30 },
    );
  });

  it('come next that were told of meanwhile, before those that were served', async () => {
    await put(Array.from({ length: 500 }, () => timer('tnt_many', 'BULK', now - 500)));
    const lines = linesOf();
    await lines.learn();
    await decide(await served(lines));
    const late = timer('tnt_few', 'HIGH', now);
    await put([late]);
    lines.note(late);
    expect(idsOf(await served(lines))).toContain(late.notificationId);
  });

  it('take no more than there is room for, but one at least', async () => {
    const large = ['a', 'b', 'c', 'd'].flatMap((tenant) =>
      Array.from({ length: 5 }, () => timer(`tnt_${tenant}`, 'DEFAULT', now, 'x'.repeat(10_000))),
    );
    await put(large);
    const lines = linesOf();
    await lines.learn();
    const sizes: number[] = [];
    for (;;) {
      const batch = await served(lines, { documents: 60, bytes: 25_000 });
      if (batch.length === 0) break;
      sizes.push(batch.length);
      await decide(batch);
    }
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(20);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(3);
  });

  it('are not told apart where there are over 4,000: then what is due is decided by its time, for a minute', async () => {
    await put(Array.from({ length: 4_050 }, (_, i) => timer(`tnt_${i}`, 'DEFAULT', now)));
    let clock = 0;
    const lines = linesOf(() => clock);
    expect(await lines.learn()).toBe(false);
    expect(await served(lines)).toEqual([]);
    await clear();
    expect(await lines.learn()).toBe(false);
    clock = 60_000;
    expect(await lines.learn()).toBe(true);
  });
});

function linesOf(monotonic = () => 0): DueLines {
  return createDueLines({ fold: { find: (query) => engines.store.find(query) }, clock: { monotonic }, partition: 0 });
}

async function served(lines: DueLines, max = roomy): Promise<readonly TimersDocument[]> {
  return (await lines.next(now, max)) ?? [];
}

/** Until nothing is due any more. */
async function serveAll(lines: DueLines): Promise<(readonly TimersDocument[])[]> {
  const batches: (readonly TimersDocument[])[] = [];
  for (;;) {
    const batch = await served(lines);
    if (batch.length === 0) return batches;
    batches.push(batch);
    await decide(batch);
  }
}

function timer(tenantId: string, priority: Priority, nextDueAt: number, recipient = 'someone'): TimersDocument {
  return {
    notificationId: `ntf_${made++}` as NotificationId,
    tenantId: tenantId as TenantId,
    partition: 0,
    requestedAt: 0,
    channel: 'EMAIL',
    priority,
    recipient,
    nextDueAt,
    decided: null,
    doneAt: null,
    updatedAt: 0,
    begun: true,
    endedRound: 0,
    cancels: [],
    fired: [],
    timers: {},
  };
}

async function put(documents: readonly TimersDocument[]): Promise<void> {
  const writes = documents.map((document) => ({
    collection: timersCollection.name,
    id: document.notificationId,
    document,
  }));
  owner = await engines.store.transact(owner, new Map(), writes);
}

async function decide(documents: readonly TimersDocument[]): Promise<void> {
  await put(documents.map((document) => ({ ...document, nextDueAt: null, decided: 1 })));
}

async function clear(): Promise<void> {
  const ids = await engines.store.find<TimersDocument>({
    collection: timersCollection.name,
    equals: { partition: 0 },
    order: { fields: ['nextDueAt'], direction: 'ascending' },
    limit: 10_000,
  });
  const writes = ids.documents.map(({ id }) => ({ collection: timersCollection.name, id, document: null }));
  owner = await engines.store.transact(owner, new Map(), writes);
}

function idsOf(documents: readonly TimersDocument[]): string[] {
  return documents.map(({ notificationId }) => notificationId);
}

function lineOf({ tenantId, priority }: TimersDocument): string {
  return `${tenantId} ${priority}`;
}
