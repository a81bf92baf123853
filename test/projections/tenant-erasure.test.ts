// An erased tenant in the read models: wherever its erasure is met, what is left is what folding the others alone gives, byte for byte.

import { describe, expect, it } from '@jest/globals';

import { createErasures } from '../../src/domain/erasure.ts';
import type { DomainEvent, TenantErased, TenantForgotten } from '../../src/domain/events.ts';
import type { EventId, NotificationId, TenantId } from '../../src/domain/ids.ts';
import { readModels } from '../../src/projections/index.ts';
import type { DecodedEntry, ReadModel } from '../../src/projections/read-model.ts';
import fc from '../support/properties.ts';
import { folded } from './folded.ts';
import { anyHistory, batches, entriesOf, interleaved, noon, partition } from './histories.ts';

const anySeed = fc.integer();
const named = readModels.map((readModel): [string, ReadModel] => [readModel.definition.name, readModel]);
const envelope = (tenantId: TenantId, eventId: string) => ({
  eventId: eventId as EventId,
  occurredAt: noon,
  tenantId,
  traceparent: null,
  partition,
});

describe.each(named)('the erasure of a tenant in the fold of %s', (_, readModel) => {
  it("leaves what the others' events give, wherever it is met", async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, anySeed, anySeed, fc.nat(), async (history, seed, otherSeed, at) => {
        const met = interleaved(history, seed);
        const tenantId = history[0]?.event.tenantId as TenantId;
        const erased = erasureOf(tenantId);
        const before = at % (met.length + 1);
        const all = [...met.slice(0, before), ...entriesOf([erased]), ...asKnown(met.slice(before), erased)];
        const forgotten = entriesOf(forgettingOf(tenantId, history));
        const grown = await folded(readModel, [...batches(all, otherSeed), ...batches(forgotten, seed)]);
        const others = await folded(readModel, batches(asKnown(met, erased), otherSeed));
        expect([...grown]).toEqual([...others]);
        const anew = await folded(readModel, [asKnown([...met, ...entriesOf([erased]), ...forgotten], erased)]);
        expect([...anew]).toEqual([...others]);
      }),
      { numRuns: 200 },
    );
  });

  it('drops nothing that is said to be another tenant’s', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, async (history) => {
        const forgotten = forgettingOf('tnt_mallory' as TenantId, history).map((event): TenantForgotten => ({
          ...event,
          batchIds: [],
        }));
        expect([...(await folded(readModel, [history, entriesOf(forgotten)]))]).toEqual([
          ...(await folded(readModel, [history])),
        ]);
      }),
      { numRuns: 50 },
    );
  });
});

function erasureOf(tenantId: TenantId): TenantErased {
  return { type: 'TenantErased', ...envelope(tenantId, 'erased'), actor: null };
}

/** As the job names what it finds in the log: two at a time. */
function forgettingOf(tenantId: TenantId, history: readonly DecodedEntry[]): TenantForgotten[] {
  const ofAll = tenantId === 'tnt_mallory';
  const own = history.map(({ event }) => event).filter((event) => ofAll || event.tenantId === tenantId);
  const ids = [...new Set(own.flatMap(idsOf))];
  const batchIds = [...new Set(own.flatMap((event) => (event.type === 'BatchAccepted' ? [event.batchId] : [])))];
  return Array.from({ length: Math.ceil(Math.max(ids.length, batchIds.length) / 2) }, (_, i) => ({
    type: 'TenantForgotten',
    ...envelope(tenantId, `forgotten-${i}`),
    notificationIds: ids.slice(2 * i, 2 * i + 2),
    batchIds: batchIds.slice(2 * i, 2 * i + 2),
    endedDays: [],
  }));
}

function idsOf(event: DomainEvent): readonly NotificationId[] {
  if (event.type === 'InboxRead') return event.notificationIds;
  return 'notificationId' in event ? [event.notificationId] : [];
}

/** What whoever folds is handed once he knows it. */
function asKnown(entries: readonly DecodedEntry[], erased: TenantErased): DecodedEntry[] {
  const erasures = createErasures();
  erasures.note(erased);
  return entries.filter(({ head }) => !erasures.isPassedOver(head));
}
