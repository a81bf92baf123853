// Retention in a world: the real keepers, what each may forget, and what must be left once all is forgotten.

import type { NotificationsForgotten } from '../../src/domain/events.ts';
import type { NotificationId, TenantId } from '../../src/domain/ids.ts';
import type { NotificationFacts } from '../../src/domain/notification.ts';
import { statusOf } from '../../src/domain/notification.ts';
import { startKeeper } from '../../src/retention/keeper.ts';
import { bucketStart } from '../../src/projections/notifications/resolutions.ts';
import { notificationsCollection } from '../../src/projections/notifications/document.ts';
import { notificationsReadModel, recordTopics } from '../../src/projections/notifications/index.ts';
import type { StatisticsCell } from '../../src/projections/notifications/statistics-cells.ts';
import { countsIn, statisticsCollection } from '../../src/projections/notifications/statistics-cells.ts';
import type { DecodedEntry } from '../../src/projections/read-model.ts';
import { documentsOf, folded } from '../projections/folded.ts';
import type { Machine } from './machine.ts';
import { projectedBy } from './node.ts';
import type { World } from './world.ts';

export function startRetention(
  { plan }: World,
  {
    machine,
    ...common
  }: { readonly machine: Machine } & Omit<Parameters<typeof startKeeper>[0], 'settings' | 'retention'>,
) {
  const { keptMs = null, statisticsMs = null, ownMs = null } = plan.retention ?? {};
  const [first] = plan.tenants;
  const own = new Map<TenantId, number>(ownMs === null || first === undefined ? [] : [[first.id, ownMs]]);
  return startKeeper({
    ...common,
    settings: { retentions: () => machine.ask(() => own), forgetPreviousKeys: async () => undefined },
    retention: { keptMs, statisticsMs },
  });
}

/** Why these may not be forgotten now. */
export function tooEarly(
  { notificationIds }: NotificationsForgotten,
  facts: ReadonlyMap<NotificationId, NotificationFacts>,
): string[] {
  return notificationIds.flatMap((id) => {
    const known = facts.get(id);
    const status = known === undefined ? 'unknown' : statusOf(known);
    const isOver = status === 'DELIVERED' || status === 'FAILED' || status === 'CANCELLED';
    return isOver ? [] : [`${id} is forgotten, and is ${status}`];
  });
}

/** What is still there, though all has ended and is older than it is kept. */
export function remainsIn({ plan, stored, brokers }: World): string[] {
  if (plan.retention === null) return [];
  const records = [...(stored.collections.get(notificationsCollection.name)?.keys() ?? [])];
  const topics = recordTopics.flatMap((topic) =>
    Array.from({ length: plan.partitions }, (_, partition) => {
      const [start, end] = [brokers.startOf(topic, partition), brokers.entries(topic, partition).length];
      return start < end ? [`${topic}/${partition} begins at ${start} and ends at ${end}`] : [];
    }).flat(),
  );
  return [...records.map((id) => `the record ${id} is still there`), ...topics];
}

/** Whoever folds what is left, or all that ever was, has what is live; and the days count each notification as it ended. */
export async function retentionWrongIn(world: World, entries: readonly DecodedEntry[]): Promise<string[]> {
  const { plan, stored, brokers } = world;
  const left = entries.filter(({ topic, partition, offset }) => offset >= brokers.startOf(topic, partition));
  const wrong: string[] = [];
  for (const readModel of projectedBy(plan)) {
    const live = new Map<string, string>();
    for (const { name } of readModel.definition.collections)
      for (const [id, { text }] of stored.collections.get(name) ?? []) live.set(`${name}/${id}`, text);
    for (const [how, of] of [
      ['what is left', left],
      ['all that was', entries],
    ] as const) {
      // What is forgotten is a chain of each number, which is folded by itself.
      const anew = await folded(readModel, [...Map.groupBy(of, ({ partition }) => partition).values()]);
      for (const key of new Set([...anew.keys(), ...live.keys()]))
        if (anew.get(key) !== live.get(key))
          wrong.push(`${key} is ${live.get(key)}, and ${how} gives ${anew.get(key)}`);
    }
    if (readModel === notificationsReadModel)
      wrong.push(...daysWrongIn(world, documentsOf<StatisticsCell>(live, statisticsCollection.name)));
  }
  return wrong;
}

function daysWrongIn({ witness }: World, cells: readonly StatisticsCell[]): string[] {
  const counts = new Map<string, [expected: number, found: number]>();
  const add = (place: 0 | 1, key: string, by: number) => {
    const both = counts.get(key) ?? [0, 0];
    both[place] += by;
    counts.set(key, both);
  };
  for (const facts of witness.all().values()) {
    const { tenantId, requestedAt, channel, priority, attempts } = facts;
    const last = attempts.findLast(({ outcome }) => outcome !== null)?.outcome;
    const day = bucketStart('day', requestedAt);
    add(0, `${tenantId} ${day} ${channel}.${priority}.${statusOf(facts)}.${last?.provider ?? ''}`, 1);
  }
  for (const { tenantId, at, resolution, counts: text } of cells) {
    if (resolution !== 'kept') add(1, `${tenantId} ${at} of a record, by the ${resolution}`, 1);
    else for (const [key, count] of countsIn(text)) add(1, `${tenantId} ${at} ${key}`, count);
  }
  return [...counts].flatMap(([key, [expected, found]]) =>
    expected === found ? [] : [`the day counts ${found} of ${key}, and there were ${expected}`],
  );
}
